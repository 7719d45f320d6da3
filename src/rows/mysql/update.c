/* SPDX-License-Identifier: MIT */
/*
 * An update by version on the server. A write always changes the version, so
 * "rows changed" and "rows found" are the same number. A write whose answer is
 * lost is never sent again: whether it was done could not be told from somebody
 * else's write.
 *
 * A version that does not change with each write loses updates. So a time must
 * count microseconds, and is always made later than it was, also if the
 * server's clock stands or steps back. A TIMESTAMP is compared by its value in
 * UTC, as its text stands for two moments when summer time ends. The new value
 * is only known as text. So the statement itself refuses a new version that
 * would not be later. Thread: the caller's.
 */
#include "src/base/error.h"
#include "src/rows/mysql/ask.h"
#include "src/rows/mysql/lock.h"
#include "src/rows/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum hf__row_version_kind {
    HF__VERSION_NUMBER,
    HF__VERSION_DATETIME,
    HF__VERSION_TIMESTAMP,
};

struct hf__row_version {
    const char *name;
    enum hf__row_version_kind kind;
    int64_t largest;   /* of a number */
    char old[40];      /* as it was read */
    int64_t old_value; /* of a number */
};

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

static int fit(struct hf__rows *s, struct hf__row_version *v,
               const MYSQL_FIELD *field)
{
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        if (wholes[i].type == field->type) {
            v->kind = HF__VERSION_NUMBER;
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
    v->kind = field->type == MYSQL_TYPE_DATETIME ? HF__VERSION_DATETIME
                                                 : HF__VERSION_TIMESTAMP;
    if (field->decimals != MICROSECONDS) {
        return hf__fail(
            s->call.err, HF_EUNSAFE,
            "the version column %s has %u digits of a second, so two writes "
            "within one such part look the same and the first is overwritten: "
            "ALTER TABLE … MODIFY %s %s(6) NOT NULL",
            v->name, field->decimals, v->name,
            v->kind == HF__VERSION_DATETIME ? "DATETIME" : "TIMESTAMP");
    }
    return HF_OK;
}

/* Comparing a text with 0 would tell nothing. */
static int check_deleted(struct hf__rows *s, const MYSQL_FIELD *field)
{
    return field->type >= MYSQL_TYPE_ENUM || field->type == MYSQL_TYPE_VARCHAR
               ? hf__fail(s->call.err, HF_EINVAL,
                          "the deletion column %s is neither a number nor a "
                          "time, which is NULL or 0 in a row that is there",
                          field->name)
               : HF_OK;
}

/* Ask for the types of the version column and of the deletion column, if that
 * is not NULL. HF_OK, HF_EINVAL, HF_EUNSAFE (a time that is too coarse). */
static int row_version_find(struct hf__rows *s, struct hf__row_version *v,
                            const char *name, const char *deleted)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    const MYSQL_FIELD *fields;
    unsigned error;
    int r = HF_OK;

    *v = (struct hf__row_version){.name = name};
    /* LIMIT 0 reads nothing, so no snapshot is taken. */
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

/* Add the expression that reads the version. */
static void row_version_add_read(const struct hf__row_version *v,
                                 struct hf__sql *sql)
{
    if (v->kind == HF__VERSION_TIMESTAMP) {
        hf__sql_addf(sql, "UNIX_TIMESTAMP(");
        hf__sql_name(sql, v->name);
        hf__sql_addf(sql, ")");
    } else {
        hf__sql_name(sql, v->name);
    }
}

/* Take the version that was read. HF_OK, HF_EINVAL: no version is later. */
static int row_version_take(struct hf__rows *s, struct hf__row_version *v,
                            const char *text)
{
    if (text == NULL) {
        return hf__fail(s->call.err, HF_EINVAL,
                        "the version column %s is NULL in this row, which is "
                        "equal to nothing: make it NOT NULL",
                        v->name);
    }
    /* Checked, as the text goes into the next statement. */
    if (strlen(text) >= sizeof v->old ||
        text[strspn(text, "0123456789-:. ")] != '\0') {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server's value of the version column %s is "
                        "neither a number nor a time",
                        v->name);
    }
    memcpy(v->old, text, strlen(text) + 1);
    if (v->kind != HF__VERSION_NUMBER) {
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

/* Add the server's time, or one microsecond more than the old version. */
static void add_later(const struct hf__row_version *v, struct hf__sql *sql)
{
    hf__sql_addf(sql, "IF(");
    hf__sql_name(sql, v->name);
    hf__sql_addf(sql, "<NOW(6),NOW(6),");
    hf__sql_name(sql, v->name);
    hf__sql_addf(sql, "+INTERVAL 1 MICROSECOND)");
}

/* Add "`version`=8". */
static void row_version_add_next(const struct hf__row_version *v,
                                 struct hf__sql *sql)
{
    hf__sql_name(sql, v->name);
    hf__sql_addf(sql, "=");
    if (v->kind == HF__VERSION_NUMBER) {
        hf__sql_addf(sql, "%" PRId64, v->old_value + 1);
    } else {
        add_later(v, sql);
    }
}

/* Add " AND `version`=7". */
static void row_version_add_is_old(const struct hf__row_version *v,
                                   struct hf__sql *sql)
{
    hf__sql_addf(sql, " AND ");
    row_version_add_read(v, sql);
    if (v->kind == HF__VERSION_NUMBER) {
        hf__sql_addf(sql, "=%s", v->old);
    } else if (v->kind == HF__VERSION_DATETIME) {
        hf__sql_addf(sql, "='%s' AND ", v->old);
        add_later(v, sql);
        hf__sql_addf(sql, ">");
        hf__sql_name(sql, v->name);
    } else {
        hf__sql_addf(sql, "=%s AND UNIX_TIMESTAMP(", v->old);
        add_later(v, sql);
        hf__sql_addf(sql, ")>");
        row_version_add_read(v, sql);
    }
}

/* The columns that are read before the caller's. */
enum { VERSION, IS_DELETED, FIRST };

struct update {
    struct hf__rows *s;
    struct hf__change c;
    struct hf__row_version version;
};

/* ---- reading */

/* Add "(`deleted` IS NULL OR `deleted`=0)": the row is alive. */
static void add_is_alive(const struct update *w, struct hf__sql *sql)
{
    hf__sql_addf(sql, "(");
    hf__sql_name(sql, w->c.u.deleted);
    hf__sql_addf(sql, " IS NULL OR ");
    hf__sql_name(sql, w->c.u.deleted);
    hf__sql_addf(sql, "=0)");
}

static void add_wanted(const struct update *w, struct hf__sql *sql)
{
    row_version_add_read(&w->version, sql);
    hf__sql_addf(sql, ",");
    if (w->c.u.deleted == NULL) {
        hf__sql_addf(sql, "0");
    } else {
        hf__sql_addf(sql, "NOT ");
        add_is_alive(w, sql);
    }
    for (int i = 0; i < w->c.u.n_columns; i++) {
        hf__sql_addf(sql, ",");
        hf__sql_name(sql, w->c.u.columns[i]);
    }
}

/* Read outside of a transaction, where no lock is needed. */
static int read_plain(struct update *w, const char *wanted,
                      MYSQL_RES **ret_result)
{
    struct hf__rows *s = w->s;
    unsigned error = 0;
    int r = s->index[0] == '\0' ? hf__table_explain(s, "", &error) : HF_OK;

    if (r == HF_OK && error == 0) {
        hf__sql_clear(&s->sql);
        hf__sql_addf(&s->sql, "SELECT %s FROM ", wanted);
        hf__rows_add_table(s);
        hf__rows_add_key(s);
        error = hf__rows_send(s, ret_result);
    }
    if (r != HF_OK || error != 0) {
        return r != HF_OK ? r : hf__rows_fail(s, error);
    }
    return *ret_result != NULL && mysql_num_rows(*ret_result) == 1
               ? HF_OK
               : hf__call_gone(&s->call, "");
}

static int read_row(struct update *w, MYSQL_RES **ret_result)
{
    struct hf__sql wanted = {.bytes = NULL};
    int r;

    add_wanted(w, &wanted);
    if (wanted.is_broken) {
        r = hf__fail(w->s->call.err, HF_ENOMEM, "out of memory");
    } else {
        r = w->s->is_inside
                ? hf__lock_read(w->s, wanted.bytes, HF__WAIT, ret_result)
                : read_plain(w, wanted.bytes, ret_result);
    }
    hf__sql_fini(&wanted);
    return r;
}

/* Take the row's values for the callback. */
static int take_row(struct update *w, MYSQL_RES *result)
{
    MYSQL_ROW row = mysql_fetch_row(result);
    const unsigned long *lengths = mysql_fetch_lengths(result);
    const MYSQL_FIELD *fields = mysql_fetch_fields(result);

    if (row == NULL || row[IS_DELETED] == NULL) {
        return hf__fail(w->s->call.err, HF_EPROTO,
                        "the row of %s has no values", w->s->call.row.table);
    }
    if (row[IS_DELETED][0] != '0') {
        return hf__call_gone(&w->s->call, ": it is deleted");
    }
    for (int i = 0; i < w->c.u.n_columns; i++) {
        w->c.old[i] = hf__value_of(&fields[FIRST + i], row[FIRST + i],
                                   lengths[FIRST + i]);
    }
    return row_version_take(w->s, &w->version, row[VERSION]);
}

/* ---- writing */

static void build(struct update *w)
{
    struct hf__rows *s = w->s;
    struct hf__sql *sql = &s->sql;

    hf__sql_clear(sql);
    hf__sql_addf(sql, "UPDATE ");
    hf__rows_add_table(s);
    /* Only the reading was explained: for an UPDATE an optimizer may scan all
     * of a small table, and lock each row. */
    if (s->index[0] != '\0') {
        hf__sql_addf(sql, " FORCE INDEX(");
        hf__sql_name(sql, s->index);
        hf__sql_addf(sql, ")");
    }
    hf__sql_addf(sql, " SET ");
    for (int i = 0; i < w->c.u.n_columns; i++) {
        if (w->c.new[i].type != HF_ROW_UNSET) {
            hf__sql_name(sql, w->c.u.columns[i]);
            hf__sql_addf(sql, "=");
            hf__value_add(sql, &w->c.new[i], s->charset);
            hf__sql_addf(sql, ",");
        }
    }
    row_version_add_next(&w->version, sql);
    hf__rows_add_key(s);
    row_version_add_is_old(&w->version, sql);
    if (w->c.u.deleted != NULL) {
        hf__sql_addf(sql, " AND ");
        add_is_alive(w, sql);
    }
}

static int write_row(struct update *w)
{
    struct hf__rows *s = w->s;
    MYSQL_RES *result = NULL;
    unsigned error;

    build(w);
    error = hf__rows_send(s, &result);
    hf__result_auto(&result);
    if (error == 0) {
        return mysql_affected_rows(s->db) == 1 ? HF_OK
                                               : hf__change_conflict(&w->c);
    }
    /* In a transaction the write was undone with the connection, unless the
     * client library sent it again on a new one. */
    if (!hf__rows_may_be_done(error) ||
        (s->is_inside && mysql_thread_id(s->db) == s->thread)) {
        return hf__rows_fail(s, error);
    }
    s->is_lost = true;
    return hf__fail_native(
        s->call.err, HF_EUNKNOWN, (int)error,
        "table %s: no answer to the write (%u); it may have been done, and was "
        "not sent again: read the row on another connection",
        s->call.row.table, error);
}

/* ---- the attempts */

static int attempt(void *arg)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    struct update *w = arg;
    int r = read_row(w, &result);

    if (r == HF_OK) {
        r = take_row(w, result);
    }
    if (r == HF_OK) {
        r = hf__change_ask(&w->c);
    }
    return r == HF_OK ? write_row(w) : r;
}

/* In a transaction, a savepoint tells afterwards whether that is still open. */
static int run(struct update *w)
{
    struct hf__rows *s = w->s;
    int r;

    if (!s->is_inside) {
        return hf__change_attempts(&w->c, false, attempt, w);
    }
    r = hf__session_mark(s);
    if (r == HF_OK) {
        r = hf__change_attempts(&w->c, true, attempt, w);
        hf__session_unmark(s);
        r = hf__session_tell(s, r);
    }
    return r;
}

static int update_row(struct update *w, const hf_row_update *given)
{
    struct hf__rows *s = w->s;
    struct hf__patience patience = {.is_set = false};
    int r = hf__change_open(&w->c, given, &s->names);

    if (r == HF_OK) {
        r = hf__session_look(s);
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__patience_begin(s, &patience, w->c.u.limit_ms);
    if (r == HF_OK) {
        r = hf__table_check(s);
    }
    if (r == HF_OK) {
        r = row_version_find(s, &w->version, w->c.u.version, w->c.u.deleted);
    }
    if (r == HF_OK) {
        r = run(w);
    }
    return hf__patience_end(s, &patience, r);
}

int hf_mysql_update_versioned(MYSQL *db, const hf_row *row,
                              const hf_row_update *update,
                              hf_row_info *ret_info, hf_error *err)
{
    struct hf__rows s;
    struct update w = {.s = &s, .c = {&s.call, .u = HF_ROW_UPDATE_INIT}};
    int r;

    hf__rows_begin(&s, db, ret_info, err);
    r = hf__rows_open(&s, row);
    if (r == HF_OK) {
        r = update_row(&w, update);
    }
    return hf__rows_end(&s, r);
}
