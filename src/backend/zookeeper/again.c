/* SPDX-License-Identifier: MIT */
/*
 * ACQUIRE of a claim of which something is known: it waits, or is granted and
 * asked for again, or the answer to its making was lost. What may stand there
 * is looked for by its token, behind a sync, and believed only if this very
 * session made it. A slot that it may have is given up, and another taken.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/steps.h"

/* ---- what stands there already */

static void take_again(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;
    int rc = last > 0 ? hf__zk_rc(t, 0) : ZOK;

    if (rc == ZNONODE) {
        hf__zk_start_anew(t);
    } else if (!hf__zk_shows_life(rc)) {
        hf__zk_fail_at(t, 0, t->own.name);
    } else if (hf__zk_see(t, last)) {
        hf__zk_decide(t);
    }
}

void hf__zk_look_again(struct hf__zk_task *t)
{
    int i = hf__zk_add(t, HF__ZK_LIST, NULL);

    t->requests[i].changes = true; /* the claim stands, or may */
    hf__zk_then(t, take_again);
}

/* A grant is asked for again: that the session lives, and the claim with it, is
 * shown by a write. */
static void prove_again(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_PROOF, t->own.name);
    hf__zk_look_again(t);
}

static void take_called(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 1);

    if (hf__zk_is_gone(t, 1, t->own.name) && hf__zk_see(t, 0)) {
        t->mark = a->rc == ZOK ? (uint64_t)a->stat.mzxid : 0;
        hf__zk_decide(t);
    }
}

/* A claim that waited and was called says at once that it has entered, behind
 * the listing that has to show that it may; if it may not, it waits as before,
 * and says so again. */
static void enter_as_called(struct hf__zk_task *t)
{
    t->own.stage = HF__ZK_STANDING;
    t->own.is_called = false;
    hf__zk_remember(t);
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_write(t, HF__ZK_HOLDS);
    hf__zk_then(t, take_called);
}

/* ---- what may stand there */

static void consider(struct hf__zk_task *t, int from);

static void take_candidate(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 0);
    const char *name = t->line.claims[t->candidate].name;

    if (!hf__zk_is_gone(t, 0, name)) {
        return;
    }
    if (a->rc == ZOK &&
        a->stat.ephemeralOwner == hf__zk_session(&t->s->front)) {
        hf__zk_note_name(t, name);
        hf__zk_decide(t);
    } else {
        consider(t, t->candidate + 1);
    }
}

/* Those with the token, one after the other; there is hardly one. */
static void consider(struct hf__zk_task *t, int from)
{
    t->candidate = hf__zk_line_find_token(&t->line, from, &t->op->token);
    if (t->candidate < 0) {
        hf__zk_start_anew(t);
    } else {
        hf__zk_add(t, HF__ZK_EXISTS, t->line.claims[t->candidate].name);
        hf__zk_then(t, take_candidate);
    }
}

/* The slots that it may have had are given up, and another is taken. */
static void take_giving_up(struct hf__zk_task *t)
{
    if (hf__zk_are_gone(t, t->n_asked)) {
        t->own.is_slot_doubtful = false;
        hf__zk_remember(t);
        hf__zk_look_again(t);
    }
}

static void take_found(struct hf__zk_task *t)
{
    if (!hf__zk_see_search(t)) {
        return;
    }
    if (t->own.stage == HF__ZK_DOUBTFUL) {
        consider(t, 0);
    } else if (hf__zk_add_sweep(t, true) > 0) {
        hf__zk_then(t, take_giving_up);
    } else {
        t->own.is_slot_doubtful = false;
        hf__zk_remember(t);
        hf__zk_decide(t);
    }
}

void hf__zk_again(struct hf__zk_task *t)
{
    if (hf__zk_is_simple(t)) {
        hf__zk_simple_again(t);
    } else if (t->own.stage == HF__ZK_DOUBTFUL || t->own.is_slot_doubtful) {
        hf__zk_add_search(t);
        hf__zk_then(t, take_found);
    } else if (t->own.is_called && t->own.manner.mode != HF__MODE_SLOTS) {
        enter_as_called(t);
    } else if (t->own.stage == HF__ZK_GRANTED) {
        prove_again(t);
    } else {
        hf__zk_look_again(t);
    }
}
