/* SPDX-License-Identifier: MIT */
/*
 * A shop in a table of MySQL or MariaDB. Its row lock is SELECT … FOR UPDATE,
 * hf_mysql_lock_row().
 */
#include "examples/database.h"
#include "examples/stock_shop.h"

#include <stdio.h>
#include <stdlib.h>

#define GUARD_SIZE 320

static void *enter(const char *place)
{
    struct database *db = malloc(sizeof *db);

    if (db == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    *db = connect_to(place);
    return db;
}

static void leave(void *db)
{
    disconnect(db);
    free(db);
}

static void stock_up(void *db, int products, int each)
{
    char sql[96];

    run(db, "CREATE TABLE example_stock(id INT PRIMARY KEY,"
            "stock INT UNSIGNED NOT NULL,"
            "fence BIGINT UNSIGNED NOT NULL DEFAULT 0)ENGINE=InnoDB");
    run(db, "BEGIN");
    for (int i = 1; i <= products; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO example_stock(id,stock) VALUES(%d,%d)", i, each);
        run(db, sql);
    }
    run(db, "COMMIT");
}

static void close_down(void *db)
{
    run(db, "DROP TABLE example_stock");
}

static int read_stock(void *db, int product)
{
    char sql[64];

    snprintf(sql, sizeof sql, "SELECT stock FROM example_stock WHERE id=%d",
             product);
    return (int)number(db, sql);
}

static void write_stock(void *db, int product, int left)
{
    char sql[80];

    snprintf(sql, sizeof sql, "UPDATE example_stock SET stock=%d WHERE id=%d",
             left, product);
    run(db, sql);
}

static bool lock(void *db, int product)
{
    const hf_row_column key[] = {{"id", {HF_ROW_INT, product, NULL, 0}}};
    hf_row row = HF_ROW_INIT;
    hf_error err = HF_ERROR_INIT;
    int r;

    row.table = "example_stock";
    row.key = key;
    row.n_key = 1;
    run(db, "BEGIN");
    r = lock_row(db, &row, NULL, NULL, &err);
    if (r == HF_OK) {
        return true;
    }
    run(db, "ROLLBACK");
    if (r != HF_BUSY && r != HF_DEADLOCK) {
        fprintf(stderr, "stock: %s: %s\n", status_name(db, r), err.text);
        exit(1);
    }
    return false;
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
    hf_error err = HF_ERROR_INIT;
    char guard[GUARD_SIZE];
    char sql[GUARD_SIZE + 160];

    if (guard_sql(db, guard, sizeof guard, "fence", fence, &err) != HF_OK) {
        fprintf(stderr, "stock: %s\n", err.text);
        exit(1);
    }
    snprintf(sql, sizeof sql,
             "UPDATE example_stock SET stock=stock-1,fence=%llu"
             " WHERE id=%d AND stock=%d AND %s",
             fence, product, left, guard);
    return run(db, sql) == 1;
}

/* The server's own count, of all its clients. */
static long long count_waits(void *db)
{
    return number(db, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'");
}

const struct shop mysql_shop = {
    .name = "MySQL or MariaDB",
    .row_lock = "SELECT … FOR UPDATE",
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
