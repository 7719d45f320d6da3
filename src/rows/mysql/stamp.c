/* SPDX-License-Identifier: MIT */
/*
 * A version that does not change with each write loses updates: so a time must
 * count microseconds, and is always made later than it was, also if the
 * server's clock stands or steps back. A TIMESTAMP is compared by what it is in
 * UTC: its text is that of two moments when summer time ends. Where only the
 * text is to be had, for the new one, a stamp that would not be later is
 * refused in the statement itself.
 */
#include "src/rows/mysql/stamp.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MICROSECONDS = 6 };

struct whole {
    enum enum_field_types type;
    int64_t largest[2]; /* signed, unsigned */
};

static const struct whole wholes[] = {
    {MYSQL_TYPE_TINY, {INT8_MAX, UINT8_MAX}},
    {MYSQL_TYPE_SHORT, {INT16_MAX, UINT16_MAX}},
    {MYSQL_TYPE_INT24, {0x7FFFFF, 0xFFFFFF}},
    {MYSQL_TYPE_LONG, {INT32_MAX, UINT32_MAX}},
    {MYSQL_TYPE_LONGLONG, {INT64_MAX, INT64_MAX}},
};

static int fit(struct hf__rows *s, struct hf__stamp *v,
               const MYSQL_FIELD *field)
{
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        if (wholes[i].type == field->type) {
            v->kind = HF__STAMP_NUMBER;
            v->largest =
                wholes[i].largest[(field->flags & UNSIGNED_FLAG) != 0 ? 1 : 0];
            return HF_OK;
        }
    }
    if (field->type != MYSQL_TYPE_DATETIME &&
        field->type != MYSQL_TYPE_TIMESTAMP) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the version column %s is neither an integer nor "
                        "DATETIME(6) or TIMESTAMP(6)",
                        v->name);
    }
    v->kind = field->type == MYSQL_TYPE_DATETIME ? HF__STAMP_DATETIME
                                                 : HF__STAMP_TIMESTAMP;
    if (field->decimals != MICROSECONDS) {
        return hf__fail(
            s->call.err, HF_EUNSAFE,
            "the version column %s has %u digits of a second, so two writes "
            "within one such part look the same and the first is overwritten: "
            "ALTER TABLE … MODIFY %s %s(6) NOT NULL",
            v->name, field->decimals, v->name,
            v->kind == HF__STAMP_DATETIME ? "DATETIME" : "TIMESTAMP");
    }
    return HF_OK;
}

/* To compare a text with 0 says nothing. */
static int check_deleted(struct hf__rows *s, const MYSQL_FIELD *field)
{
    return field->type >= MYSQL_TYPE_ENUM || field->type == MYSQL_TYPE_VARCHAR
               ? hf__fail(s->call.err, HF_EINVAL,
                          "the deletion column %s is neither a number nor a "
                          "time, which is NULL or 0 in a row that is there",
                          field->name)
               : HF_OK;
}

int hf__stamp_find(struct hf__rows *s, struct hf__stamp *v, const char *name,
                   const char *deleted)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    const MYSQL_FIELD *fields;
    unsigned error;
    int r = HF_OK;

    *v = (struct hf__stamp){.name = name};
    /* Nothing is read, so no snapshot is taken. */
    hf__sql_clear(&s->sql);
    hf__sql_addf(&s->sql, "SELECT ");
    hf__sql_name(&s->sql, name);
    hf__sql_addf(&s->sql, ",");
    hf__sql_name(&s->sql, deleted == NULL ? name : deleted);
    hf__sql_addf(&s->sql, " FROM ");
    hf__rows_add_table(s);
    hf__sql_addf(&s->sql, " LIMIT 0");
    error = hf__rows_send(s, &result);
    if (error != 0) {
        return hf__rows_fail(s, error);
    }
    if (result == NULL || mysql_num_fields(result) != 2) {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not describe the column %s", name);
    }
    fields = mysql_fetch_fields(result);
    if (deleted != NULL) {
        r = check_deleted(s, &fields[1]);
    }
    return r == HF_OK ? fit(s, v, &fields[0]) : r;
}

void hf__stamp_add_read(const struct hf__stamp *v, struct hf__sql *sql)
{
    if (v->kind == HF__STAMP_TIMESTAMP) {
        hf__sql_addf(sql, "UNIX_TIMESTAMP(");
        hf__sql_name(sql, v->name);
        hf__sql_addf(sql, ")");
    } else {
        hf__sql_name(sql, v->name);
    }
}

int hf__stamp_take(struct hf__rows *s, struct hf__stamp *v, const char *text)
{
    if (text == NULL) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the version column %s is NULL in this row, which is "
                        "equal to nothing: make it NOT NULL",
                        v->name);
    }
    /* It goes into the next statement. */
    if (strlen(text) >= sizeof v->old ||
        text[strspn(text, "0123456789-:. ")] != '\0') {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server's value of the version column %s is "
                        "neither a number nor a time",
                        v->name);
    }
    memcpy(v->old, text, strlen(text) + 1);
    if (v->kind != HF__STAMP_NUMBER) {
        return HF_OK;
    }
    v->old_value = strtoll(text, NULL, 10);
    if (v->old_value >= v->largest) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the version column %s has the largest number of its "
                        "type in this row: make it BIGINT",
                        v->name);
    }
    s->call.info.version = v->old_value + 1;
    return HF_OK;
}

/* The server's time, or one microsecond more than it was. */
static void add_later(const struct hf__stamp *v, struct hf__sql *sql)
{
    hf__sql_addf(sql, "IF(");
    hf__sql_name(sql, v->name);
    hf__sql_addf(sql, "<NOW(6),NOW(6),");
    hf__sql_name(sql, v->name);
    hf__sql_addf(sql, "+INTERVAL 1 MICROSECOND)");
}

void hf__stamp_add_next(const struct hf__stamp *v, struct hf__sql *sql)
{
    hf__sql_name(sql, v->name);
    hf__sql_addf(sql, "=");
    if (v->kind == HF__STAMP_NUMBER) {
        hf__sql_addf(sql, "%" PRId64, v->old_value + 1);
    } else {
        add_later(v, sql);
    }
}

void hf__stamp_add_is_old(const struct hf__stamp *v, struct hf__sql *sql)
{
    hf__sql_addf(sql, " AND ");
    hf__stamp_add_read(v, sql);
    if (v->kind == HF__STAMP_NUMBER) {
        hf__sql_addf(sql, "=%s", v->old);
    } else if (v->kind == HF__STAMP_DATETIME) {
        hf__sql_addf(sql, "='%s' AND ", v->old);
        add_later(v, sql);
        hf__sql_addf(sql, ">");
        hf__sql_name(sql, v->name);
    } else {
        hf__sql_addf(sql, "=%s AND UNIX_TIMESTAMP(", v->old);
        add_later(v, sql);
        hf__sql_addf(sql, ")>");
        hf__stamp_add_read(v, sql);
    }
}
