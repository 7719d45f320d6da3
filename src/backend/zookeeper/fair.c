/* SPDX-License-Identifier: MIT */
/*
 * The ordered recipe: what a claim that stands in the tree does, by a listing
 * that was taken after it was made (line.h has the rule).
 *
 * Fences rise in the order in which claims enter. One that is alone since it
 * was made, or foresaw that it would be first, has its own zxid; one that
 * waited, or stands beside others, writes that it has entered, and that write's
 * zxid is its fence, for another may have entered, and gone, since it was made.
 * Of slots, the making of the child that says which one it is is that write; if
 * two make one of the same number, the later one sees the other's, and takes
 * another. Called by the session's thread.
 */
#include "src/backend/zookeeper/steps.h"

#include "src/base/error.h"

#include <string.h>

/* A lock of the other recipe's is looked at so often before it is believed. */
#define LOOKS_MAX 3

/* Is the i-th answer, of our own claim, that it is there? If not, another is
 * made, for somebody has broken it, or the task has ended. */
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

/* Whoever was first to take it has it. */
static void judge_slot(struct hf__zk_task *t, uint64_t born)
{
    int taken = hf__zk_line_find_taken(&t->line, t->own.slot_name);

    t->place = hf__zk_line_find(&t->line, t->own.name);
    if (t->place < 0 || taken < 0) {
        hf__zk_start_anew(t); /* somebody has broken it */
    } else if (hf__zk_is_worn(t->line.taken[taken].child.sequence)) {
        hf__zk_leave_worn(t);
    } else if (t->line.taken[taken].claim == t->place) {
        t->own.slot = t->slot;
        hf__zk_granted(t, born);
    } else {
        concede(t);
    }
}

static void take_slot(struct hf__zk_task *t)
{
    const struct hf__zk_answer *a = hf__zk_answered(t, 0);

    if (a->rc == ZNONODE) {
        t->own.is_slot_doubtful = false; /* the whole folder is gone */
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

/* Slots are given up before the claims that had them; so if none is free, one
 * was left behind by a claim that was taken away from its session, which is to
 * notice. The claim says that it has entered, so that who is next in line
 * looks. */
static void choose_slot(struct hf__zk_task *t)
{
    t->slot = hf__zk_line_free_slot(&t->line, t->place);
    if (t->slot < 0) {
        wait_or_leave(t);
        return;
    }
    t->own.is_slot_doubtful = true;
    hf__zk_remember(t);
    hf__zk_add(t, HF__ZK_MAKE_SLOT, NULL);
    hf__zk_write(t, HF__ZK_HOLDS);
    hf__zk_add(t, HF__ZK_LIST, NULL);
    hf__zk_then(t, take_slot);
}

/* Has nobody entered since it was made? */
static bool is_sure(const struct hf__zk_task *t)
{
    int32_t own = t->line.claims[t->place].child.sequence;

    if (t->born == 0) {
        return false;
    }
    if (hf__zk_is_try(t)) {
        return own == t->foreseen &&
               (own == 0 || t->folder_born == t->foreseen_in);
    }
    return t->line.n == 1 && t->changed == t->born;
}

static void enter(struct hf__zk_task *t)
{
    if (t->op->manner.mode == HF__MODE_SLOTS) {
        if (t->own.slot_name[0] != '\0') {
            concede(t); /* of an attempt that broke off */
        } else {
            choose_slot(t);
        }
    } else if (is_sure(t) || t->mark != 0) {
        hf__zk_granted(t, is_sure(t) ? t->born : t->mark);
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

/* Does it keep its place? What is before it matters only as a stream that
 * could go on for ever. */
static bool is_to_wait(const struct hf__zk_task *t)
{
    int stream = hf__zk_line_stream(&t->line, t->place);
    struct hf__stand one = {.slot = -1};
    struct hf__stands before = {&one, stream < 0 ? 0 : 1, NULL, 0};

    if (stream >= 0) {
        one.manner = t->line.claims[stream].child.manner;
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
    if (!t->line.has_lock) {
        return HF_OK;
    }
    return hf__fail(t->op->err, HF_EUNSAFE,
                    "%s is used with recipe=simple by others, which would not "
                    "see a claim of recipe=fair: use one recipe for a name",
                    t->folder);
}

/* Who stood in line before the lock was made waits on, if that goes again. */
static bool may_go_again(struct hf__zk_task *t)
{
    return t->line.has_lock && t->born == 0 && ++t->n_looks < LOOKS_MAX;
}

static void decide_by_line(struct hf__zk_task *t)
{
    switch (t->line.claims[t->place].entry) {
    case HF__ENTRY_OPEN:
        enter(t);
        return;
    case HF__ENTRY_MISFIT:
        t->verdict = hf__tell_misfit(t->op, hf__zk_line_slots(&t->line));
        hf__zk_withdraw(t);
        return;
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        break;
    }
    wait_or_leave(t);
}

void hf__zk_decide(struct hf__zk_task *t)
{
    t->place = hf__zk_line_find(&t->line, t->own.name);
    if (t->place < 0) {
        hf__zk_start_anew(t);
    } else if (t->own.stage == HF__ZK_GRANTED) {
        hf__zk_granted(t, t->own.fence);
    } else if (may_go_again(t)) {
        hf__zk_look_again(t);
    } else if ((t->verdict = hf__zk_judge_lock(t)) != HF_OK) {
        hf__zk_withdraw(t);
    } else if (hf__zk_is_worn(t->line.claims[t->place].child.sequence)) {
        hf__zk_leave_worn(t);
    } else {
        decide_by_line(t);
    }
}
