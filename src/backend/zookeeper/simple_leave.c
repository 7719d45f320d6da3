/* SPDX-License-Identifier: MIT */
/*
 * RELEASE by the simple recipe, and taking a lock away again that may not
 * stand. What is ours goes with its twin in one transaction (simple.c says
 * why). Only if the twin alone was deleted, by hand, the lock is deleted by its
 * path, right after it was seen to be ours: who breaks it in that moment, by
 * hand as well, and lets another in, takes it away from that one. Called by the
 * session's thread.
 */
#include "src/backend/zookeeper/steps.h"

/* Nothing of ours is there any more; was it, until now? */
static void end_leaving(struct hf__zk_task *t, bool was_there)
{
    bool was_held = t->is_known && t->own.stage == HF__ZK_GRANTED;

    if (t->op->kind == HF__OP_RELEASE) {
        hf__zk_end_release(t, was_there || (was_held && t->was_leaving));
    } else if (t->verdict == HF__AGAIN) {
        t->own.slot_name[0] = '\0'; /* the twin */
        hf__zk_start_anew(t);
    } else {
        if (t->is_known) {
            hf__zk_forget(t);
        }
        hf__zk_finish_leaving(t, t->verdict);
    }
}

/* ---- one of the two was deleted by hand */

static void take_lock(struct hf__zk_task *t)
{
    if (hf__zk_is_gone(t, 0, HF__ZK_LOCK_NAME)) {
        end_leaving(t, hf__zk_rc(t, 0) == ZOK);
    }
}

static void take_lone_lock(struct hf__zk_task *t)
{
    if (!hf__zk_is_gone(t, 0, HF__ZK_LOCK_NAME)) {
        return;
    }
    if (hf__zk_simple_is_ours(t, 0)) {
        hf__zk_add(t, HF__ZK_DELETE, HF__ZK_LOCK_NAME);
        hf__zk_then(t, take_lock);
    } else {
        end_leaving(t, false);
    }
}

static void take_twin(struct hf__zk_task *t)
{
    if (hf__zk_is_gone(t, 0, NULL)) {
        end_leaving(t, false);
    }
}

static void delete_twin(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_DELETE, t->twin);
    hf__zk_then(t, take_twin);
}

/* ---- both */

static void take_both(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 0);

    if (a->rc == ZOK) {
        end_leaving(t, true);
    } else if (a->rc == ZNONODE && a->part == 0) {
        hf__zk_add(t, HF__ZK_GET, HF__ZK_LOCK_NAME);
        hf__zk_then(t, take_lone_lock);
    } else if (a->rc == ZNONODE) {
        delete_twin(t);
    } else {
        hf__zk_fail_at(t, 0, HF__ZK_LOCK_NAME);
    }
}

void hf__zk_simple_leave(struct hf__zk_task *t)
{
    hf__zk_twin_write(&t->op->token, t->twin);
    hf__zk_add(t, HF__ZK_DELETE_LOCK, NULL);
    hf__zk_then(t, take_both);
}

/* ---- what may be there */

enum { SEARCH_SYNC, SEARCH_LOCK, SEARCH_TWIN, SEARCH_PROOF };

static void take_lock_search(struct hf__zk_task *t)
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
        hf__zk_simple_leave(t);
    } else if (hf__zk_rc(t, SEARCH_TWIN) == ZOK) {
        delete_twin(t);
    } else {
        end_leaving(t, false);
    }
}

void hf__zk_simple_release(struct hf__zk_task *t)
{
    hf__zk_twin_write(&t->op->token, t->twin);
    if (t->is_known && t->own.stage == HF__ZK_GRANTED) {
        t->will_leave = true;
        hf__zk_simple_leave(t);
        return;
    }
    hf__zk_add(t, HF__ZK_SYNC, NULL);
    hf__zk_add(t, HF__ZK_GET, HF__ZK_LOCK_NAME);
    hf__zk_add(t, HF__ZK_EXISTS, t->twin);
    hf__zk_add(t, HF__ZK_PROOF, NULL);
    hf__zk_then(t, take_lock_search);
}
