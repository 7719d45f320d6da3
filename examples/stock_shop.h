/* SPDX-License-Identifier: MIT */
/*
 * A shop: a table with the stock of each product, in the example's own
 * database. It knows nothing of Holdfast, except that one kind of shop uses its
 * calls for rows. Any failure ends the program.
 */
#ifndef EXAMPLES_STOCK_SHOP_H
#define EXAMPLES_STOCK_SHOP_H

#include <stdbool.h>

struct shop {
    const char *name;
    const char *row_lock; /* what locks a row here, for people */
    /* Connect, for one thread. place: as in the command line. */
    void *(*enter)(const char *place);
    void (*leave)(void *db);
    /* Create the table, with so many of each product; and drop it. */
    void (*stock_up)(void *db, int products, int each);
    void (*close_down)(void *db);
    /* Returns how many are left. */
    int (*read)(void *db, int product);
    /* Set how many are left, even if another wrote in between. */
    void (*write)(void *db, int product, int left);
    /* Begin a transaction that locks the row; false: it must be begun again. */
    bool (*lock)(void *db, int product);
    void (*commit)(void *db);
    /* Sell one of `left`, under a lock with this fence; false: a holder with a
     * higher fence wrote the row, or its stock changed. */
    bool (*sell_guarded)(void *db, int product, int left,
                         unsigned long long fence);
    /* Returns how often a client has waited for another's lock so far. */
    long long (*waits)(void *db);
};

extern const struct shop sqlite_shop; /* place: a file */
extern const struct shop mysql_shop;  /* mysql://USER@HOST[:PORT]/DATABASE */

#endif
