/* SPDX-License-Identifier: MIT */
/*
 * RENEW: the session's lease begins anew when the server has taken a write of
 * its, for reads are answered by any server, also by one that is cut off from
 * the others while they let the session end. So of a batch one renewal writes,
 * in vain, to its own claim, and the others only look whether theirs is still
 * there; what they see is younger than the write. A claim that is gone while
 * its session lives was taken away by somebody: it was broken.
 * RAISE is a renewal that asks for a fence besides.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/task.h"

#include "src/base/error.h"

static void ask_renewal(struct hf__zk_task *t)
{
    if (t->proof == t) {
        hf__zk_ask_proof(t, 0, t->own.name);
    } else {
        hf__zk_ask_exists(t, 0, t->own.name);
    }
}

/* Was the write answered? Whoever refuses it has looked for the session
 * first. */
static bool is_proven(const struct hf__zk_task *proof)
{
    return hf__zk_shows_life(hf__zk_rc(proof, 0));
}

static void take_renewal(struct hf__zk_task *t)
{
    int rc = hf__zk_rc(t, 0);

    if (rc == ZNONODE) {
        t->op->ret_reason = HF_REASON_BROKEN;
        hf__zk_clear_rest(t);
    } else if (rc != ZOK && rc != ZBADVERSION) {
        hf__zk_fail_at(t, 0, t->own.name);
    } else {
        hf__zk_end_renewal(t);
    }
}

void hf__zk_end_renewal(struct hf__zk_task *t)
{
    if (!is_proven(t->proof)) {
        t->first = t->proof->first;
        hf__zk_fail_at(t, 0, t->own.name);
    } else if (t->op->kind == HF__OP_RAISE && t->op->fence > t->own.fence) {
        hf__zk_finish(t, hf__fail(t->op->err, HF_ENOTSUP,
                                  "the fences of ZooKeeper are its own "
                                  "numbers: none can be raised"));
    } else {
        t->op->slot = t->own.slot;
        t->op->fence = t->own.fence;
        hf__zk_finish(t, HF_OK);
    }
}

/* One writes for all; the others only look. */
static const struct hf__zk_step renewing = {true, ask_renewal, take_renewal};
static const struct hf__zk_step attending = {false, ask_renewal, take_renewal};

void hf__zk_renew(struct hf__zk_task *t)
{
    t->op->ret_reason = HF_REASON_NONE;
    t->verdict = HF_LOST;
    if (!t->is_known || t->own.stage != HF__ZK_GRANTED) {
        hf__zk_list_and_tell(t);
    } else if (hf__zk_is_simple(t)) {
        hf__zk_simple_renew(t);
    } else {
        hf__zk_next(t, t->proof == t ? &renewing : &attending, 1);
    }
}
