/* SPDX-License-Identifier: MIT */
/*
 * Writing what a decision changed of a name into the running transaction: its
 * own row, the marked rows of grants beside others and of tickets, and the side
 * effects outside the database, which are done once the commit is answered.
 * Called by the session's thread, with SQLite's write lock held.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/sqlite/transaction.h"

#include <string.h>

/* ---- rows of their own */

static bool has_own_row(const struct hf__participant *g)
{
    return g->lock_mode.mode != HF__MODE_EXCLUSIVE;
}

static const char *side_of(const struct hf__sqlite *s,
                           const struct hf__participant *g)
{
    return g != NULL && g->life != 0 ? s->life : NULL;
}

/* An unchanged lease is not written: it may be of another clock. */
static struct hf__value lease_of(const struct hf__participant *g)
{
    if (g == NULL) {
        return hf__value_of(0);
    }
    return (g->marks & HF__MARK_LEASE) != 0 ? hf__value_of(g->ends_us)
                                            : hf__value_of_text(NULL);
}

static int write_grant(struct hf__sqlite *s, const struct hf__key *key,
                       const struct hf__participant *g)
{
    if ((g->marks & HF__MARK_GONE) != 0) {
        return HF__SQL_RUN(s, HF__SQL_HOLDERS_LEAVE, hf__value_of_key(key),
                           hf__value_of_token(&g->token));
    }
    if ((g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) == 0) {
        return HF__SQL_RUN(s, HF__SQL_HOLDERS_CHANGE, hf__value_of_key(key),
                           hf__value_of_token(&g->token),
                           hf__value_of((int64_t)g->fence), lease_of(g),
                           hf__value_of(!g->is_detached),
                           hf__value_of(g->state == HF__PARTICIPANT_BROKEN));
    }
    return HF__SQL_RUN(
        s, HF__SQL_HOLDERS_PUT, hf__value_of_key(key),
        hf__value_of_token(&g->token), hf__value_of((int64_t)g->fence),
        hf__value_of(g->lock_mode.mode), hf__value_of(g->lock_mode.slots),
        hf__value_of(g->slot), hf__value_of(g->ends_us),
        hf__value_of(s->now_us), hf__value_of_text(s->local.boot),
        hf__value_of_text(side_of(s, g)), hf__value_of(g->since_us),
        HF__VALUES_OF_OWNER(&g->owner));
}

static int write_ticket(struct hf__sqlite *s, const struct hf__key *key,
                        const struct hf__participant *t)
{
    if ((t->marks & HF__MARK_GONE) != 0) {
        return HF__SQL_RUN(s, HF__SQL_WAITERS_LEAVE, hf__value_of_key(key),
                           hf__value_of_token(&t->token));
    }
    return HF__SQL_RUN(
        s, HF__SQL_WAITERS_JOIN, hf__value_of_key(key),
        hf__value_of_token(&t->token), hf__value_of(t->lock_mode.mode),
        hf__value_of(t->lock_mode.slots), hf__value_of_text(s->local.boot),
        hf__value_of_text(s->life), hf__value_of(t->since_us),
        hf__value_of(s->now_us), HF__VALUES_OF_OWNER(&t->owner));
}

/* ---- the name's own row */

static int64_t keep_us_of(const struct hf__name *name)
{
    return name->keep_until_us > 0 ? name->keep_until_us - name->now_us : 0;
}

static int put_name(struct hf__sqlite *s, const struct hf__key *key,
                    const struct hf__participant *g)
{
    static const struct hf__participant nobody;
    const struct hf__name *name = &s->name;
    int64_t keep_us = keep_us_of(name);

    return HF__SQL_RUN(
        s, HF__SQL_PUT, hf__value_of_key(key),
        hf__value_of((int64_t)name->fence),
        g != NULL ? hf__value_of_token(&g->token) : hf__value_of_text(NULL),
        hf__value_of(g != NULL ? g->ends_us : 0),
        hf__value_of(name->now_us + keep_us), hf__value_of(keep_us),
        hf__value_of_text(s->local.boot), hf__value_of_text(side_of(s, g)),
        hf__value_of(name->wall_us), hf__value_of((int64_t)name->broken),
        HF__VALUES_OF_OWNER(g != NULL ? &g->owner : &nobody.owner),
        hf__value_of(s->has_holders), hf__value_of(s->has_waiters));
}

/* has_moved: rows of the other tables came or went. */
static int change_name(struct hf__sqlite *s, const struct hf__key *key,
                       const struct hf__participant *g, bool has_moved)
{
    const struct hf__name *name = &s->name;
    int64_t keep_us = keep_us_of(name);
    bool is_touched = (name->marks & HF__MARK_TOUCHED) != 0;

    return HF__SQL_RUN(
        s, HF__SQL_CHANGE, hf__value_of_key(key),
        hf__value_of((int64_t)name->fence), hf__value_of((int64_t)name->broken),
        hf__value_of(g != NULL), hf__value_of(g != NULL && !g->is_detached),
        lease_of(g), hf__value_of((name->marks & HF__MARK_KEEP) != 0),
        hf__value_of(keep_us), hf__value_of(name->now_us + keep_us),
        hf__value_of(is_touched ? name->wall_us : 0), hf__value_of(has_moved));
}

/* Called after the other rows were written, as this row says whether there are
 * any. */
static int write_name(struct hf__sqlite *s, const struct hf__key *key,
                      bool has_moved)
{
    const struct hf__participant *g = hf__name_holder(&s->name);
    unsigned marks = g != NULL ? g->marks : 0;
    bool has_change = has_moved || s->name.marks != 0;
    int rc = SQLITE_OK;

    for (int i = 0; i < s->name.grants.n; i++) {
        has_change |= !has_own_row(s->name.grants.list[i]) &&
                      s->name.grants.list[i]->marks != 0;
    }
    if (s->has_row && (marks & (HF__MARK_NEW | HF__MARK_OWNER)) == 0) {
        return has_change ? change_name(s, key, g, has_moved) : SQLITE_OK;
    }
    rc = put_name(s, key, g);
    /* Set the columns that say whether the other tables have rows of it. */
    return rc == SQLITE_OK && has_moved
               ? HF__SQL_RUN(s, HF__SQL_MARK, hf__value_of_key(key))
               : rc;
}

/* ---- what this process holds */

/* One change wakes this many; each of them wakes more if they may enter too. */
#define HEADS 4

static int note(struct hf__sqlite *s, enum hf__side_effect_kind kind,
                const struct hf__participant *g)
{
    return hf__side_effects_note(
        s, &(struct hf__side_effect){.kind = kind,
                                     .token = g->token,
                                     .life = g->life,
                                     .ends_us = g->ends_us});
}

/* Remember a grant that ends with this process before its record can be
 * seen. */
static int hold(struct hf__sqlite *s, const struct hf__op *op,
                const struct hf__participant *g)
{
    bool is_new = false;

    if (g->life == 0) {
        return note(s, HF__EFFECT_LET_GO, g);
    }
    if (hf__held_add(&s->local.side->held, &op->key, &g->token, g->ends_us,
                     &is_new) != HF_OK) {
        return SQLITE_NOMEM;
    }
    if (is_new && note(s, HF__EFFECT_HELD, g) != SQLITE_OK) {
        hf__held_remove(&s->local.side->held, NULL, &g->token);
        return SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

static int note_grant(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__participant *g)
{
    int rc = SQLITE_OK;

    if ((g->marks & HF__MARK_GONE) != 0) {
        /* Keep it if the same token has another grant now, which is
         * remembered. */
        return hf__participants_find(&s->name.grants, &g->token) != NULL
                   ? SQLITE_OK
                   : note(s, HF__EFFECT_LET_GO, g);
    }
    if ((g->marks & HF__MARK_BROKEN) != 0) {
        rc = note(s, HF__EFFECT_LET_GO, g);
        return rc == SQLITE_OK ? note(s, HF__EFFECT_BROKEN, g) : rc;
    }
    if ((g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0) {
        return hold(s, op, g);
    }
    if ((g->marks & HF__MARK_LEASE) != 0) {
        return note(s, g->is_detached ? HF__EFFECT_LET_GO : HF__EFFECT_EXTEND,
                    g);
    }
    return rc;
}

/* ---- all that is marked */

/* Gone rows are written first, as one may come back under the same token. */
static int write_rows(struct hf__sqlite *s, const struct hf__op *op,
                      bool those_gone, bool *ret_has_moved)
{
    const struct hf__name *name = &s->name;
    int rc = SQLITE_OK;

    for (int i = 0; i < name->grants.n && rc == SQLITE_OK; i++) {
        const struct hf__participant *g = name->grants.list[i];
        bool is_gone = (g->marks & HF__MARK_GONE) != 0;

        if (g->marks == 0 || is_gone != those_gone) {
            continue;
        }
        rc = note_grant(s, op, g);
        if (rc == SQLITE_OK && has_own_row(g)) {
            rc = write_grant(s, &op->key, g);
            *ret_has_moved |= is_gone || (g->marks & HF__MARK_NEW) != 0;
        }
    }
    for (int i = 0; i < name->waiters.n && rc == SQLITE_OK; i++) {
        const struct hf__participant *t = name->waiters.list[i];
        bool is_gone = (t->marks & HF__MARK_GONE) != 0;

        if (t->marks != 0 && is_gone == those_gone) {
            rc = write_ticket(s, &op->key, t);
            *ret_has_moved = true;
        }
    }
    return rc;
}

/* ---- waking */

static int note_of(struct hf__sqlite *s, enum hf__side_effect_kind kind,
                   const struct hf__op *op)
{
    return hf__side_effects_note(
        s, &(struct hf__side_effect){.kind = kind, .op = op});
}

/* Wake the first in the queue that may enter, up to the first that may not. */
static int ring_heads(struct hf__sqlite *s)
{
    struct hf__contenders contenders;
    int rc = hf__contenders_make(&contenders, &s->name, NULL) == HF_OK
                 ? SQLITE_OK
                 : SQLITE_NOMEM;
    int slot = -1;

    for (int i = 0; rc == SQLITE_OK && i < contenders.all.n_waiters &&
                    i < HEADS && !hf__name_is_kept(&s->name);
         i++) {
        const struct hf__contender *head = &contenders.all.waiters[i];
        enum hf__entry entry = hf__may_enter(&contenders.all, &head->token,
                                             head->lock_mode, &slot);

        if (entry == HF__ENTRY_HELD || entry == HF__ENTRY_PROMISED) {
            break;
        }
        rc = hf__side_effects_note(
            s, &(struct hf__side_effect){.kind = HF__EFFECT_NOTIFY,
                                         .token = head->token});
    }
    hf__contenders_free(&contenders);
    return rc;
}

/* Where there is a queue, waiters outside it are not woken: they look again by
 * themselves. */
static int note_wakes(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__outcome *out)
{
    bool is_waiters = hf__name_is_awaited(&s->name, NULL);
    int rc = SQLITE_OK;

    if (out->is_taken || (out->wakes && is_waiters)) {
        rc = note_of(s, HF__EFFECT_TAKEN, op);
    }
    if (rc != SQLITE_OK || !out->wakes) {
        return rc;
    }
    if (is_waiters) {
        return ring_heads(s);
    }
    return note_of(s,
                   op->kind == HF__OP_ACQUIRE &&
                           op->lock_mode.mode == HF__MODE_SHARED
                       ? HF__EFFECT_OPENED
                       : HF__EFFECT_FREED,
                   op);
}

int hf__sqlite_commit(void *state, const struct hf__op *op,
                      struct hf__name *name, struct hf__outcome *out)
{
    struct hf__sqlite *s = state;
    bool has_moved = false;

    if ((name->marks & HF__MARK_FENCE) != 0 &&
        !hf__fence_may_be(s, name->fence)) {
        s->rc = HF__SQLITE_RAISE_FIRST;
        return HF__ABORTED;
    }
    s->rc = write_rows(s, op, true, &has_moved);
    if (s->rc == SQLITE_OK) {
        s->rc = write_rows(s, op, false, &has_moved);
    }
    if (s->rc == SQLITE_OK) {
        s->rc = write_name(s, &op->key, has_moved);
    }
    if (s->rc == SQLITE_OK) {
        hf__name_settle(name);
        s->rc = note_wakes(s, op, out);
    }
    return s->rc == SQLITE_OK ? HF_OK : HF__ABORTED;
}

/* ---- in one statement */

int hf__sqlite_commit_fast(struct hf__sqlite *s, const struct hf__op *op,
                           struct hf__outcome *out, bool *ret_is_done)
{
    struct hf__participant own = {.token = op->token,
                                  .ends_us = s->now_us + op->lease_us};
    bool is_renewal = op->kind == HF__OP_RENEW;
    int rc;

    *ret_is_done = false;
    if (op->lock_mode.mode != HF__MODE_EXCLUSIVE ||
        (!is_renewal && op->kind != HF__OP_RELEASE)) {
        return SQLITE_OK;
    }
    /* A release needs no clock: the owner may always release. */
    rc = is_renewal
             ? HF__SQL_RUN(
                   s, HF__SQL_RENEW, hf__value_of(own.ends_us),
                   hf__value_of_key(&op->key), hf__value_of_token(&op->token),
                   hf__value_of(s->now_us), hf__value_of_text(s->local.boot),
                   hf__value_of(op->is_detached))
             : HF__SQL_RUN(s, HF__SQL_FREE, hf__value_of(op->reopens),
                           hf__value_of(s->wall_us), hf__value_of_key(&op->key),
                           hf__value_of_token(&op->token));
    if (rc != SQLITE_OK || sqlite3_changes(s->db->handle) == 0) {
        return rc;
    }
    *ret_is_done = true;
    *out = (struct hf__outcome){.result = HF_OK, .slot = -1};
    rc = note(s,
              is_renewal && !op->is_detached ? HF__EFFECT_EXTEND
                                             : HF__EFFECT_LET_GO,
              &own);
    return rc == SQLITE_OK && !is_renewal ? note_of(s, HF__EFFECT_FREED, op)
                                          : rc;
}
