/* SPDX-License-Identifier: MIT */
/*
 * This file writes to the tables what a decision marked in a name. A change is
 * a transaction that goes out as one packet, and does nothing unless the name's
 * record is as the change needs it. The grant's wake lock is taken before the
 * row says who holds the lock, and dropped after the row was freed. Rows to
 * delete are listed one by one: a condition on the clock could select others by
 * the time the statement runs. Called by the session's thread.
 */
#include "src/backend/mysql/commit.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/backend/mysql/sql.h"
#include "src/backend/table/marks.h"
#include "src/base/error.h"

/*
 * A change, in the order of its calls:
 *
 *     change_begin(&c);                      UPDATE holdfast_lock SET …
 *     hf__text_add(c.sql, ",token='',expires=0 WHERE name_key=…");
 *     change_then(&c);
 *     hf__text_add(c.sql, ";DELETE …" CHANGED);   more, only if that one
 *     r = change_send(&c);                        row was changed
 */
struct change {
    struct hf__mysql *s;
    const struct hf__op *op;
    struct hf__text *sql;
    const struct hf__token *takes; /* its wake lock is taken; or NULL */
    const struct hf__token *frees; /* its wake lock is dropped; or NULL */
    int begins_at;                 /* the number of statements before BEGIN */
    int slot; /* out: the value that a statement gave @hf_slot */
};

#define CHANGED " AND @hf=1"
/* Cancels the rest of the change unless the statement before found its one
 * row. */
#define OR_NOTHING ";SET @hf=IF(ROW_COUNT()=1,@hf,0)"

/* ---- wake locks */

static void take_wake_lock(struct hf__text *t, const struct hf__token *token)
{
    hf__text_add(t, "SET @hf_bell=");
    hf__mysql_wake_lock_take(t, token);
    hf__text_add(t, ";");
}

static void drop_wake_lock(struct hf__text *t, const struct hf__token *token,
                           const char *condition)
{
    hf__text_addf(t, ";DO IF(%s,", condition);
    hf__mysql_wake_lock_drop(t, token);
    hf__text_add(t, ",0)");
}

/* ---- the packet */

/* A Galera node that applies the cluster's writes may roll back our transaction
 * at any time. If it does so between two statements of the packet, no error is
 * reported: the rest runs on, each statement by itself, up to a COMMIT that
 * succeeds. Within a compound statement the error is reported. */
const char *hf__mysql_sql_begin(const struct hf__mysql *s)
{
    return s->server.has_compounds ? "BEGIN NOT ATOMIC START TRANSACTION;"
                                   : "BEGIN;";
}

const char *hf__mysql_sql_commit(const struct hf__mysql *s)
{
    return s->server.has_compounds ? ";COMMIT;END" : ";COMMIT";
}

/* Count the statements in t. Outside values are in it as hexadecimal literals,
 * which have no semicolon. */
static int count_statements(const struct hf__text *t)
{
    int n = 0;

    for (size_t i = 0; i < t->length; i++) {
        n += t->bytes[i] == ';';
    }
    return n;
}

void hf__mysql_wake_lock_begin_packet(struct hf__mysql *s, int *ret_replies)
{
    hf__text_clear(&s->sql);
    *ret_replies = 0;
    if (s->stale.length > 0 && !s->stale.is_broken) {
        hf__text_add(&s->sql, s->stale.bytes);
        hf__text_add(&s->sql, ";");
        *ret_replies = 1;
    }
    hf__text_clear(&s->stale); /* if it broke for lack of memory, these locks
                                  stay until the session ends */
    *ret_replies += hf__pair_guard(s);
}

void hf__mysql_packet_begin(struct hf__mysql *s)
{
    int64_t left_ms = hf__ms_until(s->t.deadline, hf__now());
    bool is_patient =
        left_ms > 1500 * HF__LOCK_WAIT_S || !s->server.has_zero_wait;
    int patience_s = is_patient ? HF__LOCK_WAIT_S : 0;
    int replies;

    s->sent_at = hf__now();
    hf__mysql_wake_lock_begin_packet(s, &replies);
    if (s->lock_wait_s != patience_s) {
        s->lock_wait_s = patience_s;
        hf__text_addf(&s->sql, "SET SESSION innodb_lock_wait_timeout=%d;",
                      patience_s);
    }
}

/* Begin the packet, up to "SET revision=revision+1". takes and frees must be
 * set before. */
static void change_begin(struct change *c)
{
    c->sql = &c->s->sql;
    hf__mysql_packet_begin(c->s);
    if (!c->s->t.has_wake_locks) {
        c->takes = NULL;
        c->frees = NULL;
    }
    if (c->takes != NULL) {
        take_wake_lock(c->sql, c->takes);
    }
    c->begins_at = count_statements(c->sql);
    hf__text_add(c->sql, hf__mysql_sql_begin(c->s));
    hf__text_add(c->sql, "UPDATE holdfast_lock SET revision=revision+1");
}

/* End that statement. The next ones begin with ";" and have CHANGED in their
 * condition. */
static void change_then(struct change *c)
{
    hf__text_add(c->sql, ";SET @hf=ROW_COUNT()");
}

static int undo(struct change *c)
{
    int r;

    hf__text_clear(c->sql);
    hf__text_add(c->sql, "ROLLBACK");
    if (c->takes != NULL) {
        drop_wake_lock(c->sql, c->takes, "@hf_bell=1");
    }
    r = hf__wire_run(c->s);
    return r == HF_OK && c->s->reply.error != 0 ? hf__mysql_dead(c->s) : r;
}

int hf__mysql_refused(struct hf__mysql *s, hf_error *err, int r, int if_lost)
{
    enum hf__error_class class;

    s->lock_wait_s = -1; /* the statement that sets it may not have run */
    if (r == HF_ENOMEM) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (r != HF_OK) {
        (void)hf__mysql_fail(s, err);
        s->t.lost = r;
        return if_lost;
    }
    class = hf__mysql_error_class(s->reply.error);
    r = hf__mysql_refusal(s, err);
    switch (class) {
    case HF__ERROR_AGAIN:
        return hf__mysql_is_worth_another(s) ? HF__AGAIN : r;
    case HF__ERROR_BATCH:
    case HF__ERROR_SERVER:
        return r;
    case HF__ERROR_UNKNOWN:
        break;
    }
    s->t.lost = hf__mysql_dead(s);
    return if_lost;
}

/* The statement `at` was refused, or its answer did not come (r). A failure
 * before the commit, or before the compound statement that ends with it, is
 * sure to have applied nothing. */
static int fail(struct change *c, int at, int commit_at, int r)
{
    struct hf__mysql *s = c->s;
    hf_error *err = c->op->err;
    bool is_late = at > commit_at ||
                   (at == commit_at &&
                    hf__mysql_error_class(s->reply.error) != HF__ERROR_AGAIN);
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

static int run(struct change *c, int commit_at)
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

/* HF_OK: it is written. HF__RACED: nothing is written, since somebody else was
 * quicker. Else the operation's result. */
static int change_send(struct change *c)
{
    struct hf__mysql *s = c->s;
    MYSQL_ROW row;
    int commit_at;
    int r;

    commit_at =
        s->server.has_compounds ? c->begins_at : count_statements(c->sql) + 1;
    hf__text_add(c->sql, hf__mysql_sql_commit(s));
    if (c->takes != NULL) {
        drop_wake_lock(c->sql, c->takes, "@hf<>1 AND @hf_bell=1");
    }
    if (c->frees != NULL) {
        drop_wake_lock(c->sql, c->frees, "@hf=1");
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

/* "expires=…,…": renew the lease. A statement that was delayed never shortens a
 * lease that was renewed since. */
static void sql_prolong(struct hf__text *t, int64_t lease_us)
{
    hf__text_addf(t,
                  "expires=IF(" HF__SQL_NOW ">=changed_at," HF__SQL_NOW
                  "+%lld,GREATEST(expires," HF__SQL_NOW "+%lld)),"
                  "changed_at=GREATEST(changed_at," HF__SQL_NOW ")",
                  (long long)lease_us, (long long)lease_us);
}

/* "name_key=… AND token=…" */
static void sql_own(struct hf__text *t, const struct hf__key *key,
                    const struct hf__token *token)
{
    hf__text_add(t, "name_key=");
    hf__text_key(t, key);
    hf__text_add(t, " AND token=");
    hf__text_token(t, token);
}

static void add_key(struct change *c, const char *before, const char *after)
{
    hf__text_add(c->sql, before);
    hf__text_key(c->sql, &c->op->key);
    hf__text_add(c->sql, after);
}

/* ---- the name's own row */

static void set_owner(struct hf__text *t, const struct hf__participant *g)
{
    hf__text_add(t, ",");
    hf__mysql_owner_set(t, &g->owner);
}

/* Set the columns of a holder that has, or had, the name alone. The server sets
 * columns from left to right, and later ones see the new values of earlier
 * ones. Returns true if changed_at is set. */
static bool set_holder(struct change *c, const struct hf__participant *g)
{
    struct hf__text *t = c->sql;
    long long lease_us = c->op->lease_us;

    if ((g->marks & HF__MARK_NEW) != 0) {
        hf__text_addf(t, ",acquired_at=" HF__SQL_NOW ",detached=%d,token=",
                      (int)g->is_detached);
        hf__text_token(t, &g->token);
        hf__text_addf(t, ",expires=" HF__SQL_NOW "+%lld", lease_us);
        set_owner(t, g);
    } else if ((g->marks & HF__MARK_GONE) != 0) {
        hf__text_add(t, hf__op_is_own_only(c->op) ? ",freed=token" : "");
        hf__text_add(t, ",token='',expires=0");
    } else if ((g->marks & HF__MARK_BROKEN) != 0) {
        hf__text_addf(t, ",token='',expires=0,broken=%llu",
                      (unsigned long long)g->fence);
    } else if ((g->marks & HF__MARK_LEASE) != 0) {
        hf__text_add(t, ",");
        sql_prolong(t, lease_us);
        if ((g->marks & HF__MARK_OWNER) != 0) {
            hf__text_addf(t, ",acquired_at=" HF__SQL_NOW ",detached=%d",
                          (int)g->is_detached);
            set_owner(t, g);
        } else if (g->is_detached) {
            hf__text_add(t, ",detached=1");
        }
        return true;
    }
    return false;
}

static void set_name(struct change *c, const struct hf__name *name,
                     const struct hf__participant *holder)
{
    struct hf__text *t = c->sql;
    bool is_touched = holder != NULL && set_holder(c, holder);

    if ((name->marks & HF__MARK_FENCE) != 0) {
        hf__text_addf(t, ",fence=%llu", (unsigned long long)name->fence);
    }
    if ((name->marks & HF__MARK_KEEP) != 0 && name->keep_until_us > 0) {
        hf__text_addf(t, ",keep_until=" HF__SQL_NOW "+%lld",
                      (long long)(name->keep_until_us - name->now_us));
    } else if ((name->marks & HF__MARK_KEEP) != 0) {
        hf__text_add(t, ",keep_until=0");
    }
    if ((name->marks & HF__MARK_TOUCHED) != 0 && !is_touched) {
        hf__text_add(t, ",changed_at=GREATEST(changed_at," HF__SQL_NOW ")");
    }
}

static void add_condition(struct change *c, const struct hf__marks *m)
{
    if (m->is_whole) {
        hf__text_addf(c->sql, " AND revision=%llu AND fence=%llu",
                      (unsigned long long)c->s->t.name.revision,
                      (unsigned long long)c->s->t.name.fence);
    }
    if (m->is_own) {
        hf__text_add(c->sql, " AND token=");
        hf__text_token(c->sql, &c->op->token);
    }
    if (m->has_holders) {
        hf__text_addf(c->sql, " AND crowd&%d", HF__HAS_HOLDERS);
    }
    hf__text_add(c->sql, m->must_run ? " AND expires>" HF__SQL_NOW : "");
}

/* ---- rows of the other tables */

/* Write "…IN(…" for the next of several rows. */
static void add_next(struct change *c, int i, const char *statement,
                     const char *column)
{
    if (i > 0) {
        hf__text_add(c->sql, ",");
        return;
    }
    add_key(c, statement, CHANGED);
    hf__text_addf(c->sql, " AND %s IN(", column);
}

/* Change the rows of those holders that have this mark and share the name with
 * others. */
static void change_several(struct change *c, const struct hf__name *name,
                           unsigned mark, const char *statement)
{
    const struct hf__participant *last = NULL;
    int n = 0;

    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if ((g->marks & mark) != 0 && !hf__participant_is_alone(g)) {
            add_next(c, n++, statement, "token");
            hf__text_token(c->sql, &g->token);
            last = g;
        }
    }
    hf__text_add(c->sql, n > 0 ? ")" : "");
    if (n > 0 && hf__op_is_own_only(c->op)) {
        hf__text_addf(c->sql, " AND ended=%d" OR_NOTHING,
                      (int)(last->state == HF__PARTICIPANT_BROKEN));
    }
}

static void leave_queue(struct change *c, const struct hf__name *name)
{
    int n = 0;

    for (int i = 0; i < name->waiters.n; i++) {
        const struct hf__participant *t = name->waiters.list[i];

        if ((t->marks & HF__MARK_GONE) != 0) {
            add_next(c, n++,
                     ";DELETE FROM holdfast_ticket WHERE name_key=", "seq");
            hf__text_addf(c->sql, "%llu", (unsigned long long)t->fence);
        }
    }
    hf__text_add(c->sql, n > 0 ? ")" : "");
}

static void put_grant(struct change *c, const struct hf__participant *g)
{
    add_key(c,
            ";INSERT INTO holdfast_beside(name_key,token,fence,mode,slots,"
            "slot,expires,acquired_at,changed_at,detached,ended,"
            "label,host,pid,thread,note) SELECT ",
            ",");
    hf__text_token(c->sql, &g->token);
    hf__text_addf(c->sql,
                  ",%llu,%d,%d,%d," HF__SQL_NOW "+%lld," HF__SQL_NOW
                  "," HF__SQL_NOW ",%d,0,",
                  (unsigned long long)g->fence, (int)g->lock_mode.mode,
                  g->lock_mode.slots, g->slot, (long long)c->op->lease_us,
                  (int)g->is_detached);
    hf__mysql_owner_values(c->sql, &g->owner);
    hf__text_add(c->sql, " FROM DUAL WHERE @hf=1");
}

static void where_own(struct change *c, const struct hf__participant *g,
                      const char *condition)
{
    hf__text_add(c->sql, " WHERE ");
    sql_own(c->sql, &c->op->key, &g->token);
    hf__text_add(c->sql, condition);
}

static void prolong_grant(struct change *c, const struct hf__participant *g)
{
    hf__text_add(c->sql, ";UPDATE holdfast_beside SET ");
    sql_prolong(c->sql, c->op->lease_us);
    if ((g->marks & HF__MARK_OWNER) != 0) {
        hf__text_addf(c->sql, ",acquired_at=" HF__SQL_NOW ",detached=%d",
                      (int)g->is_detached);
        set_owner(c->sql, g);
    } else if (g->is_detached) {
        hf__text_add(c->sql, ",detached=1");
    }
    where_own(c, g,
              CHANGED " AND ended=0 AND expires>" HF__SQL_NOW "" OR_NOTHING);
    hf__text_add(c->sql, ";SET @hf_slot=(SELECT slot FROM holdfast_beside");
    where_own(c, g, ")");
}

static void raise_grant(struct change *c, const struct hf__participant *g)
{
    hf__text_addf(c->sql, ";UPDATE holdfast_beside SET fence=%llu",
                  (unsigned long long)g->fence);
    where_own(c, g, CHANGED);
}

static void change_grants(struct change *c, const struct hf__name *name)
{
    change_several(c, name, HF__MARK_GONE,
                   ";DELETE FROM holdfast_beside WHERE name_key=");
    change_several(c, name, HF__MARK_BROKEN,
                   ";UPDATE holdfast_beside SET ended=1 WHERE name_key=");
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        if (hf__participant_is_alone(g) || (g->marks & HF__MARK_GONE) != 0) {
            continue;
        }
        if ((g->marks & HF__MARK_NEW) != 0) {
            put_grant(c, g);
        } else if ((g->marks & HF__MARK_LEASE) != 0) {
            prolong_grant(c, g);
        } else if ((g->marks & HF__MARK_FENCE) != 0) {
            raise_grant(c, g);
        }
    }
}

/* Add a ticket at the end of the queue, behind everybody who is in it when the
 * statement runs. */
static void join_queue(struct change *c, const struct hf__participant *t)
{
    add_key(c,
            ";INSERT INTO holdfast_ticket(name_key,seq,token,mode,slots,"
            "since,asked,label,host,pid,thread,note) SELECT ",
            ",GREATEST(COALESCE(MAX(seq),0)+1,(SELECT l.revision "
            "FROM holdfast_lock l WHERE l.name_key=");
    add_key(c, "", ")),");
    hf__text_token(c->sql, &t->token);
    hf__text_addf(c->sql, ",%d,%d," HF__SQL_NOW "," HF__SQL_NOW ",",
                  (int)t->lock_mode.mode, t->lock_mode.slots);
    hf__mysql_owner_values(c->sql, &t->owner);
    add_key(c, " FROM holdfast_ticket WHERE name_key=", " HAVING @hf=1");
}

static void change_waiters(struct change *c, const struct hf__name *name)
{
    leave_queue(c, name);
    for (int i = 0; i < name->waiters.n; i++) {
        const struct hf__participant *t = name->waiters.list[i];

        if ((t->marks & HF__MARK_NEW) != 0) {
            join_queue(c, t);
        }
    }
}

/* Others may have changed the rest meanwhile, so look up what is left. */
static void mark_crowd(struct change *c)
{
    add_key(c,
            ";UPDATE holdfast_lock SET crowd=IF(EXISTS(SELECT 1 FROM "
            "holdfast_beside b WHERE b.name_key=",
            "),");
    hf__text_addf(c->sql, "%d,0)|IF(EXISTS(SELECT 1 FROM holdfast_ticket t ",
                  HF__HAS_HOLDERS);
    add_key(c, "WHERE t.name_key=", "),");
    hf__text_addf(c->sql, "%d,0)", HF__HAS_WAITERS);
    add_key(c, " WHERE name_key=", CHANGED);
}

/* ---- the whole change */

int hf__mysql_commit(struct hf__mysql *s, const struct hf__op *op,
                     int *ret_slot)
{
    struct hf__name *name = &s->t.name.name;
    struct change c = {.s = s, .op = op};
    struct hf__marks m;
    int r;

    hf__marks_read(op, name, &m);
    c.takes = m.takes;
    c.frees = m.frees;
    change_begin(&c);
    set_name(&c, name, m.holder);
    if (m.is_whole) {
        hf__text_addf(c.sql, ",crowd=%u", m.crowd);
    } else if (!hf__op_is_own_only(op)) {
        hf__text_addf(c.sql, ",crowd=crowd|%d", HF__HAS_WAITERS);
    }
    add_key(&c, " WHERE name_key=", "");
    add_condition(&c, &m);
    change_then(&c);
    change_grants(&c, name);
    change_waiters(&c, name);
    if (op->kind == HF__OP_RELEASE) {
        mark_crowd(&c);
    }
    r = change_send(&c);
    if (r == HF_OK && ret_slot != NULL) {
        *ret_slot = c.slot;
    }
    hf__name_settle(name);
    return r;
}
