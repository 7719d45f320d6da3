/* SPDX-License-Identifier: MIT */
/*
 * A claim that is in the tree: how it is granted, and how it is deleted, by
 * RELEASE or because it did not enter.
 *
 * What is known to be ours is deleted by its path, which no other claim ever
 * has. What may be ours is looked for by its token first, behind a sync, also
 * if an earlier session of this client made it, of which the server does not
 * know yet that it is over. That nothing is there we believe only after the
 * answer to a write behind the listing, for a deposed leader answers reads and
 * a sync, too. A slot is deleted before its claim. With a user, a claim is
 * granted only if its folder is not open to others. Called by the backend
 * session's thread.
 */
#include "src/backend/zookeeper/steps.h"
#include "src/base/error.h"

#include <string.h>

void hf__zk_note_name(struct hf__zk_task *t, const char *name)
{
    size_t length = strlen(name);

    /* We wrote all of the name but the sequence. */
    HF_ASSERT(length < sizeof t->own.name);
    memcpy(t->own.name, name, length + 1);
    t->own.stage = HF__ZK_CREATED;
    hf__zk_remember(t);
}

void hf__zk_note_slot(struct hf__zk_task *t, const char *name)
{
    size_t length = strlen(name);

    HF_ASSERT(length < sizeof t->own.slot_name);
    memcpy(t->own.slot_name, name, length + 1);
    t->own.is_slot_unanswered = false;
    hf__zk_remember(t);
}

static void check_acl(struct hf__zk_task *t);

void hf__zk_granted(struct hf__zk_task *t, uint64_t fence)
{
    if (hf__zk_has_user(&t->s->ref) && !t->own.has_checked_acl) {
        t->entered = fence;
        check_acl(t);
        return;
    }
    t->own.stage = HF__ZK_GRANTED;
    t->own.fence = fence;
    t->own.since = hf__now();
    hf__zk_remember(t);
    t->op->fence = fence;
    t->op->slot = t->own.slot;
    hf__zk_finish(t, HF_OK);
}

/* ---- whose the folder is
 *
 * To delete a child one needs the right of the folder, not of the child: a
 * user's claims are safe only in a folder that is not open to anybody, as one
 * is that a client without a user made. A client with a user is granted nothing
 * in such a folder. People have to decide what becomes of it, for others may
 * hold claims there now, which a new ACL would lock out. We read the ACL in the
 * round that makes the claim, behind it, so of the very folder that the claim
 * keeps from being deleted; and once more before the grant, if that answer was
 * lost.
 */

void hf__zk_check_acl_add(struct hf__zk_task *t)
{
    if (hf__zk_has_user(&t->s->ref)) {
        hf__zk_add(t, HF__ZK_ACL, NULL);
    }
}

static void leave_open(struct hf__zk_task *t)
{
    t->verdict = hf__fail(
        t->op->err, HF_EUNSAFE,
        "%s is open: anybody may take a claim away there, for who made it gave "
        "no password (setAcl, or delete it while nobody uses it: gc)",
        t->folder);
    t->op->is_queued = false;
    hf__zk_withdraw(t);
}

bool hf__zk_check_acl_take(struct hf__zk_task *t, const char *name)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, t->n_asked - 1);

    if (!hf__zk_has_user(&t->s->ref) || a->rc != ZOK) {
        return true;
    }
    t->own.has_checked_acl = a->length == 0;
    if (!t->own.has_checked_acl) {
        hf__zk_note_name(t, name);
        leave_open(t);
    }
    return t->own.has_checked_acl;
}

static void take_acl(struct hf__zk_task *t)
{
    int rc = hf__zk_rc(t, 0);

    t->own.has_checked_acl = rc == ZOK && hf__zk_answered(t, 0)->length == 0;
    if (rc == ZNONODE) {
        hf__zk_start_anew(t); /* somebody has deleted the folder */
    } else if (rc != ZOK) {
        hf__zk_fail_at(t, 0, NULL);
    } else if (t->own.has_checked_acl) {
        hf__zk_granted(t, t->entered);
    } else {
        leave_open(t);
    }
}

static void check_acl(struct hf__zk_task *t)
{
    hf__zk_check_acl_add(t);
    hf__zk_then(t, take_acl);
}

/* ---- the folder, which a server takes away by itself if it can */

/* The deletion may have failed, for somebody may have come: the folder then
 * stays. */
static void take_folder(struct hf__zk_task *t)
{
    hf__zk_finish(t, t->verdict);
}

static void finish_leaving(struct hf__zk_task *t, int result)
{
    t->verdict = result;
    if (hf__zk_has_no_containers(t)) {
        hf__zk_add(t, HF__ZK_DELETE, NULL);
    }
    hf__zk_then(t, take_folder);
}

/* ---- a claim and its slot */

static bool has_slot(const struct hf__zk_task *t)
{
    return t->is_known && t->own.slot_name[0] != '\0';
}

static void add_leave(struct hf__zk_task *t)
{
    if (has_slot(t)) {
        hf__zk_add(t, HF__ZK_DELETE, t->own.slot_name);
    }
    hf__zk_add(t, HF__ZK_DELETE, t->own.name);
}

/* Are the claim and its slot gone, whoever deleted them? If not, the task has
 * ended. */
static bool has_left(struct hf__zk_task *t)
{
    int n = has_slot(t) ? 2 : 1;

    for (int i = 0; i < n; i++) {
        if (hf__zk_rc(t, i) != ZOK && hf__zk_rc(t, i) != ZNONODE) {
            t->own.is_leaving = true;
            hf__zk_remember(t);
            hf__zk_fail_at(t, i, t->own.name);
            return false;
        }
    }
    return true;
}

static void take_withdrawal(struct hf__zk_task *t)
{
    if (has_left(t)) {
        hf__zk_forget(t);
        if (t->verdict == HF_BUSY) {
            (void)hf__zk_look_take(t);
        }
        finish_leaving(t, t->verdict);
    }
}

void hf__zk_withdraw(struct hf__zk_task *t)
{
    if (hf__zk_is_simple(t)) {
        hf__zk_simple_leave(t);
        return;
    }
    add_leave(t);
    hf__zk_look_add_one(t);
    hf__zk_then(t, take_withdrawal);
}

/* ---- a claim whose number says nothing
 *
 * Sequences start at 0 again with a new folder, and the server deletes only an
 * empty one. While an older claim is there, a new one can't get a place behind
 * it: it is refused, and its caller tries again later.
 */

static void tell_exhausted(struct hf__zk_task *t)
{
    hf__zk_finish(t, hf__fail(t->op->err, HF_EUNSAFE,
                              "%s has had 2^31 claims, ZooKeeper numbers no "
                              "further, and there is more in it than claims: "
                              "stop all who use it and delete it",
                              t->folder));
}

static void take_turn(struct hf__zk_task *t)
{
    int i = t->n_asked - 1;
    int rc = hf__zk_rc(t, i);

    if (!has_left(t)) {
        return;
    }
    if (rc == ZOK || rc == ZNONODE) {
        t->own.slot_name[0] = '\0';
        hf__zk_start_anew(t);
        return;
    }
    hf__zk_forget(t);
    if (rc == ZNOTEMPTY && t->queue.n_foreign + t->queue.n_markers == 0) {
        /* Another exhausted claim is leaving as well. */
        hf__zk_list_and_tell(t);
    } else if (rc == ZNOTEMPTY) {
        tell_exhausted(t);
    } else {
        hf__zk_fail_at(t, i, NULL);
    }
}

void hf__zk_leave_exhausted(struct hf__zk_task *t)
{
    int32_t own = t->queue.claims[t->position].child.sequence;
    int n_others = t->queue.n_fresh - (hf__zk_is_exhausted(own) ? 0 : 1);

    t->verdict = HF_BUSY;
    t->op->is_queued = false;
    if (n_others > 0) {
        hf__zk_withdraw(t);
        return;
    }
    add_leave(t);
    hf__zk_add(t, HF__ZK_DELETE, NULL);
    hf__zk_then(t, take_turn);
}

/* ---- RELEASE of what is known */

static void end_release(struct hf__zk_task *t, bool was_ours)
{
    if (t->is_known) {
        t->op->ret_reason = t->own.stage == HF__ZK_GRANTED && !was_ours
                                ? HF_REASON_BROKEN
                                : HF_REASON_NONE;
        hf__zk_forget(t);
    }
    if (was_ours) {
        finish_leaving(t, HF_OK);
    } else {
        hf__zk_list_and_tell(t);
    }
}

static void take_release(struct hf__zk_task *t)
{
    int i = has_slot(t) ? 1 : 0;
    bool was_held = t->own.stage == HF__ZK_GRANTED;

    if (has_left(t)) {
        end_release(t, was_held && (hf__zk_rc(t, i) == ZOK || t->was_leaving));
    }
}

static void simple_release(struct hf__zk_task *t);

/* ---- RELEASE of what may be there */

int hf__zk_add_sweep(struct hf__zk_task *t, bool slots_only)
{
    int n_taken = t->queue.n_taken;
    int n = 0;

    for (int i = 0; i < n_taken + (slots_only ? 0 : t->queue.n); i++) {
        bool is_slot = i < n_taken;
        const struct hf__zk_child *child =
            is_slot ? &t->queue.taken[i].child
                    : &t->queue.claims[i - n_taken].child;

        if (hf__token_equal(&child->token, &t->op->token)) {
            hf__zk_add(t, HF__ZK_DELETE,
                       is_slot ? t->queue.taken[i].name
                               : t->queue.claims[i - n_taken].name);
            n++;
        }
    }
    return n;
}

/* It is not known whether the claim had entered, but that it was let in is. */
static void take_sweep(struct hf__zk_task *t)
{
    int first = hf__zk_queue_find_token(&t->queue, 0, &t->op->token);
    bool was_in = first >= 0 && t->queue.claims[first].entry == HF__ENTRY_OPEN;

    if (!hf__zk_are_gone(t, t->n_asked)) {
        return;
    }
    if (t->is_known) {
        hf__zk_forget(t);
    }
    if (was_in) {
        finish_leaving(t, HF_OK);
    } else {
        hf__zk_list_and_tell(t);
    }
}

static void take_search(struct hf__zk_task *t)
{
    if (!hf__zk_shows_life(hf__zk_rc(t, 2))) {
        hf__zk_fail_at(t, 2, NULL);
        return;
    }
    if (!hf__zk_see_search(t)) {
        return;
    }
    if (hf__zk_add_sweep(t, false) > 0) {
        hf__zk_then(t, take_sweep);
        return;
    }
    if (t->is_known) {
        hf__zk_forget(t);
    }
    hf__zk_tell(t);
}

void hf__zk_release(struct hf__zk_task *t)
{
    t->op->ret_reason = HF_REASON_NONE;
    t->verdict = HF_LOST;
    t->was_leaving = t->own.is_leaving;
    if (hf__zk_is_simple(t)) {
        simple_release(t);
    } else if (t->is_known && t->own.stage != HF__ZK_UNANSWERED &&
               !t->own.is_slot_unanswered) {
        t->will_leave = true;
        t->may_join = !has_slot(t);
        add_leave(t);
        hf__zk_then(t, take_release);
    } else {
        hf__zk_add_search(t);
        hf__zk_add(t, HF__ZK_PROOF, NULL);
        hf__zk_then(t, take_search);
    }
}

/* ---- the simple recipe's */

bool hf__zk_simple_is_ours(const struct hf__zk_task *t, int i)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, i);
    struct hf__zk_data node_data;

    if (a->rc != ZOK) {
        return false;
    }
    if (t->is_known && t->own.stage == HF__ZK_GRANTED) {
        return (uint64_t)a->stat.czxid == t->own.fence;
    }
    hf__zk_data_read(a->text, (size_t)a->length, &node_data);
    return hf__token_equal(&node_data.token, &t->op->token) &&
           (t->op->kind == HF__OP_RELEASE ||
            a->stat.ephemeralOwner == hf__zk_session_id(&t->s->ref));
}

/* Our lock is deleted with its marker in one transaction (recipe.c says why).
 * Only if the marker alone was deleted, by hand, we delete the lock by its
 * path, right after seeing that it is ours: if somebody breaks it by hand in
 * that moment, and another client makes the next lock, that lock is deleted. */

/* Our lock is gone; was_there says whether we have just deleted it. */
static void end_leaving(struct hf__zk_task *t, bool was_there)
{
    bool was_held = t->is_known && t->own.stage == HF__ZK_GRANTED;

    if (t->op->kind == HF__OP_RELEASE) {
        end_release(t, was_there || (was_held && t->was_leaving));
    } else if (t->verdict == HF__AGAIN) {
        t->own.slot_name[0] = '\0'; /* the marker is gone */
        hf__zk_start_anew(t);
    } else {
        if (t->is_known) {
            hf__zk_forget(t);
        }
        finish_leaving(t, t->verdict);
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

static void take_marker(struct hf__zk_task *t)
{
    if (hf__zk_is_gone(t, 0, NULL)) {
        end_leaving(t, false);
    }
}

static void delete_marker(struct hf__zk_task *t)
{
    hf__zk_add(t, HF__ZK_DELETE, t->marker);
    hf__zk_then(t, take_marker);
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
        delete_marker(t);
    } else {
        hf__zk_fail_at(t, 0, HF__ZK_LOCK_NAME);
    }
}

void hf__zk_simple_leave(struct hf__zk_task *t)
{
    hf__zk_marker_write(&t->op->token, t->marker);
    hf__zk_add(t, HF__ZK_DELETE_LOCK, NULL);
    hf__zk_then(t, take_both);
}

/* ---- what may be there */

enum { SEARCH_SYNC, SEARCH_LOCK, SEARCH_MARKER, SEARCH_PROOF };

static void take_lock_search(struct hf__zk_task *t)
{
    if (!hf__zk_shows_life(hf__zk_rc(t, SEARCH_PROOF))) {
        hf__zk_fail_at(t, SEARCH_PROOF, NULL);
        return;
    }
    if (!hf__zk_is_gone(t, SEARCH_SYNC, NULL) ||
        !hf__zk_is_gone(t, SEARCH_LOCK, HF__ZK_LOCK_NAME) ||
        !hf__zk_is_gone(t, SEARCH_MARKER, NULL)) {
        return;
    }
    if (hf__zk_simple_is_ours(t, SEARCH_LOCK)) {
        hf__zk_simple_leave(t);
    } else if (hf__zk_rc(t, SEARCH_MARKER) == ZOK) {
        delete_marker(t);
    } else {
        end_leaving(t, false);
    }
}

static void simple_release(struct hf__zk_task *t)
{
    hf__zk_marker_write(&t->op->token, t->marker);
    if (t->is_known && t->own.stage == HF__ZK_GRANTED) {
        t->will_leave = true;
        hf__zk_simple_leave(t);
        return;
    }
    hf__zk_add(t, HF__ZK_SYNC, NULL);
    hf__zk_add(t, HF__ZK_GET, HF__ZK_LOCK_NAME);
    hf__zk_add(t, HF__ZK_EXISTS, t->marker);
    hf__zk_add(t, HF__ZK_PROOF, NULL);
    hf__zk_then(t, take_lock_search);
}
