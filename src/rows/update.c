/* SPDX-License-Identifier: MIT */
/*
 * Read, compute, write if the version is still the same, and again. A write
 * always changes the version, so "rows changed" and "rows found" are the same
 * number, and it does not matter which of them the client has asked for. A
 * write whose answer is lost is never sent again: that it was done could not
 * be told from somebody else's.
 */
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/base/time.h"
#include "src/rows/lock.h"
#include "src/rows/session.h"
#include "src/rows/stamp.h"
#include "src/rows/table.h"
#include "src/rows/value.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <strings.h>

enum { PAUSE_MS = 2, PAUSE_MAX_MS = 64 };
/* What is read before the caller's columns. */
enum { VERSION, IS_DELETED, FIRST };

struct update {
    struct hf__rows *s;
    hf_mysql_update u;
    struct hf__stamp version;
    hf_mysql_value old[HF_MYSQL_COLUMNS_MAX];
    hf_mysql_value new[HF_MYSQL_COLUMNS_MAX];
};

/* ---- arguments */

static int check_columns(struct update *w, bool is_utf8)
{
    hf_error *err = w->s->err;

    for (int i = 0; i < w->u.n_columns; i++) {
        const char *name = w->u.columns[i];

        if (hf__sql_check_name("column", name, is_utf8, err) != HF_OK) {
            return HF_EINVAL;
        }
        if (strcasecmp(name, w->u.version) == 0) {
            return hf__fail(err, HF_EINVAL,
                            "%s is the version column, which is written here: "
                            "leave it out of the columns",
                            name);
        }
    }
    return HF_OK;
}

static int check_limits(const hf_mysql_update *u, hf_error *err)
{
    if (u->change == NULL) {
        return hf__fail(err, HF_EINVAL, "the callback is NULL");
    }
    if (u->columns == NULL || u->n_columns < 1 ||
        u->n_columns > HF_MYSQL_COLUMNS_MAX) {
        return hf__fail(err, HF_EINVAL, "the update has %d columns: 1 to %d",
                        u->columns == NULL ? 0 : u->n_columns,
                        HF_MYSQL_COLUMNS_MAX);
    }
    if (u->retries < 0 || u->retries > HF_MYSQL_RETRIES_MAX) {
        return hf__fail(err, HF_EINVAL, "retries is %d: 0 to %d", u->retries,
                        HF_MYSQL_RETRIES_MAX);
    }
    if (u->limit_ms < 1 || u->limit_ms > HF_MYSQL_WAIT_MAX_MS) {
        return hf__fail(err, HF_EINVAL, "limit_ms is %" PRId64 ": 1 to %d",
                        u->limit_ms, HF_MYSQL_WAIT_MAX_MS);
    }
    return HF_OK;
}

static int check(struct update *w, const hf_mysql_update *given)
{
    hf_error *err = w->s->err;
    bool is_utf8 = strncmp(w->s->charset, "utf8", 4) == 0;

    if (given == NULL) {
        return hf__fail(err, HF_EINVAL, "the update is NULL");
    }
    if (hf__rows_options(&w->u, sizeof w->u, given, err) != HF_OK ||
        hf__sql_check_name("version column", w->u.version, is_utf8, err) !=
            HF_OK ||
        (w->u.deleted != NULL &&
         hf__sql_check_name("deletion column", w->u.deleted, is_utf8, err) !=
             HF_OK) ||
        check_limits(&w->u, err) != HF_OK) {
        return HF_EINVAL;
    }
    return check_columns(w, is_utf8);
}

/* ---- reading */

/* "(`deleted` IS NULL OR `deleted`=0)": the row is alive. */
static void add_is_alive(const struct update *w, struct hf__sql *sql)
{
    hf__sql_addf(sql, "(");
    hf__sql_name(sql, w->u.deleted);
    hf__sql_addf(sql, " IS NULL OR ");
    hf__sql_name(sql, w->u.deleted);
    hf__sql_addf(sql, "=0)");
}

static void add_wanted(const struct update *w, struct hf__sql *sql)
{
    hf__stamp_add_read(&w->version, sql);
    hf__sql_addf(sql, ",");
    if (w->u.deleted == NULL) {
        hf__sql_addf(sql, "0");
    } else {
        hf__sql_addf(sql, "NOT ");
        add_is_alive(w, sql);
    }
    for (int i = 0; i < w->u.n_columns; i++) {
        hf__sql_addf(sql, ",");
        hf__sql_name(sql, w->u.columns[i]);
    }
}

static int gone(const struct update *w, const char *how)
{
    return hf__fail(w->s->err, HF_MYSQL_GONE, "%s has no such row%s",
                    w->s->row.table, how);
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
               : gone(w, "");
}

static int read_row(struct update *w, MYSQL_RES **ret_result)
{
    struct hf__sql wanted = {.bytes = NULL};
    int r;

    add_wanted(w, &wanted);
    if (wanted.is_broken) {
        r = hf__fail(w->s->err, HF_ENOMEM, "out of memory");
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
        return hf__fail(w->s->err, HF_EPROTO, "the row of %s has no values",
                        w->s->row.table);
    }
    if (row[IS_DELETED][0] != '0') {
        return gone(w, ": it is deleted");
    }
    for (int i = 0; i < w->u.n_columns; i++) {
        w->old[i] = hf__value_of(&fields[FIRST + i], row[FIRST + i],
                                 lengths[FIRST + i]);
        w->new[i] = (hf_mysql_value){.type = HF_MYSQL_UNSET};
    }
    return hf__stamp_take(w->s, &w->version, row[VERSION]);
}

/* ---- writing */

static int ask_callback(struct update *w)
{
    if (w->u.change(w->u.arg, w->old, w->new) != 0) {
        return hf__fail(w->s->err, HF_MYSQL_DECLINED,
                        "the callback did not want the change; nothing was "
                        "written");
    }
    for (int i = 0; i < w->u.n_columns; i++) {
        if (w->new[i].type != HF_MYSQL_UNSET &&
            hf__sql_check_value(w->u.columns[i], &w->new[i], w->s->err) !=
                HF_OK) {
            return HF_EINVAL;
        }
    }
    return HF_OK;
}

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
    for (int i = 0; i < w->u.n_columns; i++) {
        if (w->new[i].type != HF_MYSQL_UNSET) {
            hf__sql_name(sql, w->u.columns[i]);
            hf__sql_addf(sql, "=");
            hf__sql_value(sql, &w->new[i], s->charset);
            hf__sql_addf(sql, ",");
        }
    }
    hf__stamp_add_next(&w->version, sql);
    hf__rows_add_key(s);
    hf__stamp_add_is_old(&w->version, sql);
    if (w->u.deleted != NULL) {
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
        return mysql_affected_rows(s->db) == 1
                   ? HF_OK
                   : hf__fail(s->err, HF_CONFLICT,
                              "%s: others changed the row between its reading "
                              "and its writing, %d times; nothing was written",
                              s->row.table, s->info.tries);
    }
    /* In a transaction it goes with the connection. */
    if (!hf__rows_may_be_done(error) ||
        (s->is_inside && mysql_thread_id(s->db) == s->thread)) {
        return hf__rows_fail(s, error);
    }
    s->is_lost = true;
    return hf__fail_native(
        s->err, HF_EUNKNOWN, (int)error,
        "table %s: no answer to the write (%u); it may have been done, and was "
        "not sent again: read the row on another connection",
        s->row.table, error);
}

/* ---- once, and again */

static int attempt(struct update *w)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    int r;

    w->s->info.tries++;
    r = read_row(w, &result);
    if (r == HF_OK) {
        r = take_row(w, result);
    }
    if (r == HF_OK) {
        r = ask_callback(w);
    }
    return r == HF_OK ? write_row(w) : r;
}

/* Longer each time, and by chance, so that those who met do not meet again. */
static void pause_before(int tries)
{
    int64_t most = tries < 5 ? (int64_t)PAUSE_MS << tries : PAUSE_MAX_MS;

    (void)poll(NULL, 0, (int)hf__random_between(1, most));
}

static int attempts(struct update *w)
{
    hf__time end = hf__after_ms(hf__now(), w->u.limit_ms);
    bool is_again = true;
    int r = HF_CONFLICT;

    while (is_again) {
        r = attempt(w);
        is_again = (r == HF_CONFLICT || r == HF_DEADLOCK) && !w->s->is_inside &&
                   w->s->info.tries <= w->u.retries;
        if (is_again) {
            pause_before(w->s->info.tries);
            is_again = hf__before(hf__now(), end);
        }
    }
    return r;
}

/* With the mark that tells whether a transaction lives on. */
static int run(struct update *w)
{
    struct hf__rows *s = w->s;
    int r;

    if (!s->is_inside) {
        return attempts(w);
    }
    r = hf__session_mark(s);
    if (r == HF_OK) {
        r = attempts(w);
        hf__session_unmark(s);
        r = hf__session_tell(s, r);
    }
    return r;
}

static int update_row(struct update *w, const hf_mysql_update *given)
{
    struct hf__rows *s = w->s;
    struct hf__patience patience = {.is_set = false};
    int r = check(w, given);

    if (r == HF_OK) {
        r = hf__session_look(s);
    }
    if (r != HF_OK) {
        return r;
    }
    r = hf__patience_begin(s, &patience, w->u.limit_ms);
    if (r == HF_OK) {
        r = hf__table_check(s);
    }
    if (r == HF_OK) {
        r = hf__stamp_find(s, &w->version, w->u.version, w->u.deleted);
    }
    if (r == HF_OK) {
        r = run(w);
    }
    return hf__patience_end(s, &patience, r);
}

int hf_mysql_update_versioned(MYSQL *db, const hf_mysql_row *row,
                              const hf_mysql_update *update,
                              hf_mysql_info *ret_info, hf_error *err)
{
    struct hf__rows s;
    struct update w = {.s = &s, .u = HF_MYSQL_UPDATE_INIT};
    int r;

    hf__rows_begin(&s, db, ret_info, err);
    r = hf__rows_open(&s, row);
    if (r == HF_OK) {
        r = update_row(&w, update);
    }
    return hf__rows_end(&s, r);
}
