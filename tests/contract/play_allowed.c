/* SPDX-License-Identifier: MIT */
/*
 * What the contract leaves to a store: where its answer may be another than
 * that of the name in memory, by what it can do and never by which one it is.
 */
#include "tests/contract/play.h"

static bool was_broken(const struct play *play, uint64_t fence)
{
    for (int i = 0; i < play->n_broken; i++) {
        if (play->broken[i] == fence) {
            return true;
        }
    }
    return false;
}

/* As by a record, which has no more than the fence of the last grant that was
 * broken; or of one that was given back, if what it kept closed was broken. */
static bool follows(const struct play *play, const struct turn *t,
                    hf_reason reason)
{
    uint64_t fence = play->model.fence;

    return reason == hf__reason_for(t->fence, fence, play->model.broken) ||
           (play->broken_keeping != 0 &&
            reason == hf__reason_for(t->fence, fence, play->broken_keeping));
}

/*
 * Why a token has the name no more. Of a grant that stood alone, and was broken
 * before another was, a store may say what follows from the fences, and one
 * that knows better may say so. Who asks for a higher fence does not tell its
 * own, without which nothing follows. And what ends with a session may leave
 * nothing behind: that it was broken is said all the same. Who was never told
 * of a grant is told what follows from none.
 */
static bool may_say(const struct play *play, const struct turn *t,
                    hf_reason reason)
{
    bool is_broken = was_broken(play, t->own_fence);

    if (t->fence != t->own_fence) {
        return true;
    }
    if (reason == HF_REASON_BROKEN) {
        return is_broken;
    }
    if (reason == HF_REASON_SESSION) {
        return has(HF_CAP_SESSION) && !is_broken;
    }
    return (t->own_fence == 0 ||
            (is_broken && t->found.op.lock_mode.mode == HF__MODE_EXCLUSIVE)) &&
           follows(play, t, reason);
}

static void allow_reason(const struct play *play, struct turn *t)
{
    if (may_say(play, t, t->found.op.ret_reason)) {
        t->model.op.ret_reason = t->found.op.ret_reason;
    }
}

static bool has_left_line(const struct play *play, const struct hf__op *op)
{
    for (int i = 0; i < play->model.waiters.n; i++) {
        if (hf__token_equal(&play->model.waiters.list[i]->token, &op->token)) {
            return true;
        }
    }
    return false;
}

/* Is the last ticket in line still there once its release is told of? */
static void allow_promise(const struct play *play, struct turn *t)
{
    const struct hf__op *op = &t->model.op;

    if (op->kind == HF__OP_RELEASE && has_left_line(play, op) &&
        !hf__name_is_awaited(&play->model, &op->token) &&
        !t->model.record.is_held && !t->model.record.is_kept) {
        t->model.record.is_promised = t->found.record.is_promised;
    }
}

/* Has somebody in line been let in beside the holder, and not asked yet? */
static bool is_any_let_in(const struct play *play,
                          struct hf__lock_mode lock_mode)
{
    for (int i = 0; i < play->model.waiters.n; i++) {
        const struct hf__participant *waiter = play->model.waiters.list[i];

        if (hf__lock_modes_compatible(waiter->lock_mode, lock_mode)) {
            return true;
        }
    }
    return false;
}

/* Of several whose leases have no end any is told of, by its own fence or the
 * highest. */
static void allow_other(struct play *play, struct turn *t)
{
    const struct hf__record *found = &t->found.record;
    const struct hf__participant *g =
        hf__participants_find(&play->model.grants, &found->token);
    uint64_t highest = t->model.record.fence;

    if (found->is_held && g != NULL &&
        (hf__participant_holds(g) || t->found.op.kind == HF__OP_BREAK)) {
        hf__participant_tell(&play->model, g, &t->model.record);
        t->model.record.fence =
            found->fence == highest ? highest : t->model.record.fence;
    } else if (found->is_promised && has(HF__CAP_QUEUES) &&
               is_any_let_in(play, t->model.record.lock_mode)) {
        t->model.record = (struct hf__record){
            .is_promised = true, .slot = -1, .fence = found->fence};
    }
}

/*
 * Where leases are a session's, fences are the server's own numbers. Others of
 * the name have used some up meanwhile: while it is not held a later one is
 * told.
 */
static void allow_record(struct play *play, struct turn *t)
{
    uint64_t told = t->found.record.fence;
    struct hf__record *expected = &t->model.record;

    if (expected->is_held) {
        allow_other(play, t);
    }
    if (!expected->is_held && told > expected->fence) {
        expected->fence = told;
        play->model.fence = told > play->model.fence ? told : play->model.fence;
    }
    if (t->model.op.result == HF_LOST) {
        t->model.op.fence = expected->fence;
    }
}

static bool is_slot_free(const struct play *play, const struct turn *t,
                         int slot)
{
    for (int i = 0; i < play->model.grants.n; i++) {
        const struct hf__participant *g = play->model.grants.list[i];

        if (g->slot == slot && hf__participant_holds(g) &&
            !hf__token_equal(&g->token, &t->model.op.token)) {
            return false;
        }
    }
    return slot >= 0 && slot < t->model.op.lock_mode.slots;
}

/* Where all stand in line, whoever was let in before may have a slot already:
 * then another free one is as good. */
static void allow_slot(struct play *play, struct turn *t)
{
    struct hf__participant *g =
        hf__participants_find(&play->model.grants, &t->model.op.token);
    int slot = t->found.op.slot;

    if (has(HF__CAP_QUEUES) && t->out.is_taken && g != NULL && g->slot >= 0 &&
        is_any_let_in(play, g->lock_mode) && is_slot_free(play, t, slot)) {
        g->slot = slot;
        t->model.op.slot = slot;
    }
}

void allow(struct play *play, struct turn *t)
{
    if (t->model.op.kind == HF__OP_ACQUIRE && t->model.op.result == HF_OK) {
        allow_slot(play, t);
    }
    if (t->model.op.result == HF_LOST && t->found.op.result == HF_LOST) {
        allow_reason(play, t);
        allow_promise(play, t);
    }
    if (has(HF_CAP_SESSION)) {
        allow_record(play, t);
    }
}

/* ---- fences */

/* Of those that were broken, and have not been told of it. */
static void note_grants(struct play *play)
{
    for (int i = 0; i < PARTIES_N; i++) {
        const struct claim *c = claim_of(play->parties[i], play->name);
        const struct hf__participant *g =
            hf__participants_find(&play->model.grants, &c->token);

        if (g != NULL && g->state == HF__PARTICIPANT_BROKEN &&
            !was_broken(play, g->fence)) {
            play->broken[play->n_broken++] = g->fence;
            play->broken_keeping = 0;
            play->is_cut[i] = true;
        }
    }
}

/* With what is kept closed the grant that kept it may count as broken. */
static void note_break(struct play *play, const struct turn *t)
{
    if (t->model.record.is_kept) {
        play->broken[play->n_broken++] = t->last;
        play->broken_keeping = t->last;
    }
    note_grants(play);
}

/* The name's rises with each grant and each break, and a grant's is the same
 * when it is told again; or higher, where others' attempts were taken back. */
void take_fence(struct play *play, const struct turn *t)
{
    const struct hf__op *op = &t->found.op;
    struct hf__participant *g = hf__participants_find(
        &play->model.grants,
        op->kind == HF__OP_HANDOVER ? &op->next_token : &op->token);
    bool rises = t->rises;

    if (op->result == HF_OK && !rises && t->out.fence != 0) {
        rises = settles_late() && op->fence > t->out.fence;
        EXPECT(rises || op->fence == t->out.fence);
    }
    if (!rises) {
        return;
    }
    EXPECT_SAFE_MORE(op->fence, t->last);
    EXPECT(op->kind != HF__OP_RAISE || op->fence >= t->out.fence);
    play->model.fence = op->fence;
    if (op->kind == HF__OP_BREAK) {
        note_break(play, t);
    } else if (g != NULL) {
        g->fence = op->fence;
    }
    if (op->kind == HF__OP_HANDOVER) {
        claim_of(t->taker, play->name)->fence = op->fence;
    }
}
