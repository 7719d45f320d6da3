/* SPDX-License-Identifier: MIT */
/*
 * The words of world.h that are the same for each kind of server. Thread: each
 * connection is used by one at a time.
 */
#include "tests/rows/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STATEMENT = 2048 };

_Thread_local hf_error err = HF_ERROR_INIT;
_Thread_local hf_row_info info = HF_ROW_INFO_INIT;

__attribute__((format(printf, 3, 0))) static void
run_formatted(struct db *db, struct result *result, const char *format,
              va_list args)
{
    char sql[STATEMENT];

    EXPECT(vsnprintf(sql, sizeof sql, format, args) < (int)sizeof sql);
    run(db, sql, result);
}

#define RUN(result)                                                            \
    do {                                                                       \
        va_list args_;                                                         \
        va_start(args_, format);                                               \
        run_formatted(db, result, format, args_);                              \
        va_end(args_);                                                         \
    } while (0)

static void must(struct db *db, const struct result *result, const char *format)
{
    if (result->error[0] != '\0') {
        EXPECT_TEXT(message_of(db), format);
    }
}

void tell(struct db *db, const char *format, ...)
{
    struct result result;

    RUN(&result);
    must(db, &result, format);
}

const char *attempt(struct db *db, const char *format, ...)
{
    static _Thread_local struct result result;

    RUN(&result);
    return result.error;
}

const char *value(struct db *db, const char *format, ...)
{
    static _Thread_local struct result result;

    RUN(&result);
    must(db, &result, format);
    return result.value;
}

int changed(struct db *db, const char *format, ...)
{
    struct result result;

    RUN(&result);
    must(db, &result, format);
    return result.changed;
}

const char *said(void)
{
    static _Thread_local char text[16];

    if (its.kind == ON_POSTGRES) {
        return err.sqlstate;
    }
    snprintf(text, sizeof text, "%d", err.native);
    return err.native == 0 ? "" : text;
}

/* ---- rows */

void make_accounts(struct db *db)
{
    tell(db, "DROP TABLE IF EXISTS account");
    tell(db, "CREATE TABLE account(id INT PRIMARY KEY,n INT NOT NULL,"
             "version INT NOT NULL DEFAULT 1)");
    tell(db, "INSERT INTO account(id,n) VALUES(1,100),(2,200),(3,300)");
}

const hf_row *row_of(const char *table, int64_t id)
{
    static _Thread_local hf_row_column key;
    static _Thread_local hf_row row;

    key = (hf_row_column){"id", {HF_ROW_INT, id, NULL, 0}};
    row = (hf_row){sizeof row, NULL, table, &key, 1};
    return &row;
}

int lock_for(struct db *db, int64_t id, int64_t wait_ms)
{
    hf_row_lock_opts opts = HF_ROW_LOCK_OPTS_INIT;

    opts.wait_ms = wait_ms;
    return lock_row(db, row_of("account", id), &opts, &info, &err);
}

int lock_skipping(struct db *db, int64_t id)
{
    hf_row_lock_opts opts = HF_ROW_LOCK_OPTS_INIT;

    opts.wait_ms = 0;
    opts.skip_locked = 1;
    return lock_row(db, row_of("account", id), &opts, &info, &err);
}

int lock_where(struct db *db, const char *table, const char *a, int64_t x,
               const char *b, int64_t y)
{
    const hf_row_column key[] = {{a, {HF_ROW_INT, x, NULL, 0}},
                                 {b, {HF_ROW_INT, y, NULL, 0}}};
    const hf_row row = {sizeof row, NULL, table, key, b == NULL ? 1 : 2};

    return lock_row(db, &row, NULL, &info, &err);
}

int lock_value(struct db *db, const char *table, const char *column,
               hf_row_value v)
{
    const hf_row_column key = {column, v};
    const hf_row row = {sizeof row, NULL, table, &key, 1};

    return lock_row(db, &row, NULL, &info, &err);
}

int lock_text(struct db *db, const char *table, const char *column,
              const char *bytes, size_t length)
{
    return lock_value(db, table, column,
                      (hf_row_value){HF_ROW_TEXT, 0, bytes, length});
}

void expect_refused(struct db *db, const char *table, const char *why)
{
    EXPECT_SAFE_IS(lock_row(db, row_of(table, 1), NULL, &info, &err),
                   HF_EUNSAFE);
    EXPECT_HAS(err.text, why);
    EXPECT_IS(info.in_transaction, 1);
}

void wait_for_row(void *arg)
{
    struct waiter *w = arg;

    w->status = lock_for(w->db, w->id, w->wait_ms);
    w->info = info;
}
