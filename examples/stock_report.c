/* SPDX-License-Identifier: MIT */
/*
 * The output of the example stock: a line for each sale, and what it means.
 */
#include "examples/stock.h"

#include <stdio.h>

void fail(const char *what, const char *why)
{
    fprintf(stderr, "stock: %s: %s\n", what, why);
}

double per_second(const struct result *r)
{
    return r->seconds > 0 ? r->sold / r->seconds : 0;
}

static double percent(unsigned long long part, unsigned long long of)
{
    return of > 0 ? 100.0 * (double)part / (double)of : 0;
}

bool is_hot(const struct result *r)
{
    return r->sale->products == 1;
}

void report_mistake(const struct result *r)
{
    int fell = r->sale->units - r->left;

    printf(
        "\nThe mistake: read the stock, have it paid, write the stock.\n"
        "  %d clients sold %d units of one product, and the stock has fallen "
        "by %d.\n"
        "  %d were sold that somebody else had bought.\n",
        r->sale->clients, r->sold, fell, r->twice);
}

void report_head(void)
{
    printf("\n%-21s%-23s%8s  %-18s%7s%6s\n", "way", "contention", "sold/s",
           "met another", "twice", "lost");
}

void report_row(const struct result *r)
{
    bool is_cell = r->sale->way == &by_cell;
    char where[32];
    char met[40];

    snprintf(where, sizeof where, "%s: %d product%s",
             is_hot(r) ? "high" : "low", r->sale->products,
             is_hot(r) ? "" : "s");
    snprintf(met, sizeof met, "%llu %s", is_cell ? r->conflicts : r->waits,
             is_cell ? "conflicts" : "waits");
    printf("%-21s%-23s%8.0f  %-18s%7d%6d\n", r->sale->way->name, where,
           per_second(r), met, r->twice, r->lost);
    if (r->refused > 0) {
        printf("  the fence refused %d\n", r->refused);
    }
}

static unsigned long long served(const struct result *r)
{
    return (unsigned)r->sold + (unsigned)r->sent_away;
}

double meeting(const struct result *r)
{
    unsigned long long alone =
        served(r) > r->locked ? served(r) - r->locked : 0;

    return percent(r->conflicts, r->conflicts + alone);
}

double locking(const struct result *r)
{
    return percent(r->locked, served(r));
}

void report_rule(const struct result *r)
{
    printf("hf_cell_update() at %s contention: without its lock %.0f %% of the "
           "tries met another,\n  so it %s: %llu of %llu customers were served "
           "under it (%.0f %%)\n",
           is_hot(r) ? "high" : "low", meeting(r),
           locking(r) > 50 ? "chose the lock" : "went without", r->locked,
           served(r), locking(r));
}
