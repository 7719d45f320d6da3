/* SPDX-License-Identifier: MIT */
/*
 * The operations of src/backend/table/wait.h as SQL: wake locks and turns are
 * advisory locks. A question is a group of its own, whose reply may take long;
 * the other groups are answered right after it. They read the rows, so that no
 * change between an answer and the next question is missed. Called by the
 * session's thread.
 */
#include "src/backend/postgres/errors.h"
#include "src/base/map.h"

#include <stdio.h>
#include <string.h>

/* A grant may have no wake lock, for a session has only so many. */
#define LOOK_MS 100
/* The server drops a waiting session that sends nothing for so long. */
#define HURRY_MS 1000

/* Columns are computed from left to right. The lock is kept if $3 is not 0. */
static const struct hf__pg_statement question = {
    HF__PG_QUESTION,
    "SELECT was_free,set_config('lock_timeout',$2::text,true),CASE WHEN "
    "NOT was_free THEN pg_advisory_lock($1::bigint)::text END,"
    "CASE WHEN $3::bigint=0 THEN pg_advisory_unlock($1::bigint) END "
    "FROM (SELECT pg_try_advisory_lock($1::bigint) AS was_free OFFSET 0) q"};

/* $1 is the lock to release (0: none); $2 is how long the server may wait for
 * the session from then on, if it has that setting. */
static const struct hf__pg_statement patience = {
    HF__PG_PATIENCE,
    "SELECT CASE WHEN $1::bigint<>0 THEN pg_advisory_unlock($1::bigint) END,"
    "CASE WHEN current_setting('idle_session_timeout',true) IS NOT NULL "
    "THEN set_config('idle_session_timeout',$2::text,false) END"};

static const struct hf__pg_statement stamp = {
    HF__PG_SEEN, "UPDATE holdfast_ticket t SET asked=" HF__PG_NOW
                 " FROM unnest($1::bytea[],$2::bytea[]) AS v(k,t) "
                 "WHERE t.name_key=v.k AND t.token=v.t"};

/* ---- keys of advisory locks; that of a grant is hf__pg_wake_lock_of()'s */

static int64_t turn_of(const struct hf__pg *s, const struct hf__key *key)
{
    return (int64_t)(hf__hash(key->bytes, key->length) ^ s->server.schema);
}

static int64_t wake_lock_of_ticket(const struct hf__token *token)
{
    return hf__pg_wake_lock_of(token) ^ HF__PG_TICKET;
}

/* ---- questions */

static int64_t lock_of(const struct hf__pg *s, const struct hf__wait_state *p,
                       enum hf__question q)
{
    if (q == HF__ASK_TURN) {
        return turn_of(s, &p->queue.key);
    }
    if (q == HF__ASK_OWN_WAKE_LOCK) {
        return wake_lock_of_ticket(&p->queue.ticket);
    }
    return p->view.is_ticket ? wake_lock_of_ticket(&p->view.wake_lock)
                             : hf__pg_wake_lock_of(&p->view.wake_lock);
}

static void put_ms(struct hf__pg *s, int64_t ms)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%lld", (long long)ms);
    hf__pg_put_text(s, text);
}

static void ask_patience(struct hf__pg *s, int64_t lock, int64_t ms)
{
    hf__pg_ask(s, &patience);
    hf__pg_put_i64(s, lock);
    put_ms(s, ms);
    hf__pg_end_group(s);
}

static void ask_question(struct hf__pg *s, const struct hf__wait_state *p,
                         enum hf__question q, int64_t ms)
{
    hf__pg_ask(s, &question);
    hf__pg_put_i64(s, lock_of(s, p, q));
    put_ms(s, ms < 1 ? 1 : ms); /* 0 would mean no limit */
    hf__pg_put_i64(s, q != HF__ASK_WAKE_LOCK);
    hf__pg_end_group(s);
    if (!p->is_short) {
        ask_patience(s, 0, HURRY_MS);
    }
}

static int ask(void *state, struct hf__wait_state *p, enum hf__question q,
               int64_t ms)
{
    struct hf__pg *s = state;
    const struct hf__key *key = &p->queue.key;

    hf__pg_begin_packet(s);
    if (q != HF__ASK_LOOK) {
        ask_question(s, p, q, ms);
    }
    hf__pg_glance(s, &key, 1);
    return hf__pg_send(s);
}

static int await(void *state, hf__time until, bool *ret_has_reply)
{
    return hf__pg_await(state, until, ret_has_reply);
}

/* HF_OK, or the status of the refusal in s->reply. */
static int judge(struct hf__pg *s, int r)
{
    return r == HF_OK && s->reply.sqlstate[0] != '\0'
               ? hf__pg_refusal(s, s->t.err)
               : r;
}

static bool is_refused_by(const struct hf__pg *s, const char *sqlstate)
{
    return strcmp(s->reply.sqlstate, sqlstate) == 0;
}

/* 55P03: the lock was not to be had in time. 40P01: this session waits in a
 * circle, so that the one it waits for wakes nobody; a wake lock then counts as
 * had. Any other refusal leaves unknown whether the lock was taken. */
static int take_answer(struct hf__pg *s, enum hf__question q,
                       struct hf__answer *ret_answer)
{
    int r = hf__pg_next(s);

    if (r == HF_OK && is_refused_by(s, "40P01")) {
        ret_answer->is_had = q == HF__ASK_WAKE_LOCK;
        return HF_OK;
    }
    if (r == HF_OK && !is_refused_by(s, "55P03")) {
        r = judge(s, r);
        ret_answer->is_had = r == HF_OK;
        ret_answer->was_free = r == HF_OK && hf__pg_i64(s, 0, 0) != 0;
    }
    return r;
}

static int hear(void *state, enum hf__question q, struct hf__answer *ret_answer)
{
    struct hf__pg *s = state;
    int r = q == HF__ASK_LOOK ? HF_OK : take_answer(s, q, ret_answer);

    r = r == HF_OK ? hf__pg_skip(s) : r;
    return judge(s, r == HF_OK ? hf__pg_look_closer(s) : r);
}

static int read_rows(void *state, struct hf__table_name *name)
{
    struct hf__pg *s = state;

    return hf__pg_name_read(s->reply.rows, name->key, name);
}

static int dead(void *state)
{
    struct hf__pg *s = state;

    s->wire.is_dead = true;
    s->wire.is_late = true;
    return hf__pg_dead(s, s->t.err);
}

/* ---- that tickets are wanted still */

/* Refresh the last-seen time of all tickets, by a group of its own. */
static void ask_seen(struct hf__pg *s, struct hf__watch *const w[], int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        count += !hf__token_is_zero(&w[i]->ticket);
    }
    if (count == 0) {
        return;
    }
    hf__pg_ask(s, &stamp);
    hf__pg_put_array(s, HF__PG_BYTEA, n);
    for (int i = 0; i < n; i++) {
        hf__pg_item(s, w[i]->key.bytes, w[i]->key.length);
    }
    hf__pg_put_array(s, HF__PG_BYTEA, n);
    for (int i = 0; i < n; i++) {
        hf__pg_item(s, w[i]->ticket.bytes, sizeof w[i]->ticket.bytes);
    }
    hf__pg_end_group(s);
}

/* The ticket's wake lock shows that its claim waits until the fresh time stamp
 * does, so it is released last. The stamp may wait for a locked row, and
 * fail. */
static int leave(void *state, struct hf__wait_state *p)
{
    struct hf__pg *s = state;
    struct hf__watch *w[1] = {&p->queue};
    int64_t lock;
    int r;

    hf__pg_begin_packet(s);
    if (p->has_own_wake_lock) {
        ask_seen(s, w, 1);
    }
    lock = p->has_turn            ? lock_of(s, p, HF__ASK_TURN)
           : p->has_own_wake_lock ? lock_of(s, p, HF__ASK_OWN_WAKE_LOCK)
                                  : 0;
    ask_patience(s, lock, 0);
    r = hf__pg_send(s);
    r = r == HF_OK && p->has_own_wake_lock ? hf__pg_next(s) : r;
    r = r == HF_OK ? hf__pg_next(s) : r;
    /* A living session would keep the lock. */
    return r == HF_OK && s->reply.is_refused ? dead(s) : r;
}

static int look(void *state, struct hf__watch *const w[], int n, bool shows)
{
    struct hf__pg *s = state;
    int r;

    hf__pg_begin_packet(s);
    hf__pg_ask_watched(s, w, n);
    hf__pg_end_group(s);
    if (shows) {
        ask_seen(s, w, n);
    }
    r = hf__pg_send(s);
    return judge(s, r == HF_OK ? hf__pg_next(s) : r);
}

static int skip(void *state)
{
    return hf__pg_skip(state);
}

/* ---- the call */

const struct hf__wait_ops hf__pg_wait_ops = {
    .ask = ask,
    .await = await,
    .hear = hear,
    .leave = leave,
    .look = look,
    .skip = skip,
    .read = read_rows,
    .dead = dead,
};

int hf__pg_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *err)
{
    struct hf__pg *s = state;

    hf__table_begin(&s->t, deadline, err);
    s->t.wait_state.look_ms = LOOK_MS;
    return hf__wait_state_wait(&s->t, w, n);
}
