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
#include "src/backend/zookeeper/task.h"

#include "src/base/error.h"

/* ---- looking for what may be there */

void hf__zk_search_ask(struct hf__zk_task *t)
{
    hf__zk_ask_sync(t, 0);
    hf__zk_ask_list(t, 1);
}

bool hf__zk_search_take(struct hf__zk_task *t)
{
    return hf__zk_is_gone(t, 0, NULL) && hf__zk_see(t, 1);
}

/* ---- the folder, which a server takes away by itself if it can */

bool hf__zk_has_no_containers(const struct hf__zk_task *t)
{
    return atomic_load(&hf__zk_task_common(t)->has_no_containers);
}

static void ask_folder(struct hf__zk_task *t)
{
    hf__zk_ask_delete(t, 0, NULL);
}

/* Somebody may have come, and then it stays. */
static void take_folder(struct hf__zk_task *t)
{
    hf__zk_finish(t, t->verdict);
}

static const struct hf__zk_step deleting_folder = {true, ask_folder,
                                                   take_folder};

void hf__zk_finish_leaving(struct hf__zk_task *t, int result)
{
    if (hf__zk_has_no_containers(t)) {
        t->verdict = result;
        hf__zk_next(t, &deleting_folder, 1);
    } else {
        hf__zk_finish(t, result);
    }
}

/* ---- taking away */

static bool has_slot(const struct hf__zk_task *t)
{
    return t->is_known && t->own.slot_name[0] != '\0';
}

bool hf__zk_is_gone(struct hf__zk_task *t, int i, const char *child)
{
    if (hf__zk_rc(t, i) != ZOK && hf__zk_rc(t, i) != ZNONODE) {
        hf__zk_fail_at(t, i, child);
        return false;
    }
    return true;
}

/* ---- what a claim that is gone has left */

static void end_clearing(struct hf__zk_task *t)
{
    hf__zk_forget(t);
    if (t->op->kind == HF__OP_ACQUIRE) {
        hf__zk_make(t);
    } else {
        hf__zk_list_and_tell(t);
    }
}

static void ask_rest(struct hf__zk_task *t)
{
    hf__zk_ask_delete(t, 0, t->own.slot_name);
}

static void take_rest(struct hf__zk_task *t)
{
    if (hf__zk_is_gone(t, 0, t->own.slot_name)) {
        end_clearing(t);
    }
}

static const struct hf__zk_step clearing = {true, ask_rest, take_rest};

void hf__zk_clear_rest(struct hf__zk_task *t)
{
    if (has_slot(t)) {
        hf__zk_next(t, &clearing, 1);
    } else {
        end_clearing(t);
    }
}

/* ---- a claim and its slot */

/* The slot, the claim. How many requests. */
static int ask_leave(struct hf__zk_task *t)
{
    int n = 0;

    if (has_slot(t)) {
        hf__zk_ask_delete(t, n++, t->own.slot_name);
    }
    hf__zk_ask_delete(t, n++, t->own.name);
    return n;
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

static void ask_withdrawal(struct hf__zk_task *t)
{
    hf__zk_look_ask(t, ask_leave(t));
}

static void take_withdrawal(struct hf__zk_task *t)
{
    int n = has_slot(t) ? 2 : 1;

    if (has_left(t)) {
        hf__zk_forget(t);
        if (t->verdict == HF_BUSY) {
            (void)hf__zk_look_take(t, n);
        }
        hf__zk_finish_leaving(t, t->verdict);
    }
}

static const struct hf__zk_step withdrawing = {true, ask_withdrawal,
                                               take_withdrawal};

void hf__zk_withdraw(struct hf__zk_task *t)
{
    int n = hf__zk_look_plan_one(t);

    hf__zk_next(t, &withdrawing, n + (has_slot(t) ? 2 : 1));
}

/* ---- a claim whose number says nothing
 *
 * Numbers begin anew with the folder, which the server deletes if it is empty.
 * As long as somebody is there who came before that, who comes now can't stand
 * behind: it is refused, and comes again.
 */

static void ask_turn(struct hf__zk_task *t)
{
    hf__zk_ask_delete(t, ask_leave(t), NULL);
}

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
    int i = has_slot(t) ? 2 : 1;
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

static const struct hf__zk_step turning = {true, ask_turn, take_turn};

void hf__zk_leave_worn(struct hf__zk_task *t)
{
    int32_t own = t->line.claims[t->place].child.sequence;
    int n_others = t->line.n_fresh - (hf__zk_is_worn(own) ? 0 : 1);

    t->verdict = HF_BUSY;
    t->op->is_queued = false;
    if (n_others > 0) {
        hf__zk_withdraw(t);
    } else {
        hf__zk_next(t, &turning, has_slot(t) ? 3 : 2);
    }
}

/* ---- RELEASE of what is known */

static void leave(struct hf__zk_task *t)
{
    t->own.is_leaving = true; /* nobody has broken it */
    hf__zk_remember(t);
}

static void join_release(struct hf__zk_task *t)
{
    leave(t);
    hf__zk_join_leave(t, t->own.name);
}

static void ask_release(struct hf__zk_task *t)
{
    if (!t->is_joined) {
        leave(t);
        (void)ask_leave(t);
    }
}

static void take_release(struct hf__zk_task *t);
static const struct hf__zk_step releasing = {true, ask_release, take_release};

static void take_release(struct hf__zk_task *t)
{
    int i = has_slot(t) ? 1 : 0;
    bool was_held = t->own.stage == HF__ZK_GRANTED;
    bool was_ours = was_held && (hf__zk_rc(t, i) == ZOK || t->was_leaving);

    if (hf__zk_is_undone(t, &releasing) || !has_left(t)) {
        return;
    }
    t->op->ret_reason =
        was_held && !was_ours ? HF_REASON_BROKEN : HF_REASON_NONE;
    hf__zk_forget(t);
    if (was_ours) {
        hf__zk_finish_leaving(t, HF_OK);
        return;
    }
    t->verdict = HF_LOST;
    hf__zk_list_and_tell(t);
}

/* ---- RELEASE of what may be there */

/* Slots and claims of the token: how many, which are deleted if `deletes`. */
static int find_all(struct hf__zk_task *t, bool deletes)
{
    int n = 0;

    for (int i = 0; i < t->line.n_taken + t->line.n; i++) {
        int k = i - t->line.n_taken;
        const struct hf__zk_child *child =
            k < 0 ? &t->line.taken[i].child : &t->line.claims[k].child;

        if (hf__token_equal(&child->token, &t->op->token)) {
            if (deletes) {
                hf__zk_ask_delete(t, n,
                                  k < 0 ? t->line.taken[i].name
                                        : t->line.claims[k].name);
            }
            n++;
        }
    }
    return n;
}

static void ask_sweep(struct hf__zk_task *t)
{
    (void)find_all(t, true);
}

/* Whether it had entered is not known; that it was let in is. */
static void take_sweep(struct hf__zk_task *t)
{
    int first = hf__zk_line_find_token(&t->line, 0, &t->op->token);
    bool was_in = first >= 0 && t->line.claims[first].entry == HF__ENTRY_OPEN;

    for (int i = 0; i < t->n_asked; i++) {
        if (!hf__zk_is_gone(t, i, NULL)) {
            return;
        }
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

static const struct hf__zk_step sweeping = {true, ask_sweep, take_sweep};

static void ask_search(struct hf__zk_task *t)
{
    hf__zk_search_ask(t);
    hf__zk_ask_proof(t, 2, NULL);
}

static void take_search(struct hf__zk_task *t)
{
    int n;

    if (!hf__zk_shows_life(hf__zk_rc(t, 2))) {
        hf__zk_fail_at(t, 2, NULL);
        return;
    }
    if (!hf__zk_search_take(t)) {
        return;
    }
    n = find_all(t, false);
    if (n > 0) {
        hf__zk_next(t, &sweeping, n);
        return;
    }
    if (t->is_known) {
        hf__zk_forget(t);
    }
    hf__zk_tell(t);
}

static const struct hf__zk_step searching = {true, ask_search, take_search};

void hf__zk_release(struct hf__zk_task *t)
{
    t->op->ret_reason = HF_REASON_NONE;
    t->verdict = HF_LOST;
    t->was_leaving = t->own.is_leaving;
    if (hf__zk_is_simple(t)) {
        hf__zk_simple_release(t);
    } else if (t->is_known && t->own.stage != HF__ZK_DOUBTFUL &&
               !t->own.is_slot_doubtful) {
        hf__zk_next(t, &releasing, has_slot(t) ? 2 : 1);
        t->join = has_slot(t) ? NULL : join_release;
    } else {
        hf__zk_next(t, &searching, 3);
    }
}
