/* SPDX-License-Identifier: MIT */
/*
 * Many sell at once: each seller is a thread with its own connection to the
 * shop, and serves one order after another until there are none. A Holdfast
 * client belongs to a program of several threads, because 64 clients would want
 * more connections than a server allows by default. Sales are counted in
 * memory, unit by unit, so that in the end it is known of each unit whether it
 * was sold once.
 */
#include "examples/stock.h"

#include <holdfast-cell.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define PROGRAM 4 /* threads of one program */

atomic_bool is_over;

/* What the sellers share. */
struct market {
    const struct sale *sale;
    const int *wanted; /* the product of each order */
    atomic_int orders; /* orders taken so far */
    atomic_uint *sold; /* how often each unit was sold */
    pthread_barrier_t start;
};

struct worker {
    pthread_t thread;
    struct market *market;
    struct seller seller;
    int sold;
    int sent_away;
    int failed;
};

/* Set up a seller. `other` is one of the same program; NULL: none yet. */
static bool enter(struct seller *s, const struct sale *sale,
                  const struct seller *other)
{
    hf_error err = HF_ERROR_INIT;

    s->shop = sale->shop;
    if (sale->way->has_rows) {
        s->db = sale->shop->enter(sale->place);
    }
    if (other) {
        s->client = other->client;
    } else if (sale->way->has_client &&
               hf_open(sale->url, NULL, &s->client, &err) != HF_OK) {
        fail("no locks", err.text);
        return false;
    }
    return true;
}

static void leave(struct seller *s, bool is_last)
{
    if (is_last) {
        hf_close(s->client);
    }
    if (s->db) {
        s->shop->leave(s->db);
    }
}

static int units_of_each(const struct sale *sale)
{
    return sale->units / sale->products;
}

/* ---- a seller */

static void serve(struct worker *w, int product)
{
    struct market *m = w->market;
    int unit = 0;
    int r = m->sale->way->sell(&w->seller, product, &unit);

    if (r == SOLD) {
        int each = units_of_each(m->sale);

        atomic_fetch_add(&m->sold[(product - 1) * each + unit - 1], 1);
        w->sold++;
    } else if (r == SOLD_OUT) {
        w->sent_away++;
    } else {
        w->failed++;
    }
}

static void *sell(void *arg)
{
    struct worker *w = arg;
    struct market *m = w->market;
    int order;

    pthread_barrier_wait(&m->start);
    while (!w->failed && !is_over &&
           (order = atomic_fetch_add(&m->orders, 1)) < m->sale->customers) {
        serve(w, m->wanted[order]);
    }
    return NULL;
}

/* ---- all of them */

/* Each unit has a customer, in random order; the further customers want random
 * products. */
static int *make_orders(const struct sale *sale)
{
    int *wanted = calloc((size_t)sale->customers, sizeof *wanted);
    unsigned seed = 1;

    for (int i = 0; wanted && i < sale->customers; i++) {
        wanted[i] = i < sale->units ? i % sale->products
                                    : rand_r(&seed) % sale->products;
        wanted[i]++; /* products are numbered from 1 on */
    }
    for (int i = sale->units - 1; wanted && i > 0; i--) {
        int other = rand_r(&seed) % (i + 1);
        int kept = wanted[i];

        wanted[i] = wanted[other];
        wanted[other] = kept;
    }
    return wanted;
}

static void add(struct result *r, const struct worker *w)
{
    r->sold += w->sold;
    r->sent_away += w->sent_away;
    r->failed += w->failed;
    r->refused += w->seller.refused;
    r->waits += w->seller.waits;
}

static void add_program(struct result *r, hf_client *client)
{
    hf_stats_info stats = HF_STATS_INFO_INIT;

    if (client && hf_stats(client, &stats) != HF_OK) {
        r->failed++;
    }
    r->conflicts += stats.cell_conflicts;
    r->locked += stats.cell_locked;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Run the workers until all orders are taken. */
static void run_workers(struct market *m, struct worker *workers,
                        struct result *r)
{
    int clients = m->sale->clients;
    double begun;

    pthread_barrier_init(&m->start, NULL, (unsigned)clients + 1);
    for (int i = 0; i < clients; i++) {
        if (pthread_create(&workers[i].thread, NULL, sell, &workers[i]) != 0) {
            fail("no thread", "too many clients for this machine");
            exit(1);
        }
    }
    begun = now();
    pthread_barrier_wait(&m->start);
    for (int i = 0; i < clients; i++) {
        pthread_join(workers[i].thread, NULL);
        add(r, &workers[i]);
    }
    r->seconds = now() - begun;
    pthread_barrier_destroy(&m->start);
}

static void hold(struct market *m, struct worker *workers, struct result *r)
{
    int clients = m->sale->clients;
    bool is_fine = true;
    int entered = 0;

    for (; entered < clients && is_fine; entered++) {
        struct worker *w = &workers[entered];

        w->market = m;
        is_fine = enter(&w->seller, m->sale,
                        entered % PROGRAM > 0 ? &w[-1].seller : NULL);
    }
    if (is_fine) {
        run_workers(m, workers, r);
    }
    r->failed += !is_fine;
    for (int i = 0; i < entered; i++) {
        if (i % PROGRAM == 0) {
            add_program(r, workers[i].seller.client);
        }
        leave(&workers[i].seller, (i + 1) % PROGRAM == 0 || i + 1 == entered);
    }
}

/* Compare the units left with those sold: units are sold from the last on, so
 * those left are the first ones. */
static void count(const struct market *m, struct seller *keeper,
                  struct result *r)
{
    int each = units_of_each(m->sale);

    for (int product = 1; product <= m->sale->products; product++) {
        const atomic_uint *sold = &m->sold[(product - 1) * each];
        int left = read_left(keeper, product);

        r->failed += left < 0;
        r->left += left;
        for (int unit = 1; unit <= each; unit++) {
            r->twice += sold[unit - 1] > 1 ? (int)sold[unit - 1] - 1 : 0;
            r->lost += sold[unit - 1] == 0 && unit > left;
        }
    }
}

bool run_sale(const struct sale *sale, struct result *ret_result)
{
    struct worker *workers = calloc((size_t)sale->clients, sizeof *workers);
    atomic_uint *sold = calloc((size_t)sale->units, sizeof *sold);
    int *wanted = make_orders(sale);
    struct market m = {.sale = sale, .wanted = wanted, .sold = sold};
    struct seller keeper = {.db = NULL};
    bool is_fine;

    if (!workers || !sold || !wanted) {
        fail("no memory", "too many clients or units for this machine");
        exit(1);
    }
    *ret_result = (struct result){.sale = sale};
    is_fine = enter(&keeper, sale, NULL) &&
              stock_up(&keeper, sale->products, units_of_each(sale));
    if (is_fine) {
        long long waits = keeper.db ? sale->shop->waits(keeper.db) : 0;

        hold(&m, workers, ret_result);
        if (sale->way == &by_row) {
            ret_result->waits =
                (unsigned long long)(sale->shop->waits(keeper.db) - waits);
        }
        count(&m, &keeper, ret_result);
        clear(&keeper, sale->products);
    }
    leave(&keeper, true);
    free(sold);
    free(wanted);
    free(workers);
    return is_fine;
}
