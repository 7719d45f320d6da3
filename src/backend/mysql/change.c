/* SPDX-License-Identifier: MIT */
/*
 * Sending a change, and what its answer says. The grant's bell is taken
 * before the row says who holds it, and let go of after it says so no more:
 * whoever waits for it never finds it free while there is nothing new.
 * Called by the session's thread.
 */
#include "src/backend/mysql/change.h"

#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/base/error.h"

/* ---- bells */

static void take_bell(struct hf__text *t, const struct hf__token *token)
{
    hf__text_add(t, "SET @hf_bell=");
    hf__bell_take(t, token);
    hf__text_add(t, ";");
}

static void drop_bell(struct hf__text *t, const struct hf__token *token,
                      const char *condition)
{
    hf__text_addf(t, ";DO IF(%s,", condition);
    hf__bell_drop(t, token);
    hf__text_add(t, ",0)");
}

/* ---- the packet */

/* On a node of Galera, what is applied may undo a transaction of ours at any
 * time, and one that has just run tells nobody if more of the packet follows:
 * that goes on, each statement by itself, to a COMMIT that is well. Within a
 * compound statement it is told. */
const char *hf__mysql_sql_begin(const struct hf__mysql *s)
{
    return s->server.has_compounds ? "BEGIN NOT ATOMIC START TRANSACTION;"
                                   : "BEGIN;";
}

const char *hf__mysql_sql_commit(const struct hf__mysql *s)
{
    return s->server.has_compounds ? ";COMMIT;END" : ";COMMIT";
}

/* How many statements come before: what goes into one from outside goes in as
 * hexadecimals, which have no semicolon. */
static int count_statements(const struct hf__text *t)
{
    int n = 0;

    for (size_t i = 0; i < t->length; i++) {
        n += t->bytes[i] == ';';
    }
    return n;
}

void hf__mysql_packet_begin(struct hf__mysql *s)
{
    int64_t left_ms = hf__ms_until(s->t.deadline, hf__now());
    bool is_patient =
        left_ms > 1500 * HF__LOCK_WAIT_S || !s->server.has_zero_wait;
    int patience_s = is_patient ? HF__LOCK_WAIT_S : 0;
    int replies;

    s->sent_at = hf__now();
    hf__bell_begin_packet(s, &replies);
    if (s->lock_wait_s != patience_s) {
        s->lock_wait_s = patience_s;
        hf__text_addf(&s->sql, "SET SESSION innodb_lock_wait_timeout=%d;",
                      patience_s);
    }
}

void hf__mysql_change_begin(struct hf__mysql_change *c)
{
    c->sql = &c->s->sql;
    hf__mysql_packet_begin(c->s);
    if (!c->s->t.has_bells) {
        c->takes = NULL;
        c->frees = NULL;
    }
    if (c->takes != NULL) {
        take_bell(c->sql, c->takes);
    }
    c->begins_at = count_statements(c->sql);
    hf__text_add(c->sql, hf__mysql_sql_begin(c->s));
    hf__text_add(c->sql, "UPDATE holdfast_lock SET revision=revision+1");
}

void hf__mysql_change_then(struct hf__mysql_change *c)
{
    hf__text_add(c->sql, ";SET @hf=ROW_COUNT()");
}

static int undo(struct hf__mysql_change *c)
{
    int r;

    hf__text_clear(c->sql);
    hf__text_add(c->sql, "ROLLBACK");
    if (c->takes != NULL) {
        drop_bell(c->sql, c->takes, "@hf_bell=1");
    }
    r = hf__wire_run(c->s);
    return r == HF_OK && c->s->reply.error != 0 ? hf__mysql_dead(c->s) : r;
}

int hf__mysql_refused(struct hf__mysql *s, hf_error *err, int r, int if_lost)
{
    enum hf__blame blame;

    s->lock_wait_s = -1; /* the statement that sets it may not have run */
    if (r == HF_ENOMEM) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (r != HF_OK) {
        (void)hf__mysql_fail(s, err);
        s->t.lost = r;
        return if_lost;
    }
    blame = hf__mysql_blame(s->reply.error);
    r = hf__mysql_refusal(s, err);
    switch (blame) {
    case HF__BLAME_AGAIN:
        return hf__mysql_is_worth_another(s) ? HF__AGAIN : r;
    case HF__BLAME_BATCH:
    case HF__BLAME_SERVER:
        return r;
    case HF__BLAME_UNKNOWN:
        break;
    }
    s->t.lost = hf__mysql_dead(s);
    return if_lost;
}

/* The statement `at` was refused, or its answer did not come (r). What comes
 * before the commit, or the compound that ends with it, was surely not
 * applied. */
static int fail(struct hf__mysql_change *c, int at, int commit_at, int r)
{
    struct hf__mysql *s = c->s;
    hf_error *err = c->op->err;
    bool is_late =
        at > commit_at ||
        (at == commit_at && hf__mysql_blame(s->reply.error) != HF__BLAME_AGAIN);
    int result;

    if (r == HF_OK && is_late) {
        (void)hf__mysql_fail(s, err);
        s->t.lost = hf__mysql_dead(s);
        return HF_EUNKNOWN;
    }
    result =
        hf__mysql_refused(s, err, r, r == HF_OK ? HF_EUNAVAIL : HF_EUNKNOWN);
    if (s->t.lost == HF_OK && result != HF_ENOMEM) {
        s->t.lost = undo(c);
    }
    return result;
}

static int run(struct hf__mysql_change *c, int commit_at)
{
    struct hf__mysql *s = c->s;
    int r = hf__wire_send(s);
    int at = 0;

    while (r == HF_OK && s->reply.error == 0 && !s->reply.is_last) {
        r = hf__wire_next(s);
        at++;
    }
    return r != HF_OK || s->reply.error != 0 ? fail(c, at, commit_at, r)
                                             : HF_OK;
}

int hf__mysql_change_send(struct hf__mysql_change *c)
{
    struct hf__mysql *s = c->s;
    MYSQL_ROW row;
    int commit_at;
    int r;

    commit_at =
        s->server.has_compounds ? c->begins_at : count_statements(c->sql) + 1;
    hf__text_add(c->sql, hf__mysql_sql_commit(s));
    if (c->takes != NULL) {
        drop_bell(c->sql, c->takes, "@hf<>1 AND @hf_bell=1");
    }
    if (c->frees != NULL) {
        drop_bell(c->sql, c->frees, "@hf=1");
    }
    hf__text_add(c->sql, ";SELECT @hf,@hf_slot");
    r = run(c, commit_at);
    if (r != HF_OK) {
        return r;
    }
    row = hf__wire_row(s);
    c->slot = row != NULL ? (int)hf__column_i64(row[1]) : -1;
    return row != NULL && hf__column_i64(row[0]) == 1 ? HF_OK : HF__RACED;
}

/* ---- columns */

void hf__mysql_sql_prolong(struct hf__text *t, int64_t lease_us)
{
    hf__text_addf(t,
                  "expires=IF(" HF__SQL_NOW ">=changed_at," HF__SQL_NOW
                  "+%lld,GREATEST(expires," HF__SQL_NOW "+%lld)),"
                  "changed_at=GREATEST(changed_at," HF__SQL_NOW ")",
                  (long long)lease_us, (long long)lease_us);
}

void hf__mysql_sql_own(struct hf__text *t, const struct hf__key *key,
                       const struct hf__token *token)
{
    hf__text_add(t, "name_key=");
    hf__text_key(t, key);
    hf__text_add(t, " AND token=");
    hf__text_token(t, token);
}
