/* SPDX-License-Identifier: MIT */
/*
 * An update by version on the server. Outside of the caller's transaction the
 * reading and the writing are one of ours each, so nothing is open while the
 * caller computes, and a write whose answer is lost was not done: unknown is
 * only what comes of a COMMIT, which is never sent again.
 */
#include "src/base/error.h"
#include "src/rows/change.h"
#include "src/rows/postgres/bracket.h"
#include "src/rows/postgres/lock.h"
#include "src/rows/postgres/stamp.h"
#include "src/rows/postgres/table.h"

#include <string.h>

/* What is read before the caller's columns. */
enum { VERSION, IS_ALIVE, FIRST };

struct update {
    struct hf__pg *s;
    struct hf__change c;
    struct hf__rows_pg_stamp version;
    unsigned char *bytes[HF_ROW_COLUMNS_MAX]; /* of old values */
};

/* ---- reading */

static void add_wanted(const struct update *w, struct hf__sql *sql)
{
    hf__rows_pg_stamp_add_read(&w->version, sql);
    hf__sql_addf(sql, ",");
    hf__rows_pg_stamp_add_is_alive(&w->version, sql);
    for (int i = 0; i < w->c.u.n_columns; i++) {
        hf__sql_addf(sql, ",");
        hf__rows_pg_add_name(sql, w->c.u.columns[i]);
    }
}

static int read_row(struct update *w, PGresult **ret_result)
{
    const hf_row_lock_opts waiting = {sizeof waiting, w->c.u.limit_ms, 0};
    struct hf__sql wanted = {.bytes = NULL};
    int r;

    add_wanted(w, &wanted);
    r = wanted.is_broken ? hf__fail(w->s->call.err, HF_ENOMEM, "out of memory")
        : w->s->is_inside
            ? hf__rows_pg_lock(w->s, wanted.bytes, &waiting, ret_result)
            : hf__rows_pg_read(w->s, wanted.bytes, "", ret_result);
    hf__sql_fini(&wanted);
    return r;
}

/* The row as the callback will see it. */
static int take_row(struct update *w, const PGresult *result)
{
    if (*PQgetvalue(result, 0, IS_ALIVE) != 't') {
        return hf__call_gone(&w->s->call, ": it is deleted");
    }
    for (int i = 0; i < w->c.u.n_columns; i++) {
        if (hf__rows_pg_value(result, FIRST + i, &w->c.old[i], &w->bytes[i]) !=
            HF_OK) {
            return hf__fail(w->s->call.err, HF_ENOMEM, "out of memory");
        }
    }
    return hf__rows_pg_stamp_take(w->s, &w->version,
                                  PQgetisnull(result, 0, VERSION)
                                      ? NULL
                                      : PQgetvalue(result, 0, VERSION));
}

/* The table is looked at once, the row each time. */
static int look(struct update *w, PGresult **ret_result)
{
    int r = HF_OK;

    if (w->version.name == NULL) {
        r = hf__rows_pg_table_check(w->s);
        if (r == HF_OK) {
            r = hf__rows_pg_stamp_find(w->s, &w->version, w->c.u.version,
                                       w->c.u.deleted);
        }
    }
    if (r == HF_OK) {
        r = read_row(w, ret_result);
    }
    return r == HF_OK ? take_row(w, *ret_result) : r;
}

/* ---- writing */

static int ask_callback(struct update *w)
{
    int r = hf__change_ask(&w->c);

    for (int i = 0; r == HF_OK && i < w->c.u.n_columns; i++) {
        r = hf__rows_pg_check_value(w->s, w->c.u.columns[i], &w->c.new[i]);
    }
    return r;
}

static void build(struct update *w)
{
    struct hf__pg *s = w->s;

    hf__rows_pg_clear(s);
    hf__sql_addf(&s->sql, "UPDATE ");
    hf__rows_pg_add_table(s, &s->sql);
    hf__sql_addf(&s->sql, " SET ");
    for (int i = 0; i < w->c.u.n_columns; i++) {
        if (w->c.new[i].type != HF_ROW_UNSET) {
            hf__rows_pg_add_name(&s->sql, w->c.u.columns[i]);
            hf__sql_addf(&s->sql, "=");
            hf__rows_pg_add_value(s, &w->c.new[i]);
            hf__sql_addf(&s->sql, ",");
        }
    }
    hf__rows_pg_stamp_add_next(&w->version, &s->sql);
    hf__rows_pg_add_key(s);
    hf__rows_pg_stamp_add_is_old(&w->version, s);
}

static int write_row(struct update *w)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    int r;

    build(w);
    r = hf__rows_pg_send(w->s, &result);
    if (r != HF_OK) {
        return r;
    }
    return strcmp(PQcmdTuples(result), "1") == 0 ? HF_OK
                                                 : hf__change_conflict(&w->c);
}

/* ---- once, and again */

static int unknown(struct hf__pg *s)
{
    return hf__fail(s->call.err, HF_EUNKNOWN,
                    "table %s: no answer to the COMMIT of the write; it may "
                    "have been done, and was not sent again: read the row on "
                    "another connection",
                    s->call.row.table);
}

/* With a transaction of ours for each of the two. */
static int attempt_outside(struct update *w, PGresult **ret_result)
{
    struct hf__pg *s = w->s;
    int r = hf__bracket_open(s, w->c.u.limit_ms);

    r = hf__bracket_close(s, r == HF_OK ? look(w, ret_result) : r);
    if (r == HF_OK) {
        r = ask_callback(w);
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__bracket_open(s, w->c.u.limit_ms);
    if (r == HF_OK) {
        r = write_row(w);
    }
    if (r != HF_OK) {
        return hf__bracket_close(s, r);
    }
    r = hf__bracket_close(s, r);
    return r != HF_OK && s->is_lost ? unknown(s) : r;
}

static int attempt_inside(struct update *w, PGresult **ret_result)
{
    int r = hf__bracket_open(w->s, w->c.u.limit_ms);

    if (r == HF_OK) {
        r = look(w, ret_result);
    }
    if (r == HF_OK) {
        r = ask_callback(w);
    }
    if (r == HF_OK) {
        r = write_row(w);
    }
    return hf__bracket_close(w->s, r);
}

static int attempt(void *arg)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    struct update *w = arg;
    int r = w->s->is_inside ? attempt_inside(w, &result)
                            : attempt_outside(w, &result);

    for (int i = 0; i < HF_ROW_COLUMNS_MAX; i++) {
        PQfreemem(w->bytes[i]);
        w->bytes[i] = NULL;
    }
    return r;
}

int hf_postgres_update_versioned(PGconn *db, const hf_row *row,
                                 const hf_row_update *update,
                                 hf_row_info *ret_info, hf_error *err)
{
    struct hf__pg s;
    struct update w = {.s = &s, .c = {&s.call, .u = HF_ROW_UPDATE_INIT}};
    int r;

    hf__rows_pg_begin(&s, db, ret_info, err);
    r = hf__rows_pg_open(&s, row);
    if (r == HF_OK) {
        r = hf__change_open(&w.c, update, &s.names);
    }
    if (r == HF_OK) {
        r = hf__change_attempts(&w.c, s.is_inside, attempt, &w);
    }
    return hf__rows_pg_end(&s, r);
}
