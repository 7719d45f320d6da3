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
#include "src/backend/zookeeper/steps.h"

#include "src/base/error.h"

/* Was the write answered? Whoever refuses it has looked for the session
 * first. */
static bool is_proven(const struct hf__zk_task *proof)
{
    return hf__zk_shows_life(hf__zk_rc(proof, 0));
}

static void end_renewal(struct hf__zk_task *t)
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

/* It is gone: so goes its slot or twin. */
static void take_rest(struct hf__zk_task *t)
{
    if (hf__zk_has_cleared(t)) {
        hf__zk_list_and_tell(t);
    }
}

static void be_broken(struct hf__zk_task *t)
{
    t->op->ret_reason = HF_REASON_BROKEN;
    hf__zk_clear(t);
    hf__zk_then(t, take_rest);
}

static void take_renewal(struct hf__zk_task *t)
{
    int rc = hf__zk_rc(t, 0);

    if (rc == ZNONODE) {
        be_broken(t);
    } else if (rc != ZOK && rc != ZBADVERSION) {
        hf__zk_fail_at(t, 0, t->own.name);
    } else {
        end_renewal(t);
    }
}

/* By the simple recipe the path alone does not tell whose it is. */
static void take_lock_renewal(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;

    if (!hf__zk_is_gone(t, last, HF__ZK_LOCK_NAME)) {
        return;
    }
    if (hf__zk_simple_is_ours(t, last)) {
        end_renewal(t);
    } else {
        be_broken(t);
    }
}

/* One writes for all; the others only look. */
void hf__zk_renew(struct hf__zk_task *t)
{
    bool is_proof = t->proof == t;

    t->op->ret_reason = HF_REASON_NONE;
    t->verdict = HF_LOST;
    if (!t->is_known || t->own.stage != HF__ZK_GRANTED) {
        hf__zk_list_and_tell(t);
        return;
    }
    if (is_proof) {
        hf__zk_add(t, HF__ZK_PROOF, t->own.name);
    }
    if (!is_proof || hf__zk_is_simple(t)) {
        hf__zk_add(t, HF__ZK_EXISTS, t->own.name);
    }
    hf__zk_then(t, hf__zk_is_simple(t) ? take_lock_renewal : take_renewal);
}
