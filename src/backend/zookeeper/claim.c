/* SPDX-License-Identifier: MIT */
/*
 * ACQUIRE up to the point where the claim is in the tree and a listing was
 * taken after that; recipe.c decides what follows. And RENEW of a claim that
 * was granted.
 *
 * A claim is made and the folder listed in one round trip. Before anything is
 * sent we remember that the claim is about to be made; so if the answer is
 * lost, nothing is made twice, and whatever was made can be found and deleted
 * (grant.c). Called by the backend session's thread.
 */
#include "src/backend/zookeeper/steps.h"
#include "src/base/error.h"

#include <string.h>

/* ---- the folder of a name, and those above it, from above to below */

/* May the acquire go on after this rc of a folder's creation? */
static bool is_fine(int rc)
{
    return rc == ZOK || rc == ZNODEEXISTS || rc == ZNONODE ||
           rc == ZUNIMPLEMENTED;
}

/* Whether we may make a folder is the ACL of the folder above it. */
static void fail_folder(struct hf__zk_task *t, int i)
{
    char path[HF__ZK_FOLDER_MAX];
    int which = hf__zk_rc(t, i) == ZNOAUTH ? i - 1 : i;

    hf__zk_fail_path(t, i, hf__zk_task_folder(t, which, path));
}

static bool folders_fine(struct hf__zk_task *t)
{
    for (int i = 0; i < t->n_folders; i++) {
        if (!is_fine(hf__zk_rc(t, i))) {
            hf__zk_forget(t);
            fail_folder(t, i);
            return false;
        }
    }
    return true;
}

/* ---- an acquire that will not wait
 *
 * A try looks first, and makes a claim only if it would enter, so that tries
 * are in nobody's way, least of all in each other's. It writes into the claim
 * which sequence it expects, the one that it gets if nobody comes between: so
 * everybody can tell a claim that has entered from one that came a moment late
 * and is about to leave.
 */

/* Looks at claims that are about to leave. */
#define TRY_LOOKS_MAX 3

static void take_name(struct hf__zk_task *t);

/* A server that stands alone needs no sync, for it is never behind. */
static void look_at_name(struct hf__zk_task *t)
{
    if (!t->s->is_alone) {
        hf__zk_add(t, HF__ZK_SYNC, NULL);
    }
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_name);
}

static void take_who(struct hf__zk_task *t)
{
    bool is_leaving;

    (void)hf__zk_look_take(t);
    is_leaving = t->n_participants > 0 &&
                 (t->participants[0].is_try || hf__zk_rc(t, 0) == ZNONODE);
    if (is_leaving && ++t->n_looks < TRY_LOOKS_MAX) {
        look_at_name(t);
    } else {
        hf__zk_finish(t, HF_BUSY);
    }
}

static void make_claim(struct hf__zk_task *t);

static void go_in(struct hf__zk_task *t)
{
    bool is_free = t->queue.n_fresh == 0;

    t->expected = is_free ? t->queue.next : -1;
    t->expected_in = t->folder_zxid;
    if (!t->has_folder) {
        t->n_folders = 1;
        t->n_attempts = 1;
    }
    make_claim(t);
}

static void take_name(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;

    if (!hf__zk_is_gone(t, 0, NULL) || !hf__zk_see(t, last)) {
        return;
    }
    t->verdict = hf__zk_judge_lock(t);
    if (t->verdict != HF_OK) {
        hf__zk_finish(t, t->verdict);
        return;
    }
    switch (hf__zk_queue_would(&t->queue, t->op->lock_mode)) {
    case HF__ENTRY_OPEN:
        go_in(t);
        return;
    case HF__ENTRY_MISFIT:
        hf__zk_finish(t, hf__tell_misfit(t->op, hf__zk_queue_slots(&t->queue)));
        return;
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        break;
    }
    hf__zk_look_add_one(t);
    hf__zk_then(t, take_who);
}

/* ---- making it */

static void take_made(struct hf__zk_task *t);

/* Everything goes in one round trip; but the folders go alone if the server may
 * know no containers: then it hangs up, and its answer is lost with what we
 * sent behind them. */
static void go_make(struct hf__zk_task *t)
{
    bool is_alone = t->n_folders > 0 &&
                    atomic_load(&hf__zk_task_common(t)->doubts_containers);

    for (int i = 0; i < t->n_folders; i++) {
        hf__zk_add(t, HF__ZK_MAKE_FOLDER, NULL);
    }
    if (!is_alone && hf__zk_is_simple(t)) {
        hf__zk_simple_add_made(t);
    } else if (!is_alone) {
        hf__zk_add(t, HF__ZK_MAKE_CLAIM, NULL);
        hf__zk_add(t, HF__ZK_LIST, NULL);
    }
    if (!is_alone) {
        hf__zk_check_acl_add(t);
    }
    hf__zk_then(t, take_made);
}

/* There is no folder: make it first; at the next attempt also those above
 * it. */
static void make_folders(struct hf__zk_task *t)
{
    if (!folders_fine(t)) {
        return;
    }
    if (++t->n_attempts >= HF__ZK_ATTEMPTS_MAX) {
        hf__zk_forget(t);
        hf__zk_finish(t, hf__fail(t->op->err, HF__AGAIN,
                                  "the folder %s is taken away as often as it "
                                  "is made",
                                  t->folder));
        return;
    }
    t->n_folders = t->n_attempts == 1 ? 1 : hf__zk_count_folders(t->folder);
    go_make(t);
}

/* Note what the answers tell of containers. */
static void note_containers(const struct hf__zk_task *t)
{
    struct hf__zk_common *common = hf__zk_task_common(t);
    int last = t->n_folders - 1;
    int rc = last < 0 ? ZOK : hf__zk_rc(t, last);

    if (last >= 0 && !hf__zk_has_no_containers(t)) {
        atomic_store(&common->doubts_containers, rc == ZCONNECTIONLOSS);
        atomic_store(&common->has_no_containers, rc == ZUNIMPLEMENTED);
    }
}

static const char *name_made(const struct hf__zk_task *t,
                             const struct hf__zk_answer *a)
{
    return hf__zk_is_simple(t) ? HF__ZK_LOCK_NAME : strrchr(a->text, '/') + 1;
}

static void take_claim(struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i);

    if (a->rc != ZOK) {
        if (!hf__zk_lacks(t, i) || !a->was_sent) {
            hf__zk_forget(t);
        }
        hf__zk_fail_at(t, i, NULL);
        return;
    }
    hf__zk_note_name(t, name_made(t, a));
    t->created_zxid = (uint64_t)a->stat.czxid;
    if (hf__zk_see(t, i + 1)) {
        hf__zk_decide(t);
    }
}

static void take_made(struct hf__zk_task *t)
{
    int i = t->n_folders;
    const struct hf__zk_answer *a;

    note_containers(t);
    if (t->n_asked == t->n_folders) {
        if (folders_fine(t)) {
            t->n_folders = 0;
            go_make(t);
        }
        return;
    }
    a = hf__zk_answered(t, i);
    if (a->rc == ZNONODE) {
        make_folders(t);
    } else if (a->rc == ZOK && !hf__zk_check_acl_take(t, name_made(t, a))) {
        return;
    } else if (hf__zk_is_simple(t)) {
        hf__zk_simple_take_made(t, i);
    } else {
        take_claim(t, i);
    }
}

static void make_claim(struct hf__zk_task *t)
{
    t->own = (struct hf__zk_own){
        .stage = HF__ZK_UNANSWERED, .lock_mode = t->op->lock_mode, .slot = -1};
    if (hf__zk_is_simple(t)) {
        hf__zk_marker_write(&t->op->token, t->own.slot_name);
    }
    t->mark = 0;
    if (hf__zk_own_add(hf__zk_task_common(t), t->op, &t->own) != HF_OK) {
        hf__zk_finish(
            t, hf__fail(t->op->err, HF_ENOMEM, "out of memory for a claim"));
        return;
    }
    t->is_known = true;
    t->may_join = !hf__zk_is_simple(t) && t->n_folders == 0;
    go_make(t);
}

void hf__zk_acquire(struct hf__zk_task *t)
{
    if (t->is_known) {
        hf__zk_again(t);
    } else if (hf__zk_is_try(t) && !hf__zk_is_simple(t) && t->n_attempts == 0) {
        look_at_name(t);
    } else {
        make_claim(t);
    }
}

/* ---- RENEW, and RAISE, which asks for a fence besides
 *
 * The session's lease starts again when the leader has taken a write of the
 * session; reads do not count, for any server answers them, also one that is
 * cut off from the others while they let the session end. So one renewal of a
 * batch sends a write to its own claim, which fails, and the others only look
 * whether their claims are still there; what they see is younger than the
 * write. A claim that is gone while its session lives was deleted by somebody
 * else: it was broken.
 */

/* Did the leader answer the write? It checks the session before it refuses the
 * write. */
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

/* The claim is gone, and now its slot or marker is, too. */
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
    int found = hf__zk_rc(t, 0);

    if (found == ZNONODE) {
        be_broken(t);
    } else if (found != ZOK && found != ZBADVERSION) {
        hf__zk_fail_at(t, 0, t->own.name);
    } else {
        end_renewal(t);
    }
}

/* By the simple recipe the path alone does not tell whose lock it is. */
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

/* One renewal writes for all; the others only look. */
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
