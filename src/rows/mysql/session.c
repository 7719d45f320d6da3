/* SPDX-License-Identifier: MIT */
/*
 * Whether there is a transaction no server says in a way that all have, and a
 * MYSQL's server_status lies elsewhere in each client library. A savepoint
 * tells: it lives exactly as long as its transaction, so outside of one it is
 * gone before it can be released, and after a rollback, too.
 */
#include "src/rows/mysql/session.h"

#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* What the session waits by, and what the server does then. */
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
    /* Not 0: to some servers that is no time, to others it is refused. */
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
    /* The second time for whoever's KILL QUERY came just then. */
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
