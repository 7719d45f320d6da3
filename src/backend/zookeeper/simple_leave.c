/* SPDX-License-Identifier: MIT */
/*
 * RELEASE by the simple recipe, and taking a lock away again that may not
 * stand. What is ours goes with its twin in one transaction (simple.c says
 * why). Only if the twin alone was deleted, by hand, the lock is deleted by its
 * path, right after it was seen to be ours: who breaks it in that moment, by
 * hand as well, and lets another in, takes it away from that one. Called by the
 * session's thread.
 */
#include "src/backend/zookeeper/task.h"

/* Nothing of ours is there any more; was it, until now? */
static void end_leaving(struct hf__zk_task *t, bool was_there)
{
    bool was_held = t->is_known && t->own.stage == HF__ZK_GRANTED;
    bool is_released = was_there || (was_held && t->was_leaving);

    if (t->op->kind == HF__OP_ACQUIRE && t->verdict == HF__AGAIN) {
        t->own.slot_name[0] = '\0'; /* the twin */
        hf__zk_start_anew(t);
        return;
    }
    if (t->op->kind == HF__OP_RELEASE) {
        t->op->ret_reason =
            was_held && !is_released ? HF_REASON_BROKEN : HF_REASON_NONE;
    }
    if (t->is_known) {
        hf__zk_forget(t);
    }
    if (t->op->kind == HF__OP_ACQUIRE) {
        hf__zk_finish_leaving(t, t->verdict);
    } else if (is_released) {
        hf__zk_finish_leaving(t, HF_OK);
    } else {
        hf__zk_list_and_tell(t);
    }
}

/* ---- one of the two was deleted by hand */

static void ask_lock(struct hf__zk_task *t)
{
    hf__zk_ask_delete(t, 0, HF__ZK_LOCK_NAME);
}

static void take_lock(struct hf__zk_task *t)
{
    if (hf__zk_is_gone(t, 0, HF__ZK_LOCK_NAME)) {
        end_leaving(t, hf__zk_rc(t, 0) == ZOK);
    }
}

static const struct hf__zk_step deleting_lock = {true, ask_lock, take_lock};

static void ask_look(struct hf__zk_task *t)
{
    hf__zk_ask_get(t, 0, HF__ZK_LOCK_NAME);
}

static void take_look(struct hf__zk_task *t)
{
    if (!hf__zk_is_gone(t, 0, HF__ZK_LOCK_NAME)) {
        return;
    }
    if (hf__zk_simple_is_ours(t, 0)) {
        hf__zk_next(t, &deleting_lock, 1);
    } else {
        end_leaving(t, false);
    }
}

static const struct hf__zk_step looking = {false, ask_look, take_look};

static void write_twin(const struct hf__zk_task *t, char to[HF__ZK_CHILD_MAX])
{
    hf__zk_twin_write(&t->op->token, to);
}

static void ask_twin(struct hf__zk_task *t)
{
    char name[HF__ZK_CHILD_MAX];

    write_twin(t, name);
    hf__zk_ask_delete(t, 0, name);
}

static void take_twin(struct hf__zk_task *t)
{
    if (hf__zk_is_gone(t, 0, NULL)) {
        end_leaving(t, false);
    }
}

static const struct hf__zk_step deleting_twin = {true, ask_twin, take_twin};

/* ---- both */

static void ask_both(struct hf__zk_task *t)
{
    hf__zk_ask_delete_lock(t, 0, &t->op->token);
}

static void take_both(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 0);

    if (a->rc == ZOK) {
        end_leaving(t, true);
    } else if (a->rc == ZNONODE && a->part == 0) {
        hf__zk_next(t, &looking, 1);
    } else if (a->rc == ZNONODE) {
        hf__zk_next(t, &deleting_twin, 1);
    } else {
        hf__zk_fail_at(t, 0, HF__ZK_LOCK_NAME);
    }
}

static const struct hf__zk_step deleting = {true, ask_both, take_both};

void hf__zk_simple_leave(struct hf__zk_task *t)
{
    hf__zk_next(t, &deleting, 1);
}

/* ---- what may be there */

enum { SEARCH_SYNC, SEARCH_LOCK, SEARCH_TWIN, SEARCH_PROOF, SEARCHES };

static void ask_search(struct hf__zk_task *t)
{
    char name[HF__ZK_CHILD_MAX];

    write_twin(t, name);
    hf__zk_ask_sync(t, SEARCH_SYNC);
    hf__zk_ask_get(t, SEARCH_LOCK, HF__ZK_LOCK_NAME);
    hf__zk_ask_exists(t, SEARCH_TWIN, name);
    hf__zk_ask_proof(t, SEARCH_PROOF, NULL);
}

static void take_search(struct hf__zk_task *t)
{
    if (!hf__zk_shows_life(hf__zk_rc(t, SEARCH_PROOF))) {
        hf__zk_fail_at(t, SEARCH_PROOF, NULL);
        return;
    }
    if (!hf__zk_is_gone(t, SEARCH_SYNC, NULL) ||
        !hf__zk_is_gone(t, SEARCH_LOCK, HF__ZK_LOCK_NAME) ||
        !hf__zk_is_gone(t, SEARCH_TWIN, NULL)) {
        return;
    }
    if (hf__zk_simple_is_ours(t, SEARCH_LOCK)) {
        hf__zk_next(t, &deleting, 1);
    } else if (hf__zk_rc(t, SEARCH_TWIN) == ZOK) {
        hf__zk_next(t, &deleting_twin, 1);
    } else {
        end_leaving(t, false);
    }
}

/* Reads alone, and a sync, an old leader would answer, too. */
static const struct hf__zk_step searching = {true, ask_search, take_search};

void hf__zk_simple_release(struct hf__zk_task *t)
{
    if (t->is_known && t->own.stage == HF__ZK_GRANTED) {
        t->own.is_leaving = true; /* nobody has broken it */
        hf__zk_remember(t);
        hf__zk_simple_leave(t);
    } else {
        hf__zk_next(t, &searching, SEARCHES);
    }
}
