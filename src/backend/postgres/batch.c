/* SPDX-License-Identifier: MIT */
/*
 * execute(): all operations of a form are one statement, and all forms of a
 * batch are one packet. Each form is done or undone as a whole. If one was
 * undone, its operations run again one by one, so that a row that is kept
 * locked delays no other name. Names whose operations are still open are read,
 * all at once, and the engine decides on them. fast_path.c has the statements.
 * Called by the session's thread.
 */
#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/fast_path.h"
#include "src/backend/postgres/target.h"
#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/rand.h"

/* The most operations of a chunk, and of a packet that has each alone. */
#define CHUNK   256
#define SINGLES 32
/* A locked row is waited for so long if it has held up others, or if less than
 * HURRY_MS is left: else ten times as long. */
#define IMPATIENCE "25ms"
#define HURRY_MS   500
/* With less time left no second operation is decided on, for the deadline ends
 * the session. */
#define PARTING_MS 50

static const struct hf__pg_statement hurry = {
    HF__PG_UNPREPARED,
    "SELECT set_config('lock_timeout','" IMPATIENCE "',false)"};
static const struct hf__pg_statement calm_down = {
    HF__PG_UNPREPARED, "SELECT set_config('lock_timeout','250ms',false)"};

/* ---- a packet */

static void set_results(const struct hf__pg_unit *u, int result)
{
    for (int i = 0; i < u->n; i++) {
        u->ops[i]->result = result;
    }
}

static void tell_no_memory(struct hf__pg *s, const struct hf__pg_unit *units,
                           int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < units[i].n; k++) {
            struct hf__op *op = units[i].ops[k];

            op->result = hf__pg_failed(s, op->err, HF_ENOMEM, 0);
        }
    }
}

static void ask_patience(struct hf__pg *s,
                         const struct hf__pg_statement *statement)
{
    if (s->hurries) {
        hf__pg_ask(s, statement);
        hf__pg_end_group(s);
    }
}

/* hurries: locked rows are waited for only IMPATIENCE. */
static int run(struct hf__pg *s, struct hf__pg_unit *units, int n, bool hurries)
{
    int64_t wake_locks[HF__PG_WAKE_LOCKS];
    int n_wake_locks = hf__pg_fast_forget_wake_locks(s, units, n, wake_locks);
    int r;

    s->hurries = hurries && !s->server.is_pooled; /* others share it */
    hf__pg_begin_packet(s);
    ask_patience(s, &hurry);
    for (int i = 0; i < n; i++) {
        set_results(&units[i], HF_EUNKNOWN);
        hf__pg_fast_ask(s, &units[i]);
    }
    ask_patience(s, &calm_down);
    if (n_wake_locks > 0) {
        hf__pg_fast_ask_unlock(s, wake_locks, n_wake_locks);
    }
    r = hf__pg_send(s);
    if (r == HF_ENOMEM) {
        tell_no_memory(s, units, n);
        s->hurries = false;
        return HF_OK;
    }
    r = r == HF_OK && s->hurries ? hf__pg_next(s) : r;
    for (int i = 0; i < n && r == HF_OK; i++) {
        r = hf__pg_fast_hear(s, &units[i]);
    }
    s->hurries = false;
    return r == HF_OK ? hf__pg_skip(s) : r;
}

/* ---- what the statements can do */

/* Run each operation of a refused unit alone. The refused statement may have
 * taken wake locks, which no unit knows of any more. */
static int run_alone(struct hf__pg *s, const struct hf__pg_unit *u)
{
    struct hf__pg_unit singles[SINGLES];
    int r = HF_OK;

    if (u->form >= HF__PG_FAST_HANDOVER) {
        hf__pg_fast_unlock_all(s);
    }
    if (u->n == 1 && u->ops[0]->result != HF__AGAIN) {
        return HF_OK; /* it was alone already */
    }
    for (int i = 0; i < u->n && r == HF_OK && s->t.lost == HF_OK;) {
        int n = 0;

        for (; i < u->n && n < SINGLES; i++) {
            singles[n++] = (struct hf__pg_unit){u->form, &u->ops[i], 1, false};
        }
        r = run(s, singles, n, true);
    }
    return r;
}

static int run_units(struct hf__pg *s, struct hf__pg_unit *units, int n)
{
    bool hurries = hf__ms_until(s->t.deadline, hf__now()) < HURRY_MS;
    int r = n == 0 ? HF_OK : run(s, units, n, hurries);

    for (int i = 0; i < n && r == HF_OK && s->t.lost == HF_OK; i++) {
        if (units[i].is_refused) {
            r = run_alone(s, &units[i]);
        }
    }
    return r;
}

/* A name that was busy last is likely to be still busy, so reading it first is
 * likely to be all there is to do. This is not for claims that waited: they
 * come because they were woken. */
static bool was_busy(const struct hf__pg *s, const struct hf__op *op)
{
    return op->kind == HF__OP_ACQUIRE && s->busy != 0 &&
           op->queueing != HF__QUEUE_BEHIND_SHARED &&
           s->busy == hf__hash(op->key.bytes, op->key.length);
}

/* The claim has its grant already, with its wake lock, and asks a second
 * time. */
static bool is_again(const struct hf__pg *s, const struct hf__op *op)
{
    return op->kind == HF__OP_ACQUIRE && hf__pg_wake_lock_is_had(s, &op->token);
}

static void note_busy(struct hf__pg *s, const struct hf__op *op)
{
    if (op->kind == HF__OP_ACQUIRE && op->result == HF_BUSY) {
        s->busy = hf__hash(op->key.bytes, op->key.length);
    } else if (was_busy(s, op)) {
        s->busy = 0;
    }
}

static int run_fast(struct hf__pg *s, struct hf__op *const ops[], int n)
{
    struct hf__op *sorted[CHUNK];
    struct hf__pg_unit units[HF__PG_FAST_NOT];
    int n_units = 0;
    int at = 0;

    for (int form = 0; form < HF__PG_FAST_NOT; form++) {
        struct hf__pg_unit *u = &units[n_units];

        *u =
            (struct hf__pg_unit){(enum hf__pg_form)form, &sorted[at], 0, false};
        for (int i = 0; i < n; i++) {
            if ((int)hf__pg_form_of(ops[i]) == form && !was_busy(s, ops[i]) &&
                !is_again(s, ops[i])) {
                u->ops[u->n++] = ops[i];
            }
        }
        at += u->n;
        n_units += u->n > 0;
    }
    return run_units(s, units, n_units);
}

/* ---- what they can't */

static bool is_new(const struct hf__op *op, const PGresult *seen)
{
    return op->result == HF__PG_OPEN &&
           hf__pg_form_of(op) == HF__PG_FAST_ACQUIRE &&
           !hf__pg_name_has_record(seen, &op->key);
}

/* Run the open exclusive claims whose names have no record yet. */
static int make(struct hf__pg *s, struct hf__op *const ops[], int n,
                const PGresult *seen)
{
    struct hf__op *new[CHUNK];
    struct hf__pg_unit u = {HF__PG_FAST_MAKE, new, 0, false};

    for (int i = 0; i < n; i++) {
        if (is_new(ops[i], seen)) {
            new[u.n++] = ops[i];
        }
    }
    return run_units(s, &u, u.n > 0);
}

/* Read the names of all open operations, by one statement or two. *ret_seen is
 * NULL if none is open, or if reading failed and they have that result. */
static int look_up(struct hf__pg *s, struct hf__op *const ops[], int n,
                   PGresult **ret_seen)
{
    const struct hf__key *keys[CHUNK];
    int count = 0;
    int r;

    *ret_seen = NULL;
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == HF__PG_OPEN) {
            keys[count++] = &ops[i]->key;
        }
    }
    if (count == 0) {
        return HF_OK;
    }
    hf__pg_begin_packet(s);
    hf__pg_glance(s, keys, count);
    r = hf__pg_run(s);
    r = r == HF_OK ? hf__pg_look_closer(s) : r;
    if (r == HF_OK && !s->reply.is_refused) {
        *ret_seen = s->reply.rows;
        s->reply.rows = NULL;
        return HF_OK;
    }
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == HF__PG_OPEN) {
            ops[i]->result = hf__pg_failed(s, ops[i]->err, r, HF_EUNAVAIL);
        }
    }
    return s->t.lost;
}

/* Let the engine decide one by one, beginning anywhere, so that it is not
 * always the same that go without: after the first, only while there is time.
 * What is left is surely not applied. */
static int decide(struct hf__pg *s, struct hf__op *const ops[], int n,
                  PGresult *seen)
{
    int first = (int)hf__random_between(0, n - 1);
    int done = 0;
    int r = HF_OK;

    for (int kind = HF__OP_RENEW; kind <= HF__OP_BREAK; kind++) {
        for (int i = 0; i < n && r == HF_OK; i++) {
            struct hf__op *op = ops[(first + i) % n];

            if (op->result != HF__PG_OPEN || (int)op->kind != kind) {
                continue;
            }
            if (done++ > 0 &&
                hf__ms_until(s->t.deadline, hf__now()) < PARTING_MS) {
                op->result = HF__AGAIN;
                continue;
            }
            r = hf__pg_decide(s, op, seen);
        }
    }
    return r;
}

static int run_chunk(struct hf__pg *s, struct hf__op *const ops[], int n)
{
    PGresult *seen = NULL;
    int r;

    for (int i = 0; i < n; i++) {
        ops[i]->result = HF__PG_OPEN;
    }
    r = run_fast(s, ops, n);
    r = r == HF_OK ? s->t.lost : r;
    r = r == HF_OK ? look_up(s, ops, n, &seen) : r;
    if (seen != NULL) {
        r = make(s, ops, n, seen);
        r = r == HF_OK ? s->t.lost : r;
        r = r == HF_OK ? decide(s, ops, n, seen) : r;
    }
    for (int i = 0; i < n; i++) {
        note_busy(s, ops[i]);
    }
    PQclear(seen);
    s->seen = NULL;
    return r;
}

/* The session ended before these operations had a result. */
static void close_open(struct hf__pg *s, struct hf__op *const ops[], int n)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == HF__PG_OPEN) {
            ops[i]->result = hf__pg_dead(s, ops[i]->err);
        } else if (ops[i]->result == HF_EUNKNOWN) {
            (void)hf__pg_dead(s, ops[i]->err);
        }
    }
}

int hf__pg_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__pg *s = state;
    int r;

    hf__table_begin(&s->t, deadline, err);
    r = hf__pg_look(s);
    r = r == HF_OK ? hf__wait_state_leave(&s->t) : r;
    for (int i = 0; i < n && r == HF_OK; i += CHUNK) {
        r = run_chunk(s, ops + i, n - i < CHUNK ? n - i : CHUNK);
    }
    if (r != HF_OK) {
        close_open(s, ops, n);
    }
    hf__stale_doubt(&s->t, ops, n);
    return r;
}
