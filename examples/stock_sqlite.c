/* SPDX-License-Identifier: MIT */
/*
 * A shop in an SQLite file. Its row lock is the lock of the whole file, BEGIN
 * IMMEDIATE: SQLite has no smaller one.
 */
#include "examples/stock_shop.h"

#include <poll.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* A connection that finds the file busy asks again after a random time of at
 * most this. */
#define REST_MS 2

static atomic_llong waits;

static void end(sqlite3 *db)
{
    fprintf(stderr, "stock: %s\n", sqlite3_errmsg(db));
    exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        end(db);
    }
}

/* Run one statement with up to three numbers. Returns the first number of its
 * first row; without a row, how many rows it changed. */
static int ask(sqlite3 *db, const char *sql, const long long *numbers, int n)
{
    sqlite3_stmt *statement = NULL;
    int found = 0;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    for (int i = 0; rc == SQLITE_OK && i < n; i++) {
        rc = sqlite3_bind_int64(statement, i + 1, numbers[i]);
    }
    rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    if (rc == SQLITE_ROW) {
        found = sqlite3_column_int(statement, 0);
    } else if (rc == SQLITE_DONE) {
        found = sqlite3_changes(db);
    } else {
        end(db);
    }
    sqlite3_finalize(statement);
    return found;
}

static int rest(void *unused, int count)
{
    static _Thread_local unsigned seed;

    (void)unused;
    if (count == 0) {
        atomic_fetch_add(&waits, 1);
        seed += (unsigned)(size_t)&seed;
    }
    poll(NULL, 0, rand_r(&seed) % (REST_MS + 1));
    return 1;
}

static void *enter(const char *place)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(place, &db) != SQLITE_OK ||
        sqlite3_busy_handler(db, rest, NULL) != SQLITE_OK) {
        end(db);
    }
    /* The shop is as durable as the locks and cells that it is compared
     * with. */
    run(db, "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL");
    return db;
}

static void leave(void *db)
{
    sqlite3_close(db);
}

static void stock_up(void *db, int products, int each)
{
    run(db, "BEGIN IMMEDIATE;CREATE TABLE product(id INTEGER PRIMARY KEY,"
            "stock INTEGER NOT NULL CHECK(stock>=0),"
            "fence INTEGER NOT NULL DEFAULT 0)");
    for (int i = 1; i <= products; i++) {
        ask(db, "INSERT INTO product(id,stock) VALUES(?,?)",
            (long long[]){i, each}, 2);
    }
    run(db, "COMMIT");
}

static void close_down(void *db)
{
    run(db, "DROP TABLE product");
}

static int read_stock(void *db, int product)
{
    return ask(db, "SELECT stock FROM product WHERE id=?",
               (long long[]){product}, 1);
}

static void write_stock(void *db, int product, int left)
{
    ask(db, "UPDATE product SET stock=?2 WHERE id=?1",
        (long long[]){product, left}, 2);
}

static bool lock(void *db, int product)
{
    (void)product;
    run(db, "BEGIN IMMEDIATE");
    return true;
}

static void commit(void *db)
{
    run(db, "COMMIT");
}

/* The fence refuses a late holder that writes after its successor. If the late
 * one writes first, the stock that was read refuses the successor. */
static bool sell_guarded(void *db, int product, int left,
                         unsigned long long fence)
{
    return ask(db,
               "UPDATE product SET stock=stock-1,fence=?3"
               " WHERE id=?1 AND stock=?2 AND fence<=?3",
               (long long[]){product, left, (long long)fence}, 3) == 1;
}

static long long count_waits(void *db)
{
    (void)db;
    return waits;
}

const struct shop sqlite_shop = {
    .name = "SQLite",
    .row_lock = "BEGIN IMMEDIATE",
    .enter = enter,
    .leave = leave,
    .stock_up = stock_up,
    .close_down = close_down,
    .read = read_stock,
    .write = write_stock,
    .lock = lock,
    .commit = commit,
    .sell_guarded = sell_guarded,
    .waits = count_waits,
};
