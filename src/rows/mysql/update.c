/* SPDX-License-Identifier: MIT */
/*
 * An update by version on the server. A write always changes the version, so
 * "rows changed" and "rows found" are the same number, and it does not matter
 * which of them the client has asked for. A write whose answer is lost is never
 * sent again: that it was done could not be told from somebody else's.
 */
#include "src/base/error.h"
#include "src/rows/change.h"
#include "src/rows/mysql/lock.h"
#include "src/rows/mysql/session.h"
#include "src/rows/mysql/stamp.h"
#include "src/rows/mysql/table.h"
#include "src/rows/mysql/value.h"

/* What is read before the caller's columns. */
enum { VERSION, IS_DELETED, FIRST };

struct update {
    struct hf__rows *s;
    struct hf__change c;
    struct hf__stamp version;
};

/* ---- reading */

/* "(`deleted` IS NULL OR `deleted`=0)": the row is alive. */
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
    hf__stamp_add_read(&w->version, sql);
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

/* Outside of a transaction, where nothing has to be locked. */
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

/* The row as the callback will see it. */
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
    return hf__stamp_take(w->s, &w->version, row[VERSION]);
}

/* ---- writing */

static void build(struct update *w)
{
    struct hf__rows *s = w->s;
    struct hf__sql *sql = &s->sql;

    hf__sql_clear(sql);
    hf__sql_addf(sql, "UPDATE ");
    hf__rows_add_table(s);
    /* What was explained is the reading: for an UPDATE an optimizer may go
     * through all of a small table, and lock each row. */
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
    hf__stamp_add_next(&w->version, sql);
    hf__rows_add_key(s);
    hf__stamp_add_is_old(&w->version, sql);
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
    /* In a transaction it goes with the connection. */
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

/* ---- once, and again */

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

/* With the mark that tells whether a transaction lives on. */
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
        r = hf__stamp_find(s, &w->version, w->c.u.version, w->c.u.deleted);
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
