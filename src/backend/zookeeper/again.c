/* SPDX-License-Identifier: MIT */
/*
 * ACQUIRE of a claim of which something is known: it waits, or is granted and
 * asked for again, or the answer to its making was lost. What may stand there
 * is looked for by its token, behind a sync, and believed only if this very
 * session made it. A slot that it may have is given up, and another taken.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/task.h"

/* ---- what stands there already */

/* A grant is asked for again: that the session lives, and the claim with it, is
 * shown by a write, which is to fail, for only the leader knows. */
static void ask_again(struct hf__zk_task *t)
{
    if (t->n_calls == 2) {
        hf__zk_ask_proof(t, 0, t->own.name);
    }
    hf__zk_ask_list(t, t->n_calls - 1);
}

static void take_again(struct hf__zk_task *t)
{
    int rc = t->n_asked == 2 ? hf__zk_rc(t, 0) : ZOK;

    if (rc == ZNONODE) {
        hf__zk_start_anew(t);
    } else if (!hf__zk_shows_life(rc)) {
        hf__zk_fail_at(t, 0, t->own.name);
    } else if (hf__zk_see(t, t->n_asked - 1)) {
        hf__zk_decide(t);
    }
}

static const struct hf__zk_step looking_again = {true, ask_again, take_again};

void hf__zk_look_again(struct hf__zk_task *t)
{
    hf__zk_next(t, &looking_again, 1);
}

/* A claim that waited and was called says at once that it has entered, behind
 * the listing that has to show that it may; if it may not, it waits as before,
 * and says so again. */
static void ask_called(struct hf__zk_task *t)
{
    t->own.stage = HF__ZK_STANDING;
    t->own.is_called = false;
    hf__zk_remember(t);
    hf__zk_ask_list(t, 0);
    hf__zk_ask_facts(t, 1, t->own.name, HF__ZK_HOLDS);
}

static void take_called(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 1);

    if (a->rc != ZOK && a->rc != ZNONODE) {
        hf__zk_fail_at(t, 1, t->own.name);
    } else if (hf__zk_see(t, 0)) {
        t->mark = a->rc == ZOK ? (uint64_t)a->stat.mzxid : 0;
        hf__zk_decide(t);
    }
}

static const struct hf__zk_step entering = {true, ask_called, take_called};

/* ---- what may stand there */

static void ask_candidate(struct hf__zk_task *t)
{
    hf__zk_ask_exists(t, 0, t->line.claims[t->candidate].name);
}

static void consider(struct hf__zk_task *t, int from);

static void take_candidate(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 0);
    const char *name = t->line.claims[t->candidate].name;

    if (a->rc != ZOK && a->rc != ZNONODE) {
        hf__zk_fail_at(t, 0, name);
    } else if (a->rc == ZOK &&
               a->stat.ephemeralOwner == hf__zk_session(&t->s->front)) {
        hf__zk_note_name(t, name);
        hf__zk_decide(t);
    } else {
        consider(t, t->candidate + 1);
    }
}

static const struct hf__zk_step proving = {false, ask_candidate,
                                           take_candidate};

/* Those with the token, one after the other; there is hardly one. */
static void consider(struct hf__zk_task *t, int from)
{
    t->candidate = hf__zk_line_find_token(&t->line, from, &t->op->token);
    if (t->candidate < 0) {
        hf__zk_start_anew(t);
    } else {
        hf__zk_next(t, &proving, 1);
    }
}

/* ---- the slot that it may have: it is given up, and another is taken */

static int count_slots(const struct hf__zk_task *t)
{
    int n = 0;

    for (int i = 0; i < t->line.n_taken; i++) {
        n += hf__token_equal(&t->line.taken[i].child.token, &t->op->token);
    }
    return n;
}

static void ask_giving_up(struct hf__zk_task *t)
{
    int n = 0;

    for (int i = 0; i < t->line.n_taken; i++) {
        if (hf__token_equal(&t->line.taken[i].child.token, &t->op->token)) {
            hf__zk_ask_delete(t, n++, t->line.taken[i].name);
        }
    }
}

static void take_giving_up(struct hf__zk_task *t)
{
    for (int i = 0; i < t->n_asked; i++) {
        if (!hf__zk_is_gone(t, i, NULL)) {
            return;
        }
    }
    t->own.is_slot_doubtful = false;
    hf__zk_remember(t);
    hf__zk_look_again(t);
}

static const struct hf__zk_step giving_up = {true, ask_giving_up,
                                             take_giving_up};

static void take_search(struct hf__zk_task *t)
{
    int n;

    if (!hf__zk_search_take(t)) {
        return;
    }
    n = count_slots(t);
    if (t->own.stage == HF__ZK_DOUBTFUL) {
        consider(t, 0);
    } else if (n > 0) {
        hf__zk_next(t, &giving_up, n);
    } else {
        t->own.is_slot_doubtful = false;
        hf__zk_remember(t);
        hf__zk_decide(t);
    }
}

static const struct hf__zk_step searching = {false, hf__zk_search_ask,
                                             take_search};

/* ---- */

void hf__zk_again(struct hf__zk_task *t)
{
    if (hf__zk_is_simple(t)) {
        hf__zk_simple_again(t);
    } else if (t->own.stage == HF__ZK_DOUBTFUL || t->own.is_slot_doubtful) {
        hf__zk_next(t, &searching, 2);
    } else if (t->own.is_called && t->own.manner.mode != HF__MODE_SLOTS) {
        hf__zk_next(t, &entering, 2);
    } else {
        hf__zk_next(t, &looking_again, t->own.stage == HF__ZK_GRANTED ? 2 : 1);
    }
}
