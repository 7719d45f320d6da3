/* SPDX-License-Identifier: MIT */
/*
 * Decides what becomes of a claim that is in the tree, by a listing that was
 * taken after it was made; queue.h has the rule of the fair recipe. Also takes
 * up a claim of which something is known from before, and has the simple
 * recipe.
 *
 * Fences rise in the order in which claims enter. A claim that is alone since
 * it was made, or expected to be first, has its own zxid as fence. One that
 * waited, or is beside others, writes that it has entered, and that write's
 * zxid is its fence, for another may have entered, and gone, since it was made.
 * For slots, that write is the making of the slot's child; if two make one for
 * the same slot, the later one sees the other's, and takes another. Called by
 * the backend session's thread.
 */
#include "src/backend/zookeeper/steps.h"
#include "src/base/error.h"

#include <string.h>

/* A lock of the simple recipe must be seen in so many looks before we fail. */
#define LOOKS_MAX 3

/* Is our own claim there, by the i-th answer? If not, somebody has broken it
 * and another is made, or the task has ended. */
static bool stands(struct hf__zk_task *t, int i)
{
    int rc = hf__zk_rc(t, i);

    if (rc == ZNONODE) {
        hf__zk_start_anew(t);
    } else if (rc != ZOK) {
        hf__zk_fail_at(t, i, t->own.name);
    }
    return rc == ZOK;
}

/* ---- entering */

static void take_mark(struct hf__zk_task *t)
{
    if (stands(t, 0)) {
        hf__zk_granted(t, (uint64_t)hf__zk_answered(t, 0)->stat.mzxid);
    }
}

static void take_concession(struct hf__zk_task *t)
{
    if (!hf__zk_is_gone(t, 0, t->own.slot_name)) {
        return;
    }
    t->own.slot_name[0] = '\0';
    hf__zk_remember(t);
    if (hf__zk_see(t, 1)) {
        hf__zk_decide(t);
    }
}

static void concede(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_DELETE, t->own.slot_name);
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_concession);
}

/* The first claim to take the slot has it. */
static void judge_slot(struct hf__zk_task *t, uint64_t created_zxid)
{
    int taken = hf__zk_queue_find_slot_node(&t->queue, t->own.slot_name);

    t->position = hf__zk_queue_find(&t->queue, t->own.name);
    if (t->position < 0 || taken < 0) {
        hf__zk_start_anew(t); /* somebody has broken it */
    } else if (hf__zk_is_exhausted(t->queue.taken[taken].child.sequence)) {
        hf__zk_leave_exhausted(t);
    } else if (t->queue.taken[taken].claim == t->position) {
        t->own.slot = t->slot;
        hf__zk_granted(t, created_zxid);
    } else {
        concede(t);
    }
}

static void take_slot(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 0);

    if (a->rc == ZNONODE) {
        t->own.is_slot_unanswered = false; /* the whole folder is gone */
    }
    if (!stands(t, 0)) {
        return;
    }
    hf__zk_note_slot(t, strrchr(a->text, '/') + 1);
    if (hf__zk_is_gone(t, 1, t->own.name) && hf__zk_see(t, 2)) {
        judge_slot(t, (uint64_t)a->stat.czxid);
    }
}

static void wait_or_leave(struct hf__zk_task *t);

/* A slot is deleted before its claim. So if none is free, a claim was deleted
 * by somebody else, and its session, which still has to notice, has left its
 * slot: then we wait. With the slot that it takes, our claim writes that it has
 * entered, so that the next one in the queue looks. */
static void choose_slot(struct hf__zk_task *t)
{
    t->slot = hf__zk_queue_free_slot(&t->queue, t->position);
    if (t->slot < 0) {
        wait_or_leave(t);
        return;
    }
    t->own.is_slot_unanswered = true;
    hf__zk_remember(t);
    hf__zk_add(t, HF__ZK_MAKE_SLOT, NULL);
    hf__zk_write(t, HF__ZK_HOLDS);
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_slot);
}

/* Is it sure that nobody has entered since the claim was made? */
static bool is_sure(const struct hf__zk_task *t)
{
    int32_t own = t->queue.claims[t->position].child.sequence;

    if (t->created_zxid == 0) {
        return false;
    }
    if (hf__zk_is_try(t)) {
        return own == t->expected &&
               (own == 0 || t->folder_zxid == t->expected_in);
    }
    return t->queue.n == 1 && t->changed == t->created_zxid;
}

static void enter(struct hf__zk_task *t)
{
    if (t->op->lock_mode.mode == HF__MODE_SLOTS) {
        if (t->own.slot_name[0] != '\0') {
            concede(t); /* the slot of an earlier attempt */
        } else {
            choose_slot(t);
        }
    } else if (is_sure(t) || t->mark != 0) {
        hf__zk_granted(t, is_sure(t) ? t->created_zxid : t->mark);
    } else {
        hf__zk_write(t, HF__ZK_HOLDS);
        hf__zk_then(t, take_mark);
    }
}

/* ---- not entering */

static void take_queue(struct hf__zk_task *t)
{
    if (t->own.stage != HF__ZK_QUEUED && !stands(t, 0)) {
        return;
    }
    t->own.stage = HF__ZK_QUEUED;
    hf__zk_remember(t);
    t->op->is_queued = true;
    (void)hf__zk_look_take(t);
    hf__zk_finish(t, HF_BUSY);
}

/* Does the claim keep its place in the queue? What is before it matters only if
 * it is a stream that could go on for ever. */
static bool is_to_wait(const struct hf__zk_task *t)
{
    int stream = hf__zk_queue_stream(&t->queue, t->position);
    struct hf__contender one = {.slot = -1};
    struct hf__holders_waiters before = {&one, stream < 0 ? 0 : 1, NULL, 0};

    if (stream >= 0) {
        one.lock_mode = t->queue.claims[stream].child.lock_mode;
    }
    return hf__leaves_ticket(&before, t->op);
}

static void wait_or_leave(struct hf__zk_task *t)
{
    bool is_queued = t->own.stage == HF__ZK_QUEUED;

    t->verdict = HF_BUSY;
    if (!is_queued && !is_to_wait(t)) {
        hf__zk_withdraw(t);
        return;
    }
    if (!is_queued) {
        hf__zk_write(t, HF__ZK_WAITS);
    }
    hf__zk_look_add_one(t);
    hf__zk_then(t, take_queue);
}

/* ---- */

int hf__zk_judge_lock(struct hf__zk_task *t)
{
    if (!t->queue.has_lock) {
        return HF_OK;
    }
    return hf__fail(t->op->err, HF_EUNSAFE,
                    "%s is used with recipe=simple by others, which would not "
                    "see a claim of recipe=fair: use one recipe for a name",
                    t->folder);
}

/* A claim that was in the queue before the lock was made waits on, in case the
 * lock goes again. */
static bool may_go_again(struct hf__zk_task *t)
{
    return t->queue.has_lock && t->created_zxid == 0 &&
           ++t->n_looks < LOOKS_MAX;
}

static void decide_by_queue(struct hf__zk_task *t)
{
    switch (t->queue.claims[t->position].entry) {
    case HF__ENTRY_OPEN:
        enter(t);
        return;
    case HF__ENTRY_MISFIT:
        t->verdict = hf__tell_misfit(t->op, hf__zk_queue_slots(&t->queue));
        hf__zk_withdraw(t);
        return;
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        break;
    }
    wait_or_leave(t);
}

static void look_again(struct hf__zk_task *t);

void hf__zk_decide(struct hf__zk_task *t)
{
    t->position = hf__zk_queue_find(&t->queue, t->own.name);
    if (t->position < 0) {
        hf__zk_start_anew(t);
    } else if (t->own.stage == HF__ZK_GRANTED) {
        hf__zk_granted(t, t->own.fence);
    } else if (may_go_again(t)) {
        look_again(t);
    } else if ((t->verdict = hf__zk_judge_lock(t)) != HF_OK) {
        hf__zk_withdraw(t);
    } else if (hf__zk_is_exhausted(
                   t->queue.claims[t->position].child.sequence)) {
        hf__zk_leave_exhausted(t);
    } else {
        decide_by_queue(t);
    }
}

/* ---- ACQUIRE of a claim of which something is known
 *
 * The claim waits, or is granted and asked for again, or the answer to its
 * making was lost. In the last case we look for it by its token, behind a sync,
 * and trust it only if this very ZooKeeper session made it. A slot that it may
 * have is deleted, and another taken.
 */

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

static void look_again(struct hf__zk_task *t)
{
    int i = hf__zk_add(t, HF__ZK_LIST, NULL);

    t->requests[i].changes = true; /* the claim is there, or may be */
    hf__zk_then(t, take_again);
}

/* A grant is asked for again: a write shows that the session and the claim
 * live. */
static void prove_again(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_PROOF, t->own.name);
    look_again(t);
}

static void take_called(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 1);

    if (hf__zk_is_gone(t, 1, t->own.name) && hf__zk_see(t, 0)) {
        t->mark = a->rc == ZOK ? (uint64_t)a->stat.mzxid : 0;
        hf__zk_decide(t);
    }
}

/* A waiting claim that may enter, as it seems, writes at once that it has
 * entered, behind the listing that must show that it may. If it may not, it
 * waits as before, and writes that again. */
static void enter_as_called(struct hf__zk_task *t)
{
    t->own.stage = HF__ZK_CREATED;
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
    const char *name = t->queue.claims[t->candidate].name;

    if (!hf__zk_is_gone(t, 0, name)) {
        return;
    }
    if (a->rc == ZOK &&
        a->stat.ephemeralOwner == hf__zk_session_id(&t->s->ref)) {
        hf__zk_note_name(t, name);
        hf__zk_decide(t);
    } else {
        consider(t, t->candidate + 1);
    }
}

/* Look at the claims with the token, one after the other; there is rarely more
 * than one. */
static void consider(struct hf__zk_task *t, int from)
{
    t->candidate = hf__zk_queue_find_token(&t->queue, from, &t->op->token);
    if (t->candidate < 0) {
        hf__zk_start_anew(t);
    } else {
        hf__zk_add(t, HF__ZK_EXISTS, t->queue.claims[t->candidate].name);
        hf__zk_then(t, take_candidate);
    }
}

/* The slots that it may have had are deleted, and another is taken. */
static void take_giving_up(struct hf__zk_task *t)
{
    if (hf__zk_are_gone(t, t->n_asked)) {
        t->own.is_slot_unanswered = false;
        hf__zk_remember(t);
        look_again(t);
    }
}

static void take_found(struct hf__zk_task *t)
{
    if (!hf__zk_see_search(t)) {
        return;
    }
    if (t->own.stage == HF__ZK_UNANSWERED) {
        consider(t, 0);
    } else if (hf__zk_add_sweep(t, true) > 0) {
        hf__zk_then(t, take_giving_up);
    } else {
        t->own.is_slot_unanswered = false;
        hf__zk_remember(t);
        hf__zk_decide(t);
    }
}

static void simple_again(struct hf__zk_task *t);

void hf__zk_again(struct hf__zk_task *t)
{
    if (hf__zk_is_simple(t)) {
        simple_again(t);
    } else if (t->own.stage == HF__ZK_UNANSWERED || t->own.is_slot_unanswered) {
        hf__zk_add_search(t);
        hf__zk_then(t, take_found);
    } else if (t->own.is_called && t->own.lock_mode.mode != HF__MODE_SLOTS) {
        enter_as_called(t);
    } else if (t->own.stage == HF__ZK_GRANTED) {
        prove_again(t);
    } else {
        look_again(t);
    }
}

/* ---- the simple recipe
 *
 * Whoever makes the child "lock" has the name, in one round trip. There is no
 * queue, there is one holder, and the child's zxid is the fence. A claim of the
 * fair recipe does not exclude "lock" by itself: so whoever makes either lists
 * the folder behind it, and the later of the two, which sees the other, gives
 * up.
 *
 * The child's path is the same for all. That it is ours is known by its zxid,
 * or if that was never told, by the token in its data and its session; the next
 * comment says how no other one is deleted.
 */

/* ---- markers
 *
 * Nodes are deleted by path, and no condition of ZooKeeper's tells apart two
 * nodes that had the same one, for the versions of the second start again. So
 * each "lock" has a marker that its token names, and both come and go in one
 * transaction, which fails if the marker is missing. So no earlier holder
 * deletes a later lock:
 *
 * - If this store deleted the earlier lock, its marker has gone with it.
 * - If somebody deleted "lock" alone, by hand, its marker is still there. Who
 *   makes the next lock lists the folder behind it, and is granted only once
 *   all markers older than its own are deleted: their locks are gone, for there
 *   was none when the new one was made. If an older marker is used before that,
 *   our lock is missing in the listing that follows.
 */

static bool is_own(const struct hf__zk_task *t, int i)
{
    return hf__token_equal(&t->queue.markers[i].token, &t->op->token);
}

static bool has_own(const struct hf__zk_task *t)
{
    for (int i = 0; i < t->queue.n_markers; i++) {
        if (is_own(t, i)) {
            return t->queue.has_lock;
        }
    }
    return false;
}

static void simple_decide(struct hf__zk_task *t);

static void take_swept_markers(struct hf__zk_task *t)
{
    int last = t->n_asked - 1;

    if (hf__zk_are_gone(t, last) && hf__zk_see(t, last)) {
        simple_decide(t);
    }
}

static void sweep_markers(struct hf__zk_task *t)
{
    for (int i = 0; i < t->queue.n_markers; i++) {
        if (!is_own(t, i)) {
            hf__zk_add(t, HF__ZK_DELETE, t->queue.markers[i].name);
        }
    }
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_swept_markers);
}

/* A marker younger than ours was made with a lock, so our lock was gone by
 * then. */
static void take_dates(struct hf__zk_task *t)
{
    for (int i = 0; i < t->n_asked; i++) {
        const struct hf__zk_answer *a = hf__zk_answered(t, i);

        if (!hf__zk_is_gone(t, i, t->queue.markers[i].name)) {
            return;
        }
        if (a->rc == ZOK && (uint64_t)a->stat.czxid > t->created_zxid) {
            hf__zk_start_anew(t);
            return;
        }
    }
    sweep_markers(t);
}

static void date_markers(struct hf__zk_task *t)
{
    for (int i = 0; i < t->queue.n_markers; i++) {
        hf__zk_add(t, HF__ZK_EXISTS, t->queue.markers[i].name);
    }
    hf__zk_then(t, take_dates);
}

/* ---- ACQUIRE */

/* Our lock or its marker is gone. Delete the other, which would be in our
 * way. */
static void leave_and_start_anew(struct hf__zk_task *t)
{
    t->verdict = HF__AGAIN;
    hf__zk_simple_leave(t);
}

static void simple_decide(struct hf__zk_task *t)
{
    if (t->queue.n > 0) {
        t->verdict = hf__fail(
            t->op->err, HF_EUNSAFE,
            "%s is used with recipe=fair by others, which would not see a lock "
            "of recipe=simple: use one recipe for a name",
            t->folder);
        hf__zk_simple_leave(t);
    } else if (!has_own(t)) {
        leave_and_start_anew(t);
    } else if (t->queue.n_markers > 1) {
        date_markers(t);
    } else {
        hf__zk_granted(t, t->created_zxid);
    }
}

void hf__zk_simple_add_made(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_MAKE_LOCK, NULL);
    hf__zk_add(t, HF__ZK_EXISTS, t->own.slot_name);
    hf__zk_add(t, HF__ZK_LIST, NULL);
}

/* The lock has the marker's zxid, and nobody else has a marker of that name. */
static void take_pair(struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i + 1);

    hf__zk_note_name(t, HF__ZK_LOCK_NAME);
    if (a->rc == ZNONODE) {
        /* Somebody has broken the lock, or deleted the marker. */
        leave_and_start_anew(t);
    } else if (a->rc != ZOK) {
        hf__zk_fail_at(t, i + 1, t->own.slot_name);
    } else if (hf__zk_see(t, i + 2)) {
        t->created_zxid = (uint64_t)a->stat.czxid;
        simple_decide(t);
    }
}

void hf__zk_simple_take_made(struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i);

    if (a->rc == ZOK) {
        take_pair(t, i);
    } else if (a->rc == ZNODEEXISTS && a->part == 1) {
        hf__zk_start_anew(t); /* a marker with our token is left from before */
    } else if (a->rc == ZNODEEXISTS) {
        hf__zk_forget(t);
        t->verdict = HF_BUSY;
        if (hf__zk_see(t, i + 2)) {
            hf__zk_tell(t);
        }
    } else {
        if (!hf__zk_lacks(t, i) || !a->was_sent) {
            hf__zk_forget(t);
        }
        hf__zk_fail_at(t, i, NULL);
    }
}

/* ---- ACQUIRE of what is there, or may be */

enum { AGAIN_SYNC, AGAIN_LOCK, AGAIN_LIST, AGAIN_PROOF };

static void take_own(struct hf__zk_task *t)
{
    for (int i = 0; i < t->n_asked; i++) {
        if (hf__zk_lacks(t, i)) {
            hf__zk_fail_at(t, i, NULL);
            return;
        }
    }
    if (!hf__zk_is_gone(t, AGAIN_LOCK, HF__ZK_LOCK_NAME)) {
        return;
    }
    if (!hf__zk_shows_life(hf__zk_rc(t, AGAIN_PROOF))) {
        hf__zk_fail_at(t, AGAIN_PROOF, HF__ZK_LOCK_NAME);
    } else if (!hf__zk_simple_is_ours(t, AGAIN_LOCK)) {
        hf__zk_start_anew(t);
    } else if (t->own.stage == HF__ZK_GRANTED) {
        hf__zk_granted(t, t->own.fence);
    } else if (hf__zk_see(t, AGAIN_LIST)) {
        hf__zk_note_name(t, HF__ZK_LOCK_NAME);
        t->created_zxid = (uint64_t)hf__zk_answered(t, AGAIN_LOCK)->stat.czxid;
        simple_decide(t);
    }
}

static void simple_again(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_SYNC, NULL);
    hf__zk_add(t, HF__ZK_GET, HF__ZK_LOCK_NAME);
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_add(t, HF__ZK_PROOF, HF__ZK_LOCK_NAME);
    hf__zk_then(t, take_own);
}
