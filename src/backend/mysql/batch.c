/* SPDX-License-Identifier: MIT */
/*
 * execute(): a batch is divided into units, each of which the server does or
 * undoes as one; all go out as one packet. This file decides what is known of
 * each operation after each step that can fail. A unit that failed is run again
 * in halves, so that one row that somebody keeps locked does not fail the other
 * names. fast_path.c has the statements, and slow_path.c does names with more
 * than one holder. Called by the session's thread.
 */
#include "src/backend/mysql/commit.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/fast_path.h"
#include "src/backend/mysql/sql.h"
#include "src/base/error.h"

#include <string.h>

/* The most operations at once; each may be a unit of its own. */
#define PLAN_MAX 256

struct plan {
    struct hf__op *ops[PLAN_MAX]; /* sorted by kind, likeness and key */
    struct hf__unit units[PLAN_MAX];
    int n_units;
};

/* ---- which operations go into one statement */

/* Is it for the fast path, as far as the operation tells? The row must show
 * that the name has one holder at most. */
static bool is_fast(const struct hf__op *op)
{
    switch (op->kind) {
    case HF__OP_HANDOVER:
        return true;
    case HF__OP_RENEW:
    case HF__OP_RELEASE:
    case HF__OP_ACQUIRE:
        return op->lock_mode.mode == HF__MODE_EXCLUSIVE;
    case HF__OP_INSPECT:
        return op->ret_participants == NULL;
    case HF__OP_RAISE:
    case HF__OP_BREAK:
        break;
    }
    return false;
}

static enum hf__form form_of(enum hf__op_kind kind)
{
    switch (kind) {
    case HF__OP_RENEW:
        return HF__FORM_RENEW;
    case HF__OP_RELEASE:
        return HF__FORM_RELEASE;
    case HF__OP_HANDOVER:
        return HF__FORM_HANDOVER;
    case HF__OP_ACQUIRE:
        return HF__FORM_ACQUIRE;
    case HF__OP_INSPECT:
    case HF__OP_RAISE:
    case HF__OP_BREAK:
        break;
    }
    return HF__FORM_INSPECT;
}

/* Make a unit of all operations that are like the first, and remove them. */
static void cut_alike(struct plan *p, struct hf__op *ops[], int n, int *at)
{
    struct hf__op *first = ops[0];
    struct hf__unit *unit = &p->units[p->n_units++];

    *unit = (struct hf__unit){form_of(first->kind), &p->ops[*at], 0};
    for (int i = 0; i < n; i++) {
        bool is_alike =
            i == 0 || (ops[i] != NULL && ops[i]->kind == first->kind &&
                       hf__fast_are_alike(first, ops[i]));

        if (is_alike) {
            p->ops[(*at)++] = ops[i];
            unit->n++;
            ops[i] = NULL;
        }
    }
}

/* Make units of the operations for the fast path, in the order of kinds that
 * the contract names. */
static void plan_make(struct plan *p, struct hf__op *const ops[], int n)
{
    struct hf__op *left[PLAN_MAX];
    int at = 0;

    p->n_units = 0;
    for (int i = 0; i < n; i++) {
        left[i] = is_fast(ops[i]) ? ops[i] : NULL;
    }
    for (int kind = HF__OP_RENEW; kind <= HF__OP_BREAK; kind++) {
        for (int i = 0; i < n; i++) {
            if (left[i] != NULL && left[i]->kind == (enum hf__op_kind)kind) {
                cut_alike(p, left + i, n - i, &at);
            }
        }
    }
}

/* Bytes that all statements of a packet may share, and bytes that one operation
 * adds at most besides its names. */
#define PACKET_ROOM 6000
#define OP_ROOM     2000
/* In this time before the deadline no second operation of the slow path is
 * begun, since running into the deadline ends the session. */
#define PARTING_MS 50

/* ---- results */

static void set_results(const struct hf__unit *u, int result)
{
    for (int i = 0; i < u->n; i++) {
        u->ops[i]->result = result;
    }
}

/* The reply was lost, so it is unknown what was applied. */
static void forget(const struct hf__unit *units, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < units[i].n; k++) {
            struct hf__op *op = units[i].ops[k];

            if (op->result == HF__OPEN) {
                op->result =
                    op->kind == HF__OP_INSPECT ? HF_EUNAVAIL : HF_EUNKNOWN;
            } else if (op->result == HF__UNDONE) {
                op->result = HF_EUNAVAIL;
            }
        }
    }
}

static int tell_failure(struct hf__mysql *s, const struct hf__unit *u)
{
    enum hf__error_class class = hf__mysql_error_class(s->reply.error);
    bool goes_again = class == HF__ERROR_AGAIN && hf__mysql_is_worth_another(s);

    for (int i = 0; i < u->n; i++) {
        struct hf__op *op = u->ops[i];
        int r;

        if (!hf__fast_is_open(op)) {
            continue;
        }
        r = hf__mysql_refusal(s, op->err);
        op->result = goes_again ? HF__AGAIN : r;
        if (op->kind == HF__OP_ACQUIRE) {
            hf__mysql_wake_lock_leave(s, &op->token);
        }
    }
    return class == HF__ERROR_UNKNOWN ? hf__mysql_dead(s) : HF_OK;
}

/* ---- a packet */

static int run(struct hf__mysql *s, const struct hf__unit *units, int n);

/* May a statement of the unit wait for a row that somebody has locked? Not if
 * other operations would wait with it, nor longer than this call has time. */
static int patience_of(const struct hf__mysql *s, const struct hf__unit *u)
{
    int64_t left_ms = hf__ms_until(s->t.deadline, hf__now());
    bool is_patient = left_ms > 1500 * HF__LOCK_WAIT_S && u->n == 1;

    return is_patient || !s->server.has_zero_wait ? HF__LOCK_WAIT_S : 0;
}

static int set_patience(struct hf__mysql *s, const struct hf__unit *u)
{
    int patience_s = patience_of(s, u);

    if (patience_s == s->lock_wait_s) {
        return 0;
    }
    s->lock_wait_s = patience_s;
    hf__text_addf(&s->sql, "SET SESSION innodb_lock_wait_timeout=%d;",
                  patience_s);
    return 1;
}

/* The unit failed because of one of its operations. Halves are halved again:
 * the recursion is as deep as the unit's size has bits. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static int halve(struct hf__mysql *s, const struct hf__unit *u)
{
    int half = u->n / 2;
    struct hf__unit halves[2] = {{u->form, u->ops, half},
                                 {u->form, u->ops + half, u->n - half}};

    return run(s, halves, 2);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static int refused(struct hf__mysql *s, const struct hf__unit *u)
{
    enum hf__error_class class = hf__mysql_error_class(s->reply.error);

    s->lock_wait_s = -1; /* the statement that sets it may not have run */
    if (u->n > 1 && u->ops[0]->result == HF__OPEN &&
        (class == HF__ERROR_AGAIN || class == HF__ERROR_BATCH)) {
        return halve(s, u);
    }
    return tell_failure(s, u);
}

/* Take the replies of one unit. *ret_refused: it was refused, and the replies
 * after it were not read. */
static int hear(struct hf__mysql *s, const struct hf__unit *u, int first,
                int replies, bool *ret_refused)
{
    int r = HF_OK;

    *ret_refused = false;
    for (int i = 0; i < first + replies; i++) {
        if (s->reply.error != 0 && i > first + hf__fast_writes_at(s, u)) {
            forget(u, 1); /* the write was done; the result of the read after it
                             is not known */
        }
        if (s->reply.error != 0) {
            *ret_refused = true;
            return HF_OK;
        }
        if (i >= first) {
            hf__fast_hear(s, u, i - first);
        }
        if (!s->reply.is_last) {
            r = hf__wire_next(s);
        }
        if (r != HF_OK) {
            return r;
        }
    }
    return HF_OK;
}

/* Send the units as one packet. *ret_done is the number of units that were
 * dealt with: if one was refused, it is the last of them. */
static int send(struct hf__mysql *s, const struct hf__unit *units, int n,
                int *ret_done, bool *ret_refused)
{
    int first[PLAN_MAX];
    int replies[PLAN_MAX];
    int r;

    hf__mysql_wake_lock_begin_packet(s, &first[0]);
    for (int i = 0; i < n; i++) {
        first[i] = (i == 0 ? first[0] : 0) + set_patience(s, &units[i]);
        replies[i] = hf__fast_ask(s, &units[i]);
        set_results(&units[i], HF__OPEN);
    }
    s->sent_at = hf__now();
    r = hf__wire_send(s);
    *ret_refused = false;
    for (*ret_done = 0; r == HF_OK && *ret_done < n && !*ret_refused;
         (*ret_done)++) {
        r = hear(s, &units[*ret_done], first[*ret_done], replies[*ret_done],
                 ret_refused);
    }
    return r;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static int run(struct hf__mysql *s, const struct hf__unit *units, int n)
{
    int r = HF_OK;

    while (n > 0 && r == HF_OK) {
        bool is_refused = false;
        int done = 0;

        r = send(s, units, n, &done, &is_refused);
        for (int i = 0; s->sql.is_broken && i < n; i++) {
            set_results(&units[i], HF_ENOMEM); /* nothing was sent */
        }
        if (r != HF_OK) {
            forget(units, n);
            return r;
        }
        for (int i = done; i < n; i++) {
            set_results(&units[i], HF_EUNAVAIL);
        }
        if (is_refused) {
            r = refused(s, &units[done - 1]);
        }
        units += done;
        n -= done;
    }
    return r;
}

/* ---- operations that are still open */

/* Read the rows of a unit whose statement did not write all of them. */
static int look_at(struct hf__mysql *s, const struct hf__unit *u)
{
    int r;

    hf__text_clear(&s->sql);
    hf__fast_ask_rows(s, u->ops, u->n);
    r = hf__wire_send(s);
    if (r != HF_OK) {
        forget(u, 1);
        return r;
    }
    if (s->reply.error != 0) {
        forget(u, 1); /* some of the unit may have been written */
        return hf__mysql_error_class(s->reply.error) == HF__ERROR_UNKNOWN
                   ? hf__mysql_dead(s)
                   : HF_OK;
    }
    hf__fast_hear_rows(s, u);
    return HF_OK;
}

static bool is_any_open(const struct hf__unit *u)
{
    for (int i = 0; i < u->n; i++) {
        if (hf__fast_is_open(u->ops[i])) {
            return true;
        }
    }
    return false;
}

/* An operation that ACQUIRE left open needs another statement, which costs
 * more. In a unit of several, read the rows first: most were granted, or are
 * held by others. */
static int acquire_rest(struct hf__mysql *s, const struct hf__unit *u)
{
    struct hf__op *rest[PLAN_MAX];
    struct hf__unit again = {HF__FORM_ACQUIRE_ANY, rest, 0};
    int r = u->n > 1 ? look_at(s, u) : HF_OK;

    for (int i = 0; i < u->n && r == HF_OK; i++) {
        if (hf__fast_is_open(u->ops[i])) {
            rest[again.n++] = u->ops[i];
        }
    }
    return again.n > 0 ? run(s, &again, 1) : r;
}

static int follow_up(struct hf__mysql *s, const struct hf__unit *u)
{
    if (!is_any_open(u)) {
        return HF_OK;
    }
    return u->form == HF__FORM_ACQUIRE ? acquire_rest(s, u) : look_at(s, u);
}

static bool is_left_for_slow(const struct hf__op *op, enum hf__op_kind kind)
{
    return op->kind == kind && (op->result == HF__SLOW || !is_fast(op));
}

/* Run the slow operations one by one, and after the first only while there is
 * time. The rest is surely not applied; each call begins with another one, so
 * that it is not always the same that are left. */
static int run_slow(struct hf__mysql *s, struct hf__op *const ops[], int n)
{
    int first = (int)(s->n_slow++ % (unsigned)n);
    int done = 0;
    int r = HF_OK;

    for (int kind = HF__OP_RENEW; kind <= HF__OP_BREAK; kind++) {
        for (int i = 0; i < n && r == HF_OK; i++) {
            struct hf__op *op = ops[(first + i) % n];

            if (!is_left_for_slow(op, (enum hf__op_kind)kind)) {
                continue;
            }
            if (done > 0 &&
                hf__ms_until(s->t.deadline, hf__now()) < PARTING_MS) {
                op->result = HF__AGAIN;
                continue;
            }
            op->result = HF_EUNAVAIL;
            r = hf__mysql_slow(s, op);
            done++;
        }
    }
    return r;
}

static int run_chunk(struct hf__mysql *s, struct hf__op *const ops[], int n)
{
    struct plan p;
    int r;

    plan_make(&p, ops, n);
    r = run(s, p.units, p.n_units);
    for (int i = 0; i < p.n_units && r == HF_OK; i++) {
        r = follow_up(s, &p.units[i]);
    }
    if (r != HF_OK) {
        forget(p.units, p.n_units);
    }
    return r == HF_OK ? run_slow(s, ops, n) : r;
}

static void close_undecided(struct hf__op *const ops[], int n)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == HF__SLOW) {
            ops[i]->result = HF_EUNAVAIL;
        }
    }
}

/* Key and owner are written in hexadecimal and read back. */
static size_t room_for(const struct hf__op *op)
{
    size_t room = OP_ROOM + 4 * (size_t)op->key.length;

    if (op->owner != NULL) {
        room += 2 * (strlen(op->owner->label) + strlen(op->owner->host) +
                     strlen(op->owner->thread) + strlen(op->owner->note));
    }
    return room;
}

/* Returns how many of the n fit into a packet that the server takes; one at
 * least. */
static int count_fitting(const struct hf__mysql *s, struct hf__op *const ops[],
                         int n)
{
    size_t room = PACKET_ROOM;
    int count = 0;

    while (count < n && count < PLAN_MAX) {
        room += room_for(ops[count]);
        if (count > 0 && room > s->server.packet_max) {
            break;
        }
        count++;
    }
    return count;
}

int hf__mysql_execute(void *state, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;
    int r;
    int count;

    hf__table_begin(&s->t, deadline, err);
    r = hf__wire_look(s);
    if (r == HF_OK) {
        r = hf__wait_state_leave(&s->t);
    }
    for (int i = 0; i < n && r == HF_OK; i += count) {
        count = count_fitting(s, ops + i, n - i);
        r = run_chunk(s, ops + i, count);
    }
    close_undecided(ops, n);
    hf__stale_doubt(&s->t, ops, n);
    return r;
}
