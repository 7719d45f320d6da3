/* SPDX-License-Identifier: MIT */
/*
 * Many answers, one result. This file decides what the members' fences and
 * reasons amount to; what their records do is sight.c's, who is asked, and for
 * how long, batch.c's.
 * Keeps no state but the vote's. Called by the session's thread.
 */
#include "src/backend/redlock/vote.h"

#include <string.h>

/* ---- a round */

/* Its refusal may pass: where somebody's attempt, which will be given back,
 * stands in the way for a moment, the next renewal makes the grant anew. So
 * who breaks a grant asks all of them. */
static bool mends(enum hf__op_kind kind)
{
    return kind == HF__OP_RENEW || kind == HF__OP_RELEASE ||
           kind == HF__OP_BREAK;
}

static bool is_over(const struct hf__vote *v)
{
    /* A holder may be seen by the last of them alone. */
    return v->op->kind == HF__OP_INSPECT && !v->is_raising
               ? (v->out & v->counted) == 0
               : hf__quorum_is_decided(&v->quorum);
}

void hf__vote_begin(struct hf__vote *v, int members, unsigned sent,
                    unsigned counting)
{
    hf__quorum_init(&v->quorum, members);
    if (mends(v->op->kind)) {
        hf__quorum_mends(&v->quorum);
    }
    v->blank |= v->out; /* of the round before */
    v->counted = sent & counting;
    v->sent |= sent;
    v->out = sent;
    for (int i = 0; i < members; i++) {
        if ((v->counted >> i & 1) == 0) {
            hf__quorum_note(&v->quorum, HF_EUNAVAIL, 0);
        }
    }
    v->is_decided = is_over(v);
}

/* It counts, and the verdict is open. */
static bool is_heard(struct hf__vote *v, int member)
{
    bool is_out = (v->out >> member & 1) != 0;

    v->out &= ~(1u << member);
    return is_out && !v->is_decided && (v->counted >> member & 1) != 0;
}

static bool note(struct hf__vote *v, int result, uint64_t fence)
{
    hf__quorum_note(&v->quorum, result, fence);
    v->is_decided = is_over(v);
    return v->is_decided;
}

/* Of several records the newest is told: it knows of the others' end. */
static void note_record(struct hf__vote *v, const struct hf__answer *a)
{
    if (a->fence >= v->newest) {
        v->newest = a->fence;
        if (v->op->ret_record != NULL) {
            *v->op->ret_record = a->record;
        }
    }
}

static void note_answer(struct hf__vote *v, int member,
                        const struct hf__answer *a)
{
    if (a->result == HF_OK && !v->is_raising) {
        v->granted |= 1u << member;
        v->fences[member] = a->fence;
    }
    if (a->result > 0 && a->fence != 0) {
        v->refused |= 1u << member;
        v->fences[member] = a->fence;
    }
    if (a->result == HF_LOST) {
        v->reasons[a->reason]++;
    }
    if (v->is_raising) {
        return; /* what was seen before is told */
    }
    if (v->sights != NULL && a->result == HF_OK) {
        v->sights[member] = (struct hf__sight){true, a->fence, a->record};
    } else if (a->result > 0 || v->op->kind == HF__OP_BREAK) {
        note_record(v, a);
    }
}

bool hf__vote_note(struct hf__vote *v, int member, const struct hf__answer *a)
{
    /* Surely not applied, as with a member that was not asked. */
    int result = a->result == HF__AGAIN ? (int)HF_EUNAVAIL : a->result;

    v->heard |= result >= 0 ? 1u << member : 0;
    if (!is_heard(v, member)) {
        /* Late: if it granted, that is to be given back all the same. */
        v->granted |= a->result == HF_OK && !v->is_raising ? 1u << member : 0;
        return false;
    }
    v->blank |= result == HF_EPROTO ? 1u << member : 0;
    note_answer(v, member, a);
    return note(v, result == HF_EPROTO ? (int)HF_EUNKNOWN : result, a->fence);
}

bool hf__vote_miss(struct hf__vote *v, int member, int result)
{
    bool is_out = (v->out >> member & 1) != 0;

    v->blank |= is_out && result == HF_EUNKNOWN ? 1u << member : 0;
    return is_heard(v, member) && note(v, result, 0);
}

void hf__vote_end(struct hf__vote *v)
{
    unsigned late = v->out;

    for (int i = 0; i < HF__MEMBERS_MAX && !v->is_decided; i++) {
        if ((late & v->counted) >> i & 1) {
            (void)hf__vote_miss(v, i, HF_EUNKNOWN);
        }
    }
    v->out = late; /* they may answer yet */
    v->is_decided = true;
}

/* ---- its verdict */

/* Nobody who could be asked has it any more, and some had: the release is
 * done, though others, who never had it or are not there, say otherwise. */
static bool is_released(const struct hf__vote *v)
{
    const struct hf__quorum *q = &v->quorum;
    int majority = hf__quorum_majority(q->members);

    return v->op->kind == HF__OP_RELEASE && q->granted > 0 &&
           q->granted + q->refused >= majority && q->refused < majority;
}

/* Those who had it and those who did not say are too few for a grant: there was
 * none. Else it is broken where it was found, and may go on by the others. */
static bool is_nothing_to_break(const struct hf__vote *v)
{
    const struct hf__quorum *q = &v->quorum;

    return v->op->kind == HF__OP_BREAK && q->refused > 0 &&
           q->members - q->refused < hf__quorum_majority(q->members);
}

int hf__vote_verdict(const struct hf__vote *v)
{
    return is_released(v)           ? (int)HF_OK
           : is_nothing_to_break(v) ? (int)HF_CONFLICT
                                    : hf__quorum_verdict(&v->quorum);
}

static unsigned givers(const struct hf__vote *v)
{
    return v->granted & v->counted;
}

uint64_t hf__nth_fence(const uint64_t *fences, unsigned members, int n)
{
    for (int i = 0; i < HF__MEMBERS_MAX; i++) {
        int above = 0;
        int same = 0;

        for (int j = 0; j < HF__MEMBERS_MAX && (members >> i & 1) != 0; j++) {
            above += (members >> j & 1) != 0 && fences[j] > fences[i];
            same += (members >> j & 1) != 0 && fences[j] == fences[i];
        }
        if (same > 0 && above < n && above + same >= n) {
            return fences[i];
        }
    }
    return 0;
}

uint64_t hf__safe_fence(const uint64_t *fences, unsigned members, int of)
{
    int majority = hf__quorum_majority(of);
    int n = __builtin_popcount(members);

    return hf__nth_fence(fences, members, n < majority ? n : majority);
}

/* A majority of those members has this very fence; else it is the highest. */
static bool agree(const uint64_t *fences, unsigned members, int majority,
                  uint64_t *ret_fence)
{
    for (int i = 0; i < HF__MEMBERS_MAX; i++) {
        int same = 0;

        for (int j = 0; j < HF__MEMBERS_MAX && (members >> i & 1) != 0; j++) {
            same += (members >> j & 1) != 0 && fences[j] == fences[i];
        }
        if (same >= majority) {
            *ret_fence = fences[i];
            return true;
        }
    }
    *ret_fence = hf__nth_fence(fences, members, 1);
    return false;
}

/* ---- why it was lost */

/* What most say; of as many, what says most. */
static hf_reason reason_of(const struct hf__vote *v)
{
    static const hf_reason order[] = {HF_REASON_BROKEN, HF_REASON_TAKEN,
                                      HF_REASON_EXPIRED, HF_REASON_SESSION,
                                      HF_REASON_STORE_GONE};
    hf_reason best = order[0];

    for (size_t i = 1; i < sizeof order / sizeof *order; i++) {
        best = v->reasons[order[i]] > v->reasons[best] ? order[i] : best;
    }
    return best;
}

/* ---- the second round */

bool hf__vote_wants_raise(struct hf__vote *v)
{
    v->raise = (struct hf__op){.kind = HF__OP_RAISE,
                               .key = v->op->key,
                               .token = v->op->token,
                               .manner = v->op->manner,
                               .lease_us = v->op->lease_us};
    if (v->op->kind == HF__OP_INSPECT) {
        return hf__sights_want_raise(v);
    }
    return !agree(v->fences, givers(v), hf__quorum_majority(v->quorum.members),
                  &v->raise.fence);
}

/* ---- the operation's result */

static void give_refusal(struct hf__vote *v, int result)
{
    struct hf__op *op = v->op;

    op->fence = hf__safe_fence(v->fences, v->refused, v->quorum.members);
    if (op->ret_record != NULL) {
        op->ret_record->fence = op->fence;
    }
    if (result == HF_LOST) {
        op->ret_reason = reason_of(v);
    }
}

void hf__vote_give(struct hf__vote *v, int result)
{
    struct hf__op *op = v->op;

    op->result = result;
    if (result > 0) {
        give_refusal(v, result);
    } else if (result == HF_OK) {
        switch (op->kind) {
        case HF__OP_ACQUIRE:
            op->fence = v->raise.fence;
            op->slot = -1;
            break;
        case HF__OP_BREAK:
        case HF__OP_RAISE:
            op->fence = hf__safe_fence(v->fences, givers(v), v->quorum.members);
            break;
        case HF__OP_INSPECT:
            op->result = hf__sights_give(v);
            break;
        case HF__OP_RENEW:
        case HF__OP_RELEASE:
        case HF__OP_HANDOVER:
            break;
        }
    }
}
