/* SPDX-License-Identifier: MIT */
/*
 * What the files of the example stock share: the story is in stock.c, a single
 * sale in each way in stock_ways.c, many at once in stock_sale.c, the output in
 * stock_report.c and the picture in stock_svg.c. The shops are in
 * stock_sqlite.c and stock_mysql.c; the ways know them only by stock_shop.h.
 */
#ifndef EXAMPLES_STOCK_H
#define EXAMPLES_STOCK_H

#include "examples/stock_shop.h"

#include <holdfast.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* stock_ways.c */

/* A seller, in a thread of its own. */
struct seller {
    hf_client *client; /* the program's client; NULL: this way needs none */
    const struct shop *shop;
    void *db; /* a connection to the shop; NULL: not needed */
    unsigned long long waits;
    int refused; /* sales that the fence refused */
};

/* Outcomes in addition to the statuses of holdfast.h, which are
 * failures here. */
enum outcome { SOLD = HF_OK, SOLD_OUT = 1000 };

struct way {
    const char *name;
    bool has_client;
    bool has_rows;
    /* Sell one unit of the product, and give its number: the last unit is 1. */
    int (*sell)(struct seller *s, int product, int *ret_unit);
};

extern const struct way mistake;
extern const struct way by_cell;
extern const struct way by_row;
extern const struct way by_lease;

/* Fill the stock; a way without rows keeps it in cells. */
bool stock_up(struct seller *s, int products, int each);
int read_left(struct seller *s, int product); /* -1: it failed */
void clear(struct seller *s, int products);

/* stock_sale.c */

struct sale {
    const struct way *way;
    const struct shop *shop;
    const char *url;   /* URL of the locks and cells */
    const char *place; /* the shop's database, see stock_shop.h */
    int clients;
    int products;
    int units; /* units of all products together */
    int customers;
};

struct result {
    const struct sale *sale;
    double seconds;
    int sold;
    int sent_away; /* customers who came when none was left */
    int failed;
    int refused;
    int left;
    int twice; /* sales of units that were sold before */
    int lost;  /* units that are neither sold nor in stock */
    unsigned long long waits;
    unsigned long long conflicts; /* from hf_stats() of all clients */
    unsigned long long locked;
};

/* Sell until the last customer was served. False: it could not begin. */
bool run_sale(const struct sale *sale, struct result *ret_result);
extern atomic_bool is_over; /* set by Ctrl-C */

/* stock_report.c */

void fail(const char *what, const char *why); /* says it on stderr */
void report_mistake(const struct result *r);
void report_head(void);
void report_row(const struct result *r);
/* Report what hf_cell_update() chose by its rule. */
void report_rule(const struct result *r);
double per_second(const struct result *r);
/* For hf_cell_update(), in per cent: how many of the tries without its lock met
 * a conflict, and how many customers were served under the lock. */
double meeting(const struct result *r);
double locking(const struct result *r);
/* Returns true if all customers want one product. */
bool is_hot(const struct result *r);

/* stock_svg.c: draw the picture; false and errno if that failed. */
bool draw(const char *path, const struct result *results, int n);

#endif
