/* SPDX-License-Identifier: MIT */
/*
 * SELECT ... FOR UPDATE, in a transaction of the caller's. No server reports
 * whether there is one in a way that all servers have, but a savepoint tells:
 * it lives exactly as long as its transaction, so outside of one it is gone
 * before it can be released, and after a rollback, too.
 *
 * A table is judged by SHOW CREATE TABLE, which sees temporary tables and takes
 * no snapshot on any server. A lookup is judged by EXPLAIN: a lookup by all
 * columns of a unique index is "const", which the optimizer chooses before it
 * counts any cost. If there is no row, the plan says only that; the locking
 * read that follows decides.
 *
 * Whether a server knows NOWAIT and SKIP LOCKED shows when they are used: error
 * 1064 means that it does not. That is forgotten after the call: the next may
 * come on a connection to another server. Thread: the caller's.
 */
#include "src/rows/mysql/lock.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MARK "holdfast_rows"

enum { NO_SAVEPOINT = 1305, SECOND_MS = 1000 };

int hf__session_mark(struct hf__rows *s)
{
    unsigned error = hf__rows_do(s, "SAVEPOINT " MARK);

    return error == 0 ? HF_OK : hf__rows_fail(s, error);
}

void hf__session_unmark(struct hf__rows *s)
{
    unsigned error;

    if (s->is_lost) {
        s->call.info.in_transaction = 0;
        return;
    }
    error = hf__rows_do(s, "RELEASE SAVEPOINT " MARK);
    s->call.info.in_transaction = error == 0              ? 1
                                  : error == NO_SAVEPOINT ? 0
                                                          : -1;
}

int hf__session_tell(struct hf__rows *s, int r)
{
    if (r == HF_BUSY && s->call.info.in_transaction == 0) {
        return hf__fail_native(
            s->call.err, r, 1205,
            "table %s: somebody else has the row locked, and the server has "
            "rolled the transaction back (innodb_rollback_on_timeout); begin "
            "it again",
            s->call.row.table);
    }
    return r;
}

int hf__session_look(struct hf__rows *s)
{
    int r = hf__session_mark(s);
    unsigned error;

    if (r != HF_OK) {
        return r;
    }
    error = hf__rows_do(s, "RELEASE SAVEPOINT " MARK);
    if (error != 0 && error != NO_SAVEPOINT) {
        return hf__rows_fail(s, error);
    }
    s->is_inside = error == 0;
    s->call.info.in_transaction = s->is_inside;
    return HF_OK;
}

/* Read the session's lock timeouts, and whether the server rolls back at
 * one. */
static int read_settings(struct hf__rows *s, struct hf__patience *p)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    unsigned error =
        hf__rows_run(s,
                     "SELECT @@innodb_lock_wait_timeout,@@lock_wait_timeout,"
                     "@@innodb_rollback_on_timeout",
                     &result);

    if (error != 0) {
        return hf__rows_fail(s, error);
    }
    row = result == NULL ? NULL : mysql_fetch_row(result);
    if (row == NULL || row[0] == NULL || row[1] == NULL || row[2] == NULL ||
        strlen(row[0]) >= sizeof p->row || strlen(row[1]) >= sizeof p->table) {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not tell its lock timeouts");
    }
    strncpy(p->row, row[0], sizeof p->row - 1);
    strncpy(p->table, row[1], sizeof p->table - 1);
    s->rolls_back = strcmp(row[2], "0") != 0;
    return HF_OK;
}

static unsigned set(struct hf__rows *s, const char *row, const char *table)
{
    char words[160];

    (void)snprintf(words, sizeof words,
                   "SET SESSION innodb_lock_wait_timeout=%s,"
                   "SESSION lock_wait_timeout=%s",
                   row, table);
    return hf__rows_do(s, words);
}

int hf__patience_begin(struct hf__rows *s, struct hf__patience *p,
                       int64_t wait_ms)
{
    char seconds[24];
    unsigned error;
    int r = wait_ms == HF_FOREVER ? HF_OK : read_settings(s, p);

    if (r != HF_OK || wait_ms == HF_FOREVER) {
        return r;
    }
    /* Not 0: some servers take it as no wait at all, others refuse it. */
    (void)snprintf(seconds, sizeof seconds, "%" PRId64,
                   wait_ms <= 0 ? 1 : (wait_ms + SECOND_MS - 1) / SECOND_MS);
    p->is_set = true;
    error = set(s, seconds, seconds);
    return error == 0 ? HF_OK : hf__rows_fail(s, error);
}

int hf__patience_end(struct hf__rows *s, struct hf__patience *p, int r)
{
    unsigned error = 0;

    if (!p->is_set || s->is_lost) {
        return r;
    }
    /* The second try is for a KILL QUERY that came just at the first. */
    for (int i = 0; i < 2; i++) {
        error = set(s, p->row, p->table);
        if (error == 0) {
            return r;
        }
    }
    return hf__fail_native(s->call.err, HF_EUNAVAIL, (int)error,
                           "the session's timeouts of locks could not be put "
                           "back; roll back and connect anew");
}

static const char create[] = "CREATE TABLE ";
static const char engine[] = "ENGINE=";

/* The text behind the parenthesis that ends the columns; NULL if there is none.
 * Quoted text is skipped, as a comment may say anything. */
static const char *behind_columns(const char *at)
{
    int depth = 0;
    char quote = '\0';

    for (; *at != '\0'; at++) {
        if (quote != '\0') {
            if (*at == '\\' && quote == '\'' && at[1] != '\0') {
                at++;
            } else if (*at == quote) {
                quote = '\0';
            }
        } else if (*at == '`' || *at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '(') {
            depth++;
        } else if (*at == ')' && --depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

static int judge_table(struct hf__rows *s, const char *text)
{
    const char *options;
    const char *name;
    int length = 0;

    if (strncmp(text, create, sizeof create - 1) != 0) {
        return hf__fail(s->call.err, HF_EUNSAFE,
                        "%s is a view or a temporary table: lock the row of a "
                        "table that others see, too",
                        s->call.row.table);
    }
    options = behind_columns(text);
    name = options == NULL ? NULL : strstr(options, engine);
    if (name == NULL) {
        return hf__fail(s->call.err, HF_EUNSAFE,
                        "the server does not say which engine the table %s "
                        "has: take NO_TABLE_OPTIONS out of sql_mode",
                        s->call.row.table);
    }
    name += sizeof engine - 1;
    length = (int)strcspn(name, " \n");
    if (length != 6 || strncasecmp(name, "InnoDB", 6) != 0) {
        return hf__fail(s->call.err, HF_EUNSAFE,
                        "the table %s has the engine %.*s, which can't lock "
                        "one row until a transaction ends: ALTER TABLE … "
                        "ENGINE=InnoDB",
                        s->call.row.table, length, name);
    }
    return HF_OK;
}

int hf__table_check(struct hf__rows *s)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    MYSQL_ROW row;
    unsigned error;

    hf__sql_clear(&s->sql);
    hf__sql_addf(&s->sql, "SHOW CREATE TABLE ");
    hf__rows_add_table(s);
    error = hf__rows_send(s, &result);
    if (error != 0) {
        return hf__rows_fail(s, error);
    }
    row = result == NULL ? NULL : mysql_fetch_row(result);
    if (row == NULL || mysql_num_fields(result) < 2 || row[1] == NULL) {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not describe the table %s",
                        s->call.row.table);
    }
    return judge_table(s, row[1]);
}

/* The value of that column of the plan; "" if it is NULL or missing. */
static const char *part(MYSQL_RES *plan, MYSQL_ROW row, const char *name)
{
    MYSQL_FIELD *fields = mysql_fetch_fields(plan);

    for (unsigned i = 0; i < mysql_num_fields(plan); i++) {
        if (strcasecmp(fields[i].name, name) == 0 && row[i] != NULL) {
            return row[i];
        }
    }
    return "";
}

/* Does the plan say that there is no row? These are the words of MariaDB and
 * MySQL after a lookup in a unique index, or for a value that the column cannot
 * have. */
static bool says_no_row(const char *extra)
{
    return strncmp(extra, "Impossible WHERE", 16) == 0 ||
           strcmp(extra, "no matching row in const table") == 0 ||
           strncmp(extra, "No matching rows after partition", 32) == 0;
}

static int judge_plan(struct hf__rows *s, MYSQL_RES *plan, MYSQL_ROW row)
{
    const char *type = part(plan, row, "type");
    const char *key = part(plan, row, "key");
    const char *extra = part(plan, row, "Extra");

    if (*type == '\0' && says_no_row(extra)) {
        return HF_OK;
    }
    if (strcmp(type, "const") == 0 && *key != '\0' &&
        strlen(key) < sizeof s->index) {
        (void)snprintf(s->index, sizeof s->index, "%s", key);
        return HF_OK;
    }
    return hf__fail(
        s->call.err, HF_EUNSAFE,
        "the server would not find the row of %s by a unique index, and would "
        "lock what it reads: give all columns of one, with values of their "
        "types; the plan: type=%s key=%s rows=%s Extra=%s",
        s->call.row.table, *type == '\0' ? "NULL" : type,
        *key == '\0' ? "NULL" : key, part(plan, row, "rows"), extra);
}

int hf__table_explain(struct hf__rows *s, const char *suffix,
                      unsigned *ret_error)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *plan = NULL;
    MYSQL_ROW row;

    s->index[0] = '\0';
    hf__sql_clear(&s->sql);
    hf__sql_addf(&s->sql, "EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM ");
    hf__rows_add_table(s);
    hf__rows_add_key(s);
    hf__sql_addf(&s->sql, "%s", suffix);
    *ret_error = hf__rows_send(s, &plan);
    if (*ret_error != 0) {
        return HF_OK;
    }
    row = plan == NULL ? NULL : mysql_fetch_row(plan);
    if (row == NULL || mysql_num_rows(plan) != 1) {
        return hf__fail(s->call.err, HF_EPROTO,
                        "the server does not explain the lookup in %s",
                        s->call.row.table);
    }
    return judge_plan(s, plan, row);
}

enum { SYNTAX = 1064 };

static const char *suffix_of(const struct hf__rows *s,
                             enum hf__wait_policy policy)
{
    return policy == HF__SKIP && s->knows_skip     ? " FOR UPDATE SKIP LOCKED"
           : policy != HF__WAIT && s->knows_nowait ? " FOR UPDATE NOWAIT"
                                                   : " FOR UPDATE";
}

/* Leave the refused word out of the next try; false: there was none. */
static bool learns(struct hf__rows *s, enum hf__wait_policy policy)
{
    bool *word = policy == HF__SKIP && s->knows_skip     ? &s->knows_skip
                 : policy != HF__WAIT && s->knows_nowait ? &s->knows_nowait
                                                         : NULL;

    if (word == NULL) {
        return false;
    }
    *word = false;
    return true;
}

static unsigned read_row(struct hf__rows *s, const char *columns,
                         const char *suffix, MYSQL_RES **ret_result)
{
    hf__sql_clear(&s->sql);
    hf__sql_addf(&s->sql, "SELECT %s FROM ", columns);
    hf__rows_add_table(s);
    hf__rows_add_key(s);
    hf__sql_addf(&s->sql, "%s", suffix);
    return hf__rows_send(s, ret_result);
}

/* Explain the lookup, then read. */
static int try_read(struct hf__rows *s, const char *columns,
                    enum hf__wait_policy policy, MYSQL_RES **ret_result)
{
    unsigned error;
    int r = hf__table_explain(s, suffix_of(s, policy), &error);

    while (r == HF_OK && error == SYNTAX && learns(s, policy)) {
        r = hf__table_explain(s, suffix_of(s, policy), &error);
    }
    if (r == HF_OK && error == 0) {
        error = read_row(s, columns, suffix_of(s, policy), ret_result);
    }
    if (r != HF_OK || error != 0) {
        return r != HF_OK ? r : hf__rows_fail(s, error);
    }
    if (*ret_result != NULL && mysql_num_rows(*ret_result) == 1) {
        return HF_OK;
    }
    hf__result_auto(ret_result);
    *ret_result = NULL;
    return hf__call_gone(&s->call, "");
}

int hf__lock_read(struct hf__rows *s, const char *columns,
                  enum hf__wait_policy policy, MYSQL_RES **ret_result)
{
    int r = try_read(s, columns, policy, ret_result);

    if (r != HF_ROW_GONE || policy != HF__SKIP || !s->knows_skip) {
        return r;
    }
    /* Either the row is locked or there is none. Only a read that may be
     * refused can tell, and a refusal must not cost the transaction. */
    return s->rolls_back
               ? hf__fail(s->call.err, HF_BUSY,
                          "somebody else has the row of %s locked, or there is "
                          "none",
                          s->call.row.table)
               : try_read(s, columns, HF__NOWAIT, ret_result);
}

static int lock_inside(struct hf__rows *s, const hf_row_lock_opts *o)
{
    HF_AUTO(hf__result_auto) MYSQL_RES *result = NULL;
    struct hf__patience patience = {.is_set = false};
    enum hf__wait_policy policy = o->skip_locked != 0 ? HF__SKIP
                                  : o->wait_ms == 0   ? HF__NOWAIT
                                                      : HF__WAIT;
    int r = hf__patience_begin(s, &patience, o->wait_ms);

    if (r == HF_OK) {
        r = hf__table_check(s);
    }
    if (r == HF_OK) {
        r = hf__session_mark(s);
    }
    if (r == HF_OK) {
        r = hf__lock_read(s, "1", policy, &result);
        hf__session_unmark(s);
        r = hf__session_tell(s, r);
    }
    return hf__patience_end(s, &patience, r);
}

static int lock_row(struct hf__rows *s, const hf_row_lock_opts *opts)
{
    hf_row_lock_opts o = HF_ROW_LOCK_OPTS_INIT;
    int r = hf__call_lock_opts(&o, opts, s->call.err);

    if (r == HF_OK) {
        r = hf__session_look(s);
    }
    if (r != HF_OK) {
        return r;
    }
    return s->is_inside ? lock_inside(s, &o) : hf__call_outside(&s->call);
}

int hf_mysql_lock_row(MYSQL *db, const hf_row *row,
                      const hf_row_lock_opts *opts, hf_row_info *ret_info,
                      hf_error *err)
{
    struct hf__rows s;
    int r;

    hf__rows_begin(&s, db, ret_info, err);
    r = hf__rows_open(&s, row);
    if (r == HF_OK) {
        r = lock_row(&s, opts);
    }
    return hf__rows_end(&s, r);
}
