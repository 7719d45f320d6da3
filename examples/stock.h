/* SPDX-License-Identifier: MIT */
/*
 * What the files of the example stock share: the story is in stock.c, a sale
 * of each way in stock_ways.c, many at once in stock_sale.c, what is told in
 * stock_report.c and drawn in stock_svg.c. The shops, of which the ways know no
 * more than stock_shop.h, are in stock_sqlite.c and stock_mysql.c.
 */
#ifndef EXAMPLES_STOCK_H
#define EXAMPLES_STOCK_H

#include "examples/stock_shop.h"

#include <holdfast.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* stock_ways.c */

/* One who sells, in a thread of its own. */
struct seller {
    hf_client *client; /* its program's; NULL: this way has no use for it */
    const struct shop *shop;
    void *db; /* a connection to the shop; NULL as above */
    unsigned long long waits;
    int refused; /* by the fence */
};

/* Beside the statuses of holdfast.h, which are failures here. */
enum outcome { SOLD = HF_OK, SOLD_OUT = 1000 };

struct way {
    const char *name;
    bool has_client;
    bool has_rows;
    /* Sells one unit of the product, and says which: the last one is 1. */
    int (*sell)(struct seller *s, int product, int *ret_unit);
};

extern const struct way mistake;
extern const struct way by_cell;
extern const struct way by_row;
extern const struct way by_lease;

/* The stock of a way without rows is in cells. */
bool stock_up(struct seller *s, int products, int each);
int read_left(struct seller *s, int product); /* -1: it failed */
void clear(struct seller *s, int products);

/* stock_sale.c */

struct sale {
    const struct way *way;
    const struct shop *shop;
    const char *url;   /* of the locks and cells */
    const char *place; /* of the shop */
    int clients;
    int products;
    int units; /* of all products */
    int customers;
};

struct result {
    const struct sale *sale;
    double seconds;
    int sold;
    int sent_away; /* there was none left */
    int failed;
    int refused;
    int left;
    int twice; /* sales of units that were sold before */
    int lost;  /* units that were not sold, and are not there */
    unsigned long long waits;
    unsigned long long conflicts; /* hf_stats() of all, of cells */
    unsigned long long locked;
};

/* Sells until the last customer was served. False: it could not begin. */
bool run_sale(const struct sale *sale, struct result *ret_result);
extern atomic_bool is_over; /* Ctrl-C */

/* stock_report.c */

void fail(const char *what, const char *why); /* on stderr */
void report_mistake(const struct result *r);
void report_head(void);
void report_row(const struct result *r);
/* What the rule of hf_cell_update() chose. */
void report_rule(const struct result *r);
double per_second(const struct result *r);
/* Of hf_cell_update(), in per cent: how many of the tries without its lock met
 * another, and how many customers were served under it. */
double meeting(const struct result *r);
double locking(const struct result *r);
/* All want one product. */
bool is_hot(const struct result *r);

/* stock_svg.c: false, and errno says why. */
bool draw(const char *path, const struct result *results, int n);

#endif
