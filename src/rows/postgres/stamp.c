/* SPDX-License-Identifier: MIT */
/*
 * A version that does not change with each write loses updates: so a time must
 * count microseconds, and is always made later than it was, also if the
 * server's clock stands or steps back. It is compared by the bytes that it is,
 * as a text may be that of two moments, by the session's DateStyle and zone.
 */
#include "src/rows/postgres/stamp.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MICROSECONDS = 6 };

static bool is_time(enum hf__rows_pg_type type)
{
    return type == HF__PG_TIMESTAMP || type == HF__PG_TIMESTAMPTZ;
}

static const char *type_name(const struct hf__rows_pg_stamp *v)
{
    return v->type == HF__PG_TIMESTAMP ? "timestamp" : "timestamptz";
}

/* modifier: the digits of a second, if any were said; else it has all. */
static int fit(struct hf__pg *s, struct hf__rows_pg_stamp *v, int modifier)
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

static int check_deleted(struct hf__pg *s, const struct hf__rows_pg_stamp *v)
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

int hf__rows_pg_stamp_find(struct hf__pg *s, struct hf__rows_pg_stamp *v,
                           const char *name, const char *deleted)
{
    HF_AUTO(hf__rows_pg_result_auto) PGresult *result = NULL;
    int r;

    *v = (struct hf__rows_pg_stamp){.name = name, .deleted = deleted};
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

/* "pg_catalog.timestamp_send("changed")" */
static void add_bytes(const struct hf__rows_pg_stamp *v, struct hf__sql *sql)
{
    hf__sql_addf(sql, "pg_catalog.%s_send(", type_name(v));
    hf__rows_pg_add_name(sql, v->name);
    hf__sql_addf(sql, ")");
}

void hf__rows_pg_stamp_add_read(const struct hf__rows_pg_stamp *v,
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

int hf__rows_pg_stamp_take(struct hf__pg *s, struct hf__rows_pg_stamp *v,
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

/* The server's time, or one microsecond more than it was. */
void hf__rows_pg_stamp_add_next(const struct hf__rows_pg_stamp *v,
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

void hf__rows_pg_stamp_add_is_alive(const struct hf__rows_pg_stamp *v,
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

void hf__rows_pg_stamp_add_is_old(struct hf__rows_pg_stamp *v, struct hf__pg *s)
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
    hf__rows_pg_stamp_add_is_alive(v, sql);
}
