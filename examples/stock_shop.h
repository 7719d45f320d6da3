/* SPDX-License-Identifier: MIT */
/*
 * A shop: a table that has how much is left of each product, in a database of
 * the example's own. Nothing here knows Holdfast but for the words that one
 * kind of shop has for its locks. What cannot be done ends the program.
 */
#ifndef EXAMPLES_STOCK_SHOP_H
#define EXAMPLES_STOCK_SHOP_H

#include <stdbool.h>

struct shop {
    const char *name;
    const char *row_lock; /* what locks a row here, for people */
    /* A connection, for one thread. place: as in the command line. */
    void *(*enter)(const char *place);
    void (*leave)(void *db);
    /* Makes the table, with so many of each product; and takes it away. */
    void (*stock_up)(void *db, int products, int each);
    void (*close_down)(void *db);
    /* How many are left. */
    int (*read)(void *db, int product);
    /* So many are left now, whoever has written in between. */
    void (*write)(void *db, int product, int left);
    /* A transaction that has the row locked from here on; false: it must be
     * begun again. */
    bool (*lock)(void *db, int product);
    void (*commit)(void *db);
    /* One is sold of `left`, under a lock of this fence; false: somebody with
     * a higher one has been here, or sold. */
    bool (*sell_guarded)(void *db, int product, int left,
                         unsigned long long fence);
    /* How often somebody has waited for another's lock so far. */
    long long (*waits)(void *db);
};

extern const struct shop sqlite_shop; /* place: a file */
extern const struct shop mysql_shop;  /* mysql://USER@HOST[:PORT]/DATABASE */

#endif
