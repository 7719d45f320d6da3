/* SPDX-License-Identifier: MIT */
/*
 * Many answers, one result. First whose a name is, from what the members show
 * of it: who holds it, if anybody does, and which fence is told of that. Then
 * what the members' fences and reasons amount to. Who is asked, and for how
 * long, is batch.c's. Keeps no state but the vote's. Called by the session's
 * thread.
 */
#include "src/backend/redlock/vote.h"

#include "src/backend/compatibility.h"
#include "src/base/error.h"

#include <string.h>

/* ---- fences */

/* How many of those members have so much. */
static int count(const uint64_t *fences, unsigned members, uint64_t least)
{
    int n = 0;

    for (int i = 0; i < HF__MEMBERS_MAX; i++) {
        n += (members >> i & 1) != 0 && fences[i] >= least;
    }
    return n;
}

/* The n-th highest of the fences of those members; 0: there are fewer. */
static uint64_t nth_fence(const uint64_t *fences, unsigned members, int n)
{
    for (int i = 0; i < HF__MEMBERS_MAX; i++) {
        if ((members >> i & 1) != 0 && count(fences, members, fences[i]) >= n &&
            count(fences, members, fences[i] + 1) < n) {
            return fences[i];
        }
    }
    return 0;
}

/* With a majority of them: the highest number that a majority has, or more.
 * What a later majority gives is above it. Of one grant it is the very fence
 * that was told, for those who have another were not of that majority. */
static uint64_t safe_fence(const uint64_t *fences, unsigned members, int of)
{
    int majority = hf__quorum_majority(of);
    int n = __builtin_popcount(members);

    return nth_fence(fences, members, n < majority ? n : majority);
}

/* ---- what they show */

static bool is_same_state(const struct hf__record *a,
                          const struct hf__record *b)
{
    return a->is_held == b->is_held && a->is_kept == b->is_kept &&
           hf__token_equal(&a->token, &b->token);
}

/* The members that show the same as that one. */
static unsigned agreeing(const struct hf__vote *v, int member)
{
    const struct hf__record *own = &v->views[member].record;
    unsigned found = 0;

    for (int i = 0; i < v->quorum.members; i++) {
        const struct hf__member_view *s = &v->views[i];

        if (s->is_there && is_same_state(&s->record, own)) {
            found |= 1u << i;
        }
    }
    return found;
}

/* Of those that show the same, one that knows whose it is: a member that was
 * told of a grant by its renewal does not. */
static int best_of(const struct hf__vote *v, unsigned members)
{
    int best = -1;

    for (int i = 0; i < v->quorum.members; i++) {
        if ((members >> i & 1) != 0 &&
            (best < 0 || (v->views[best].record.owner.host[0] == '\0' &&
                          v->views[i].record.owner.host[0] != '\0'))) {
            best = i;
        }
    }
    return best;
}

/* Nobody has a majority, whoever has some: the next claim may. */
static void tell_nobody(const struct hf__vote *v, unsigned all,
                        struct hf__record *record)
{
    *record =
        (struct hf__record){.holder_lives = -1, .remaining_us = -1, .slot = -1};
    for (int i = 0; i < v->quorum.members; i++) {
        if ((all >> i & 1) != 0 && v->views[i].fence > record->fence) {
            record->fence = v->views[i].fence;
        }
    }
}

static unsigned who_answered(const struct hf__vote *v)
{
    unsigned all = 0;

    for (int i = 0; i < v->quorum.members; i++) {
        all |= v->views[i].is_there ? 1u << i : 0;
    }
    return all;
}

/* Of as many, those who say it for longer: who came later is refused. */
static bool is_older(const struct hf__vote *v, unsigned a, unsigned b)
{
    int one = best_of(v, a);
    int other = best_of(v, b);

    return other < 0 || v->views[one].record.acquired_us <
                            v->views[other].record.acquired_us;
}

/*
 * Those who show a grant that a majority may have made, if all who did not
 * answer have it, too: as long as they do not, nobody else can be granted the
 * name. Of several such, the one that most show. 0: nobody has a majority.
 */
static unsigned who_hold(const struct hf__vote *v, unsigned all)
{
    int missing = v->quorum.members - __builtin_popcount(all);
    unsigned most = 0;

    for (int i = 0; i < v->quorum.members; i++) {
        const struct hf__member_view *s = &v->views[i];
        bool is_closed =
            s->is_there && (s->record.is_held || s->record.is_kept);
        unsigned same = is_closed ? agreeing(v, i) : 0;
        int more = __builtin_popcount(same) - __builtin_popcount(most);

        if (is_closed &&
            __builtin_popcount(same) + missing >=
                hf__quorum_majority(v->quorum.members) &&
            (more > 0 || (more == 0 && is_older(v, same, most)))) {
            most = same;
        }
    }
    return most;
}

/* Those who show that it is free, and the same besides, if most do. */
static unsigned who_agree(const struct hf__vote *v, unsigned all)
{
    for (int i = 0; i < v->quorum.members; i++) {
        unsigned same = v->views[i].is_there ? agreeing(v, i) : 0;

        if (2 * __builtin_popcount(same) > __builtin_popcount(all)) {
            return same;
        }
    }
    return 0;
}

static void read_fences(const struct hf__vote *v,
                        uint64_t fences[HF__MEMBERS_MAX])
{
    for (int i = 0; i < v->quorum.members; i++) {
        fences[i] = v->views[i].fence;
    }
}

/* Of the grant that those show, no less than what was told at it: the number
 * that so many of them have, as have it for sure if a majority granted. */
static uint64_t told_fence(const struct hf__vote *v, const uint64_t *fences,
                           unsigned all, unsigned most)
{
    int sure = hf__quorum_majority(v->quorum.members) -
               (v->quorum.members - __builtin_popcount(all));

    return nth_fence(fences, most, sure < 1 ? 1 : sure);
}

/*
 * What a majority shows is so, and a grant that may have one is told of. Where
 * none can have it, some attempt is under way or was left: nobody holds the
 * name.
 */
static void look(const struct hf__vote *v, struct hf__record *ret_record)
{
    uint64_t fences[HF__MEMBERS_MAX] = {0};
    unsigned all = who_answered(v);
    unsigned most = who_hold(v, all);

    most = most == 0 ? who_agree(v, all) : most;
    if (most == 0) {
        tell_nobody(v, all, ret_record);
        return;
    }
    read_fences(v, fences);
    *ret_record = v->views[best_of(v, most)].record;
    ret_record->fence = ret_record->is_held ? told_fence(v, fences, all, most)
                                            : nth_fence(fences, all, 1);
}

/* What is told of the name. HF_OK, HF_ENOMEM. */
static int give_views(struct hf__vote *v)
{
    struct hf__participant_info participant = {.is_waiting = false};

    look(v, &participant.record);
    if (v->op->ret_record != NULL) {
        *v->op->ret_record = participant.record;
    }
    v->op->fence = participant.record.fence;
    if (v->op->ret_participants == NULL || !participant.record.is_held) {
        return HF_OK;
    }
    return hf__participant_list_add(v->op->ret_participants, &participant) ==
                   HF_OK
               ? (int)HF_OK
               : hf__fail(v->op->err, HF_ENOMEM, "out of memory for a look");
}

/*
 * A majority shows that it is held. Its fence is what a majority has, or more,
 * if that is surely no less than what was told at the grant. Of the majority
 * that has that much, this many have answered: so with all answers it is. Where
 * less than a majority shows it, there is none to raise it.
 */
static bool want_raise(struct hf__vote *v)
{
    uint64_t fences[HF__MEMBERS_MAX] = {0};
    unsigned all = who_answered(v);
    unsigned most = who_hold(v, all);
    int best = best_of(v, most);

    if (best < 0 || !v->views[best].record.is_held ||
        __builtin_popcount(most) < hf__quorum_majority(v->quorum.members)) {
        return false;
    }
    read_fences(v, fences);
    v->raise.token = v->views[best].record.token;
    v->raise.fence = told_fence(v, fences, all, most);
    return v->raise.fence != safe_fence(fences, most, v->quorum.members);
}

/* ---- a round: what they answer */

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
    if (v->views != NULL && a->result == HF_OK) {
        v->views[member] = (struct hf__member_view){true, a->fence, a->record};
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

/* A majority of those members has this very fence; else it is the highest. */
static bool agree(const uint64_t *fences, unsigned members, int majority,
                  uint64_t *ret_fence)
{
    for (int i = 0; i < HF__MEMBERS_MAX; i++) {
        int same = count(fences, members, fences[i]) -
                   count(fences, members, fences[i] + 1);

        if (same >= majority) {
            *ret_fence = fences[i];
            return true;
        }
    }
    *ret_fence = nth_fence(fences, members, 1);
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
                               .lock_mode = v->op->lock_mode,
                               .lease_us = v->op->lease_us};
    if (v->op->kind == HF__OP_INSPECT) {
        return want_raise(v);
    }
    return !agree(v->fences, givers(v), hf__quorum_majority(v->quorum.members),
                  &v->raise.fence);
}

/* ---- the operation's result */

static void give_refusal(struct hf__vote *v, int result)
{
    struct hf__op *op = v->op;

    op->fence = safe_fence(v->fences, v->refused, v->quorum.members);
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
            op->fence = safe_fence(v->fences, givers(v), v->quorum.members);
            break;
        case HF__OP_INSPECT:
            op->result = give_views(v);
            break;
        case HF__OP_RENEW:
        case HF__OP_RELEASE:
        case HF__OP_HANDOVER:
            break;
        }
    }
}
