/* SPDX-License-Identifier: MIT */
/*
 * An update by version on the server. Outside of the caller's transaction the
 * reading and the writing each have a transaction of ours. So none is open
 * while the caller computes, and a write whose answer is lost was not done:
 * only the outcome of a COMMIT can be unknown, which is never sent again.
 *
 * A version that does not change with each write loses updates. So a time must
 * count microseconds, and is always made later than it was, also if the
 * server's clock stands or steps back. It is compared by its bytes, as a text
 * may stand for two moments, depending on the session's DateStyle and zone.
 * Thread: the caller's.
 */
#include "src/base/error.h"
#include "src/rows/postgres/ask.h"
#include "src/rows/postgres/lock.h"
#include "src/rows/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct hf__rows_pg_row_version {
    const char *name;
    enum hf__rows_pg_type type;
    int64_t largest;     /* of a number */
    int64_t old_value;   /* of a number */
    char old[24];        /* of a time: its eight bytes in hexadecimal */
    const char *deleted; /* the deletion column, or NULL */
    enum hf__rows_pg_type deleted_type;
};

enum { MICROSECONDS = 6 };

static bool is_time(enum hf__rows_pg_type type)
{
    return type == HF__PG_TIMESTAMP || type == HF__PG_TIMESTAMPTZ;
}

static const char *type_name(const struct hf__rows_pg_row_version *v)
{
    return v->type == HF__PG_TIMESTAMP ? "timestamp" : "timestamptz";
}

/* modifier: the digits of a second; below 0: not limited. */
static int fit(struct hf__pg *s, struct hf__rows_pg_row_version *v,
               int modifier)
{
    v->largest = v->type == HF__PG_INT2   ? INT16_MAX
                 : v->type == HF__PG_INT4 ? INT32_MAX
                 : v->type == HF__PG_INT8 ? INT64_MAX
                                          : 0;
    if (v->largest == 0 && !is_time(v->type)) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the version column %s is neither an integer nor "
                        "timestamp or timestamptz",
                        v->name);
    }
    if (is_time(v->type) && modifier >= 0 && modifier < MICROSECONDS) {
        return hf__fail(
            s->call.err, HF_EUNSAFE,
            "the version column %s has %d digits of a second, so two writes "
            "within one such part look the same and the first is overwritten: "
            "ALTER TABLE … ALTER %s TYPE %s(6)",
            v->name, modifier, v->name, type_name(v));
    }
    return HF_OK;
}

static int check_deleted(struct hf__pg *s,
                         const struct hf__rows_pg_row_version *v)
{
    switch (v->deleted_type) {
    case HF__PG_BOOL:
    case HF__PG_INT2:
    case HF__PG_INT4:
    case HF__PG_INT8:
    case HF__PG_FLOAT4:
    case HF__PG_FLOAT8:
    case HF__PG_NUMERIC:
    case HF__PG_DATE:
    case HF__PG_TIMESTAMP:
    case HF__PG_TIMESTAMPTZ:
        return HF_OK;
    case HF__PG_BYTEA:
    default:
        return hf__fail(s->call.err, HF_EINVAL,
                        "the deletion column %s is neither a number, a boolean "
                        "nor a time, which is NULL, 0 or false in a row that "
                        "is there",
                        v->deleted);
    }
}

/* Ask for the types of the version and the deletion column. HF_OK, HF_EINVAL,
 * HF_EUNSAFE (a time that is too coarse). */
static int row_version_find(struct hf__pg *s, struct hf__rows_pg_row_version *v,
                            const char *name, const char *deleted)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    int r;

    *v = (struct hf__rows_pg_row_version){.name = name, .deleted = deleted};
    hf__rows_pg_clear(s);
    hf__sql_addf(&s->sql, "SELECT ");
    hf__rows_pg_add_name(&s->sql, name);
    hf__sql_addf(&s->sql, ",");
    hf__rows_pg_add_name(&s->sql, deleted == NULL ? name : deleted);
    hf__sql_addf(&s->sql, " FROM ");
    hf__rows_pg_add_table(s, &s->sql);
    hf__sql_addf(&s->sql, " LIMIT 0");
    r = hf__rows_pg_send(s, &result);
    if (r != HF_OK) {
        return r;
    }
    v->type = PQftype(result, 0);
    v->deleted_type = PQftype(result, 1);
    if (deleted != NULL) {
        r = check_deleted(s, v);
    }
    return r == HF_OK ? fit(s, v, PQfmod(result, 0)) : r;
}

/* Add "pg_catalog.timestamp_send("changed")". */
static void add_bytes(const struct hf__rows_pg_row_version *v,
                      struct hf__sql *sql)
{
    hf__sql_addf(sql, "pg_catalog.%s_send(", type_name(v));
    hf__rows_pg_add_name(sql, v->name);
    hf__sql_addf(sql, ")");
}

/* Add the expression that reads the version. */
static void row_version_add_read(const struct hf__rows_pg_row_version *v,
                                 struct hf__sql *sql)
{
    if (!is_time(v->type)) {
        hf__rows_pg_add_name(sql, v->name);
        return;
    }
    hf__sql_addf(sql, "CASE WHEN ");
    hf__rows_pg_add_name(sql, v->name);
    hf__sql_addf(sql, "='infinity' THEN 'infinity' ELSE pg_catalog.encode(");
    add_bytes(v, sql);
    hf__sql_addf(sql, ",'hex') END");
}

/* Take the version that was read; NULL is SQL NULL. HF_OK, HF_EINVAL: no
 * version is later. */
static int row_version_take(struct hf__pg *s, struct hf__rows_pg_row_version *v,
                            const char *text)
{
    bool is_last;

    if (text == NULL) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the version column %s is NULL in this row, which is "
                        "equal to nothing: make it NOT NULL",
                        v->name);
    }
    if (is_time(v->type)) {
        is_last = strcmp(text, "infinity") == 0;
        strncpy(v->old, text, sizeof v->old - 1);
    } else {
        v->old_value = strtoll(text, NULL, 10);
        is_last = v->old_value >= v->largest;
        s->call.info.version = is_last ? 0 : v->old_value + 1;
    }
    return is_last
               ? hf__fail(s->call.err, HF_EINVAL,
                          "the version column %s has the largest value of its "
                          "type in this row, which nothing is later than",
                          v->name)
               : HF_OK;
}

/* Add "version"=8; a time becomes the server's time, or one microsecond more
 * than it was. */
static void row_version_add_next(const struct hf__rows_pg_row_version *v,
                                 struct hf__sql *sql)
{
    hf__rows_pg_add_name(sql, v->name);
    if (!is_time(v->type)) {
        hf__sql_addf(sql, "= %" PRId64, v->old_value + 1);
        return;
    }
    hf__sql_addf(sql, "=GREATEST(CAST(pg_catalog.clock_timestamp() AS %s),",
                 type_name(v));
    hf__rows_pg_add_name(sql, v->name);
    hf__sql_addf(sql, "+INTERVAL '1 microsecond')");
}

/* Add that the row is not deleted: "("deleted" IS NULL OR "deleted"=0)", or
 * "true". */
static void row_version_add_is_alive(const struct hf__rows_pg_row_version *v,
                                     struct hf__sql *sql)
{
    if (v->deleted == NULL) {
        hf__sql_addf(sql, "true");
        return;
    }
    hf__sql_addf(sql, "(");
    hf__rows_pg_add_name(sql, v->deleted);
    if (v->deleted_type == HF__PG_BOOL) {
        hf__sql_addf(sql, " IS NOT TRUE)");
        return;
    }
    hf__sql_addf(sql, " IS NULL");
    if (!is_time(v->deleted_type) && v->deleted_type != HF__PG_DATE) {
        hf__sql_addf(sql, " OR ");
        hf__rows_pg_add_name(sql, v->deleted);
        hf__sql_addf(sql, "=0");
    }
    hf__sql_addf(sql, ")");
}

/* Add " AND "version"=7", and that the row is not deleted. */
static void row_version_add_is_old(struct hf__rows_pg_row_version *v,
                                   struct hf__pg *s)
{
    struct hf__sql *sql = &s->sql;

    hf__sql_addf(sql, " AND ");
    if (is_time(v->type)) {
        add_bytes(v, sql);
        hf__sql_addf(sql, "=pg_catalog.decode(");
        hf__rows_pg_add_text(s, v->old);
        hf__sql_addf(sql, ",'hex')");
    } else {
        hf__rows_pg_add_name(sql, v->name);
        hf__sql_addf(sql, "= %" PRId64, v->old_value);
    }
    hf__sql_addf(sql, " AND ");
    row_version_add_is_alive(v, sql);
}

/* The columns that are read before the caller's. */
enum { VERSION, IS_ALIVE, FIRST };

struct update {
    struct hf__pg *s;
    struct hf__change c;
    struct hf__rows_pg_row_version version;
    unsigned char *bytes[HF_ROW_COLUMNS_MAX]; /* of old values */
};

/* ---- reading */

static void add_wanted(const struct update *w, struct hf__sql *sql)
{
    row_version_add_read(&w->version, sql);
    hf__sql_addf(sql, ",");
    row_version_add_is_alive(&w->version, sql);
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

/* Take the row's values for the callback. */
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
    return row_version_take(w->s, &w->version,
                            PQgetisnull(result, 0, VERSION)
                                ? NULL
                                : PQgetvalue(result, 0, VERSION));
}

/* Check the table at the first attempt, and read the row at each. */
static int look(struct update *w, PGresult **ret_result)
{
    int r = HF_OK;

    if (w->version.name == NULL) {
        r = hf__rows_pg_table_check(w->s);
        if (r == HF_OK) {
            r = row_version_find(w->s, &w->version, w->c.u.version,
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
    row_version_add_next(&w->version, &s->sql);
    hf__rows_pg_add_key(s);
    row_version_add_is_old(&w->version, s);
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

/* ---- the attempts */

static int unknown(struct hf__pg *s)
{
    return hf__fail(s->call.err, HF_EUNKNOWN,
                    "table %s: no answer to the COMMIT of the write; it may "
                    "have been done, and was not sent again: read the row on "
                    "another connection",
                    s->call.row.table);
}

/* The reading and the writing each have a transaction of ours. */
static int attempt_outside(struct update *w, PGresult **ret_result)
{
    struct hf__pg *s = w->s;
    int r = hf__savepoint_open(s, w->c.u.limit_ms);

    r = hf__savepoint_close(s, r == HF_OK ? look(w, ret_result) : r);
    if (r == HF_OK) {
        r = ask_callback(w);
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__savepoint_open(s, w->c.u.limit_ms);
    if (r == HF_OK) {
        r = write_row(w);
    }
    if (r != HF_OK) {
        return hf__savepoint_close(s, r);
    }
    r = hf__savepoint_close(s, r);
    return r != HF_OK && s->is_lost ? unknown(s) : r;
}

static int attempt_inside(struct update *w, PGresult **ret_result)
{
    int r = hf__savepoint_open(w->s, w->c.u.limit_ms);

    if (r == HF_OK) {
        r = look(w, ret_result);
    }
    if (r == HF_OK) {
        r = ask_callback(w);
    }
    if (r == HF_OK) {
        r = write_row(w);
    }
    return hf__savepoint_close(w->s, r);
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
