/* SPDX-License-Identifier: MIT */
/*
 * SELECT … FOR UPDATE. What a server knows of NOWAIT and SKIP LOCKED is known
 * by what it says to them: the statement is right but for these words, so 1064
 * means that it does not know them. What is learned is forgotten with the
 * call: the next may come on a connection to another server.
 */
#include "src/rows/mysql/lock.h"

#include "src/base/error.h"
#include "src/rows/mysql/session.h"
#include "src/rows/mysql/table.h"

enum { SYNTAX = 1064 };

static const char *suffix_of(const struct hf__rows *s, enum hf__manner manner)
{
    return manner == HF__SKIP && s->knows_skip     ? " FOR UPDATE SKIP LOCKED"
           : manner != HF__WAIT && s->knows_nowait ? " FOR UPDATE NOWAIT"
                                                   : " FOR UPDATE";
}

/* Something is left out of the next try. */
static bool learns(struct hf__rows *s, enum hf__manner manner)
{
    bool *word = manner == HF__SKIP && s->knows_skip     ? &s->knows_skip
                 : manner != HF__WAIT && s->knows_nowait ? &s->knows_nowait
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

/* Explains, and reads. */
static int try_read(struct hf__rows *s, const char *columns,
                    enum hf__manner manner, MYSQL_RES **ret_result)
{
    unsigned error;
    int r = hf__table_explain(s, suffix_of(s, manner), &error);

    while (r == HF_OK && error == SYNTAX && learns(s, manner)) {
        r = hf__table_explain(s, suffix_of(s, manner), &error);
    }
    if (r == HF_OK && error == 0) {
        error = read_row(s, columns, suffix_of(s, manner), ret_result);
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
                  enum hf__manner manner, MYSQL_RES **ret_result)
{
    int r = try_read(s, columns, manner, ret_result);

    if (r != HF_ROW_GONE || manner != HF__SKIP || !s->knows_skip) {
        return r;
    }
    /* Somebody has it, or it is not there: that only a read tells which may
     * be refused, and a refusal must not cost the transaction. */
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
    enum hf__manner manner = o->skip_locked != 0 ? HF__SKIP
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
        r = hf__lock_read(s, "1", manner, &result);
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
