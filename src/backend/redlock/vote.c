/* SPDX-License-Identifier: MIT */
/*
 * Makes one result of many answers. First who holds a name, if anybody does,
 * and the fence to report for it, from what the members show; then the result
 * of an operation, from their fences and reasons. batch.c decides who is asked,
 * limits.c for how long. Keeps no state outside the vote. Called by the
 * session's thread.
 */
#include "src/backend/redlock/vote.h"

#include "src/backend/compatibility.h"
#include "src/base/error.h"

#include <string.h>

/* ---- fences */

/* How many of those members have at least that fence. */
static int count(const uint64_t *fences, unsigned members, uint64_t least)
{
    int n = 0;

    for (int i = 0; i < HF__MEMBERS_MAX; i++) {
        n += (members >> i & 1) != 0 && fences[i] >= least;
    }
    return n;
}

/* The n-th highest of those members' fences; 0: there are fewer than n. */
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

/* With a majority in `members`: the highest number that a majority has reached.
 * A later majority gives a number above it. For a single grant it is the very
 * fence that was told, for members with another one were not in that majority.
 * Without a majority: the lowest of the fences. */
static uint64_t safe_fence(const uint64_t *fences, unsigned members, int of)
{
    int majority = hf__quorum_majority(of);
    int n = __builtin_popcount(members);

    return nth_fence(fences, members, n < majority ? n : majority);
}

/* ---- what the members show */

static bool is_same_state(const struct hf__record *a,
                          const struct hf__record *b)
{
    return a->is_held == b->is_held && a->is_kept == b->is_kept &&
           hf__token_equal(&a->token, &b->token);
}

/* The members that show the same state as this one. */
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

/* One of those members, preferably one that knows the owner: a member that has
 * the grant only from a renewal does not. */
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

/* No grant has a majority, even if some members have one: the next claim may
 * get the name. */
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

/* Between equally many members, the grant that is older: the later one was
 * refused. */
static bool is_older(const struct hf__vote *v, unsigned a, unsigned b)
{
    int one = best_of(v, a);
    int other = best_of(v, b);

    return other < 0 || v->views[one].record.acquired_us <
                            v->views[other].record.acquired_us;
}

/*
 * The members that show a grant which may have a majority if all members that
 * did not answer have it, too: as long as they may, nobody else can be granted
 * the name. Of several such grants, the one that most members show. 0: no grant
 * can have a majority.
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

/* The members that show the same state, if more than half of those that
 * answered do. */
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

/* A fence of the grant that `most` show, at least the one told when it was
 * granted: the highest that is known to as many of them as must have it if a
 * majority granted. */
static uint64_t told_fence(const struct hf__vote *v, const uint64_t *fences,
                           unsigned all, unsigned most)
{
    int sure = hf__quorum_majority(v->quorum.members) -
               (v->quorum.members - __builtin_popcount(all));

    return nth_fence(fences, most, sure < 1 ? 1 : sure);
}

/*
 * The record to report: a grant that may have a majority, or else a state that
 * most of those that answered show. If no grant can have one, some attempt is
 * under way or was left behind: nobody holds the name.
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

/* Store the result of an INSPECT. HF_OK, HF_ENOMEM. */
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
 * After an INSPECT by which a majority shows a holder: must v->raise make its
 * fence known? The fence to report, told_fence(), is at least the one told at
 * the grant. It need not be raised if a majority has it already, as is always
 * so when all members have answered. If fewer than a majority show the grant, a
 * raise could not reach one.
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

/* ---- a round: the members' answers */

/* May a later try succeed where a member refuses now? Another client's attempt
 * may stand in a renewal's way for a moment until it is given back, and the
 * next renewal then recreates the grant. So a break must ask all members,
 * too. */
static bool mends(enum hf__op_kind kind)
{
    return kind == HF__OP_RENEW || kind == HF__OP_RELEASE ||
           kind == HF__OP_BREAK;
}

static bool is_over(const struct hf__vote *v)
{
    /* The last member to answer may be the only one that shows the holder. */
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
    v->blank |= v->out; /* those of the round before */
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

/* Note that the member has answered. True: its answer counts and the round is
 * undecided. */
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

/* Keep the newest record: it reflects the end of the others. */
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
        return; /* the records of the first round are reported */
    }
    if (v->views != NULL && a->result == HF_OK) {
        v->views[member] = (struct hf__member_view){true, a->fence, a->record};
    } else if (a->result > 0 || v->op->kind == HF__OP_BREAK) {
        note_record(v, a);
    }
}

bool hf__vote_note(struct hf__vote *v, int member, const struct hf__answer *a)
{
    /* Surely not applied: as for a member that was not asked. */
    int result = a->result == HF__AGAIN ? (int)HF_EUNAVAIL : a->result;

    v->heard |= result >= 0 ? 1u << member : 0;
    if (!is_heard(v, member)) {
        /* Too late to count, but if it granted, that must be given back. */
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
    v->out = late; /* they may still answer */
    v->is_decided = true;
}

/* ---- the verdict */

/* A release succeeded if some members had the grant, a majority answered, and
 * less than a majority refused: those that refused never had it. */
static bool is_released(const struct hf__vote *v)
{
    const struct hf__quorum *q = &v->quorum;
    int majority = hf__quorum_majority(q->members);

    return v->op->kind == HF__OP_RELEASE && q->granted > 0 &&
           q->granted + q->refused >= majority && q->refused < majority;
}

/* The members that had the grant and those that did not answer are too few for
 * a majority: there was no grant. Otherwise it is broken where it was found,
 * and may go on at the others. */
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

/* True: `majority` of those members or more have *ret_fence, exactly. Else it
 * is the highest. */
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

/* The reason that most members give; of equally frequent ones the first in
 * `order`, which begins with the one that tells most. */
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
