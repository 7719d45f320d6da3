/* SPDX-License-Identifier: MIT */
/*
 * RELEASE, and taking a claim away that did not enter. What is known to be ours
 * is deleted by its path, which no other claim ever has; what may be ours is
 * looked for by its token first, behind a sync, wherever it came from: also a
 * session of this client's before, of which the server does not know yet that
 * it is dead. That nothing is there is believed only with the answer to a write
 * behind it: reads and a sync an old leader would answer, too. A slot is given
 * up before its claim. Called by the session's thread.
 */
#include "src/backend/zookeeper/steps.h"

#include "src/base/error.h"

/* ---- the folder, which a server takes away by itself if it can */

/* Somebody may have come, and then it stays. */
static void take_folder(struct hf__zk_task *t)
{
    hf__zk_finish(t, t->verdict);
}

void hf__zk_finish_leaving(struct hf__zk_task *t, int result)
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

/* Are both gone, whoever took them away? If not, the task has ended. */
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
        hf__zk_finish_leaving(t, t->verdict);
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
 * Numbers begin anew with the folder, which the server deletes if it is empty.
 * As long as somebody is there who came before that, who comes now can't stand
 * behind: it is refused, and comes again.
 */

static void tell_worn(struct hf__zk_task *t)
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
    if (rc == ZNOTEMPTY && t->line.n_foreign + t->line.n_twins == 0) {
        hf__zk_list_and_tell(t); /* another is leaving as well */
    } else if (rc == ZNOTEMPTY) {
        tell_worn(t);
    } else {
        hf__zk_fail_at(t, i, NULL);
    }
}

void hf__zk_leave_worn(struct hf__zk_task *t)
{
    int32_t own = t->line.claims[t->place].child.sequence;
    int n_others = t->line.n_fresh - (hf__zk_is_worn(own) ? 0 : 1);

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

void hf__zk_end_release(struct hf__zk_task *t, bool was_ours)
{
    if (t->is_known) {
        t->op->ret_reason = t->own.stage == HF__ZK_GRANTED && !was_ours
                                ? HF_REASON_BROKEN
                                : HF_REASON_NONE;
        hf__zk_forget(t);
    }
    if (was_ours) {
        hf__zk_finish_leaving(t, HF_OK);
    } else {
        hf__zk_list_and_tell(t);
    }
}

static void take_release(struct hf__zk_task *t)
{
    int i = has_slot(t) ? 1 : 0;
    bool was_held = t->own.stage == HF__ZK_GRANTED;

    if (has_left(t)) {
        hf__zk_end_release(t, was_held &&
                                  (hf__zk_rc(t, i) == ZOK || t->was_leaving));
    }
}

/* ---- RELEASE of what may be there */

int hf__zk_add_sweep(struct hf__zk_task *t, bool slots_only)
{
    int n_taken = t->line.n_taken;
    int n = 0;

    for (int i = 0; i < n_taken + (slots_only ? 0 : t->line.n); i++) {
        bool is_slot = i < n_taken;
        const struct hf__zk_child *child =
            is_slot ? &t->line.taken[i].child
                    : &t->line.claims[i - n_taken].child;

        if (hf__token_equal(&child->token, &t->op->token)) {
            hf__zk_add(t, HF__ZK_DELETE,
                       is_slot ? t->line.taken[i].name
                               : t->line.claims[i - n_taken].name);
            n++;
        }
    }
    return n;
}

/* Whether it had entered is not known; that it was let in is. */
static void take_sweep(struct hf__zk_task *t)
{
    int first = hf__zk_line_find_token(&t->line, 0, &t->op->token);
    bool was_in = first >= 0 && t->line.claims[first].entry == HF__ENTRY_OPEN;

    if (!hf__zk_are_gone(t, t->n_asked)) {
        return;
    }
    if (t->is_known) {
        hf__zk_forget(t);
    }
    if (was_in) {
        hf__zk_finish_leaving(t, HF_OK);
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
        hf__zk_simple_release(t);
    } else if (t->is_known && t->own.stage != HF__ZK_DOUBTFUL &&
               !t->own.is_slot_doubtful) {
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
