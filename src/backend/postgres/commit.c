/* SPDX-License-Identifier: MIT */
/*
 * Writes what a decision marked. One statement does it all, and does nothing
 * unless the name's record is still the one that was read. Nobody else has
 * changed it since then, so what is in memory can be written as it is, by the
 * clock of that reading. Only joining or leaving the queue ignores other
 * changes: a claim in the queue looks again when it begins to wait. Rows to
 * delete are listed one by one: a condition on the clock could select others by
 * the time the statement runs. Called by the session's thread.
 */
#include "src/backend/postgres/fast_path.h"
#include "src/backend/table/marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The server could notify nobody: its queue is full, for some session has not
 * read from it for long. Then holders learn of breaks at their next renewal. */
#define FULL "54000"

/* ---- the statement */

#define KEY       "$1::bytea"
#define REVISION  "$2::bigint" /* as they were read */
#define FENCE     "$3::bigint"
#define LASTS     "$4::bigint" /* the change is in time until then */
#define NEW_FENCE "$5::bigint"
#define BROKEN    "$6::bigint"
#define BROKEN_OF "$7::bytea"
#define CROWD     "$8::bigint"
#define KEEP      "$9::bigint"
#define ALONE     "$10::bytea" /* the exclusive holder, '' for none */
#define BESIDE    "$11::bytea" /* a grant for holdfast_beside */
#define QUEUED    "$12::bytea" /* a new ticket */
/* The columns of that one of these three: */
#define MODE      "$13::bigint"
#define SLOTS     "$14::bigint"
#define SLOT      "$15::bigint"
#define ITS_FENCE "$16::bigint"
#define ENDS      "$17::bigint"
#define SINCE     "$18::bigint"
#define DETACHED  "$19::bigint"
#define LABEL     "$20::text"
#define HOST      "$21::text"
#define PID       "$22::bigint"
#define THREAD    "$23::text"
#define NOTE      "$24::text"
#define OWNER     LABEL "," HOST "," PID "," THREAD "," NOTE
/* Lists: */
#define GONE  "$25::bytea[]"
#define ENDED "$26::bytea[]"
#define AWAY  "$27::bigint[]"
#define TAGS  "$28::text[]"
#define BELL  "$29::bigint"

#define OWNERS "label,host,pid,thread,note"
#define BESIDES                                                                \
    "mode,slots,slot,fence,expires,acquired_at,changed_at,detached,"           \
    "ended," OWNERS
#define IF_ALONE "CASE WHEN " ALONE "<>'' THEN "
#define OF_NAME  " WHERE name_key=" KEY " AND EXISTS(SELECT 1 FROM u) AND "

static const struct hf__pg_statement change = {
    HF__PG_COMMIT,
    "WITH c AS MATERIALIZED (SELECT " HF__PG_NOW " AS n),"
    "u AS (UPDATE holdfast_lock SET revision=revision+1,"
    "fence=coalesce(" NEW_FENCE ",fence),"
    "broken=coalesce(" BROKEN ",broken),"
    "broken_token=coalesce(" BROKEN_OF ",broken_token),"
    "crowd=coalesce(" CROWD ",crowd|2),"
    "keep_until=coalesce(" KEEP ",keep_until),"
    "changed_at=CASE WHEN " FENCE " IS NULL THEN changed_at"
    " ELSE greatest(changed_at,n) END,"
    "token=coalesce(" ALONE ",token),"
    "expires=CASE WHEN " ALONE "='' THEN 0 ELSE " IF_ALONE ENDS
    " ELSE expires END END,"
    "acquired_at=" IF_ALONE SINCE " ELSE acquired_at END,"
    "detached=" IF_ALONE DETACHED " ELSE detached END,"
    "label=" IF_ALONE LABEL " ELSE label END,"
    "host=" IF_ALONE HOST " ELSE host END,"
    "pid=" IF_ALONE PID " ELSE pid END,"
    "thread=" IF_ALONE THREAD " ELSE thread END,"
    "note=" IF_ALONE NOTE " ELSE note END"
    " FROM c WHERE name_key=" KEY " AND n<" LASTS
    " AND coalesce(revision=" REVISION " AND fence=" FENCE ",true)"
    " RETURNING revision AS seq,n,"
    "CASE WHEN " BELL "<>0 THEN pg_try_advisory_lock(" BELL ") END),"
    "gone AS (DELETE FROM holdfast_beside" OF_NAME "token=ANY(" GONE ")),"
    "ended AS (UPDATE holdfast_beside SET ended=1" OF_NAME "token=ANY(" ENDED
    ")),"
    "put AS (INSERT INTO holdfast_beside(name_key,token," BESIDES ")"
    " SELECT " KEY "," BESIDE "," MODE "," SLOTS "," SLOT "," ITS_FENCE "," ENDS
    "," SINCE ",n," DETACHED ",0," OWNER " FROM u"
    " WHERE " BESIDE " IS NOT NULL"
    " ON CONFLICT (name_key,token) DO UPDATE SET (" BESIDES ")=ROW("
    "excluded.mode,excluded.slots,excluded.slot,excluded.fence,"
    "excluded.expires,excluded.acquired_at,excluded.changed_at,"
    "excluded.detached,excluded.ended,excluded.label,excluded.host,"
    "excluded.pid,excluded.thread,excluded.note)),"
    "away AS (DELETE FROM holdfast_ticket" OF_NAME "seq=ANY(" AWAY ")),"
    "queued AS (INSERT INTO holdfast_ticket(name_key,seq,token,mode,slots,"
    "since,asked," OWNERS ") SELECT " KEY ",seq," QUEUED "," MODE "," SLOTS
    ",n,n," OWNER " FROM u WHERE " QUEUED " IS NOT NULL"
    " ON CONFLICT DO NOTHING)"
    "SELECT (SELECT count(pg_notify('holdfast',tag))"
    " FROM unnest(" TAGS ") tag) FROM u"};

/* ---- its parameters */

/* What the marks say to write. */
struct writing {
    struct hf__pg *s;
    const struct hf__op *op;
    const struct hf__name *name;
    struct hf__marks marks;
    const struct hf__participant *put; /* a grant, of either table; or NULL */
    const struct hf__participant *queued; /* a new ticket, or NULL */
    const struct hf__participant *broken; /* an exclusive grant; or NULL */
    bool is_bound;                        /* not only the queue changes */
    bool lasts;    /* a lease that began before goes on */
    bool is_quiet; /* nobody is notified */
};

static bool has(const struct hf__participant *m, unsigned marks)
{
    return (m->marks & marks) != 0;
}

static void gather(struct writing *w)
{
    w->is_bound = w->name->marks != 0;
    w->lasts = w->op->kind == HF__OP_HANDOVER;
    for (int i = 0; i < w->name->grants.n; i++) {
        const struct hf__participant *g = w->name->grants.list[i];

        w->is_bound |= g->marks != 0;
        w->lasts |= has(g, HF__MARK_LEASE) && !has(g, HF__MARK_GONE);
        if (has(g, HF__MARK_BROKEN) && hf__participant_is_alone(g)) {
            w->broken = g;
        } else if (g->marks != 0 && !has(g, HF__MARK_GONE | HF__MARK_BROKEN)) {
            w->put = g;
        }
    }
    for (int i = 0; i < w->name->waiters.n; i++) {
        if (has(w->name->waiters.list[i], HF__MARK_NEW)) {
            w->queued = w->name->waiters.list[i];
        }
    }
}

static void put_if(struct hf__pg *s, bool is_given, int64_t value)
{
    if (is_given) {
        hf__pg_put_i64(s, value);
    } else {
        hf__pg_put_null(s);
    }
}

static void put_token_if(struct hf__pg *s, const struct hf__participant *m)
{
    if (m != NULL) {
        hf__pg_put_token(s, &m->token);
    } else {
        hf__pg_put_null(s);
    }
}

/* The row of holdfast_lock. */
static void put_record(const struct writing *w)
{
    const struct hf__name *name = w->name;
    struct hf__pg *s = w->s;

    hf__pg_put_key(s, &w->op->key);
    put_if(s, w->is_bound, (int64_t)s->t.name.revision);
    put_if(s, w->is_bound, (int64_t)s->t.name.fence);
    hf__pg_put_i64(s, w->lasts ? s->own_ends_us : INT64_MAX);
    put_if(s, w->is_bound, (int64_t)name->fence);
    put_if(s, w->is_bound, (int64_t)name->broken);
    put_token_if(s, w->broken);
    put_if(s, w->is_bound, w->marks.crowd);
    put_if(s, (name->marks & HF__MARK_KEEP) != 0, name->keep_until_us);
}

/* The exclusive holder. NULL leaves the columns as they are, for a holder that
 * does not change. */
static void put_alone(const struct writing *w)
{
    const struct hf__participant *holder = w->marks.holder;

    if (w->put != NULL && w->put == holder) {
        hf__pg_put_token(w->s, &holder->token);
    } else if (w->is_bound && (holder == NULL ||
                               has(holder, HF__MARK_GONE | HF__MARK_BROKEN))) {
        hf__pg_put_bytes(w->s, "", 0);
    } else {
        hf__pg_put_null(w->s);
    }
}

static void put_participant(const struct writing *w)
{
    static const struct hf__participant nobody;
    const struct hf__participant *m = w->put != NULL      ? w->put
                                      : w->queued != NULL ? w->queued
                                                          : &nobody;
    struct hf__pg *s = w->s;

    hf__pg_put_i64(s, (int64_t)m->lock_mode.mode);
    hf__pg_put_i64(s, m->lock_mode.slots);
    hf__pg_put_i64(s, m->slot);
    hf__pg_put_i64(s, (int64_t)m->fence);
    hf__pg_put_i64(s, m->ends_us);
    hf__pg_put_i64(s, m->since_us);
    hf__pg_put_i64(s, m->is_detached);
    hf__pg_put_text(s, m->owner.label);
    hf__pg_put_text(s, m->owner.host);
    hf__pg_put_i64(s, m->owner.pid);
    hf__pg_put_text(s, m->owner.thread);
    hf__pg_put_text(s, m->owner.note);
}

/* ---- lists */

/* The lists have: of grants, the tokens of those beside others, except one that
 * is also put again under its own token; of tickets, their numbers; of broken
 * grants, also the tags by which their holders are notified. */
static bool is_listed(const struct writing *w, const struct hf__participant *m,
                      unsigned mark, unsigned type)
{
    return has(m, mark) &&
           (type != HF__PG_BYTEA ||
            (!hf__participant_is_alone(m) &&
             (w->put == NULL || !hf__token_equal(&m->token, &w->put->token))));
}

static void put_listed(struct hf__pg *s, const struct hf__participant *m,
                       unsigned type)
{
    char tag[17];

    if (type == HF__PG_BYTEA) {
        hf__pg_item(s, m->token.bytes, sizeof m->token.bytes);
    } else if (type == HF__PG_INT8) {
        hf__pg_item_i64(s, (int64_t)m->fence);
    } else {
        (void)snprintf(tag, sizeof tag, "%016" PRIx64,
                       hf__token_tag(&m->token));
        hf__pg_item(s, tag, strlen(tag));
    }
}

static void put_list(const struct writing *w, const struct hf__participants *m,
                     unsigned mark, unsigned type)
{
    int n = 0;

    for (int i = 0; i < m->n; i++) {
        n += is_listed(w, m->list[i], mark, type);
    }
    hf__pg_put_array(w->s, type, n);
    for (int i = 0; i < m->n; i++) {
        if (is_listed(w, m->list[i], mark, type)) {
            put_listed(w->s, m->list[i], type);
        }
    }
}

/* ---- writing it */

static int ask_change(const struct writing *w, int64_t wake_lock)
{
    const struct hf__participants *grants = &w->name->grants;
    struct hf__pg *s = w->s;

    hf__pg_begin_packet(s);
    hf__pg_ask(s, &change);
    put_record(w);
    put_alone(w);
    put_token_if(s, w->put != w->marks.holder ? w->put : NULL);
    put_token_if(s, w->queued);
    put_participant(w);
    put_list(w, grants, HF__MARK_GONE, HF__PG_BYTEA);
    put_list(w, grants, HF__MARK_BROKEN, HF__PG_BYTEA);
    put_list(w, &w->name->waiters, HF__MARK_GONE, HF__PG_INT8);
    put_list(w, grants, w->is_quiet ? 0 : HF__MARK_BROKEN, HF__PG_TEXT);
    hf__pg_put_i64(s, wake_lock);
    return hf__pg_run(s);
}

static int write_all(struct writing *w)
{
    struct hf__pg *s = w->s;
    const struct hf__token *taker = w->marks.takes;
    int64_t wake_lock = taker == NULL ? 0 : hf__pg_wake_lock_take(s, taker);
    int r = ask_change(w, wake_lock);

    if (r == HF_OK && strcmp(s->reply.sqlstate, FULL) == 0) {
        w->is_quiet = true;
        r = ask_change(w, wake_lock);
    }
    if (r != HF_OK || s->reply.is_refused) {
        bool is_sent = r == HF_OK; /* so the wake lock may be taken */

        r = hf__pg_failed(s, w->op->err, r, HF_EUNKNOWN);
        if (wake_lock != 0 && is_sent && s->t.lost == HF_OK) {
            hf__pg_fast_unlock(s, taker);
        } else if (wake_lock != 0) {
            (void)hf__pg_wake_lock_forget(s, taker);
        }
        return r;
    }
    if (s->reply.n_rows != 1) {
        if (wake_lock != 0) {
            (void)hf__pg_wake_lock_forget(s, taker);
        }
        return HF__RACED;
    }
    if (w->marks.frees != NULL) {
        hf__pg_fast_unlock(s, w->marks.frees); /* the rows are written */
    }
    return HF_OK;
}

int hf__pg_commit(struct hf__pg *s, const struct hf__op *op,
                  struct hf__name *name)
{
    struct writing w = {.s = s, .op = op, .name = name};
    int r;

    hf__marks_read(op, name, &w.marks);
    gather(&w);
    r = write_all(&w);
    hf__name_settle(name);
    return r;
}
