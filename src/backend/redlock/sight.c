/* SPDX-License-Identifier: MIT */
/*
 * Whose a name is, from what the members show of it. This file decides who
 * holds it, if anybody does, and which fence is told of that; what is asked of
 * them is batch.c's. Keeps no state but the vote's. Called by the session's
 * thread.
 */
#include "src/backend/redlock/vote.h"

#include "src/backend/crowd.h"
#include "src/base/error.h"

static bool is_same_state(const struct hf__record *a,
                          const struct hf__record *b)
{
    return a->is_held == b->is_held && a->is_kept == b->is_kept &&
           hf__token_equal(&a->token, &b->token);
}

/* The members that show the same as that one. */
static unsigned agreeing(const struct hf__vote *v, int member)
{
    const struct hf__record *own = &v->sights[member].record;
    unsigned found = 0;

    for (int i = 0; i < v->quorum.members; i++) {
        const struct hf__sight *s = &v->sights[i];

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
            (best < 0 || (v->sights[best].record.owner.host[0] == '\0' &&
                          v->sights[i].record.owner.host[0] != '\0'))) {
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
        if ((all >> i & 1) != 0 && v->sights[i].fence > record->fence) {
            record->fence = v->sights[i].fence;
        }
    }
}

static unsigned who_answered(const struct hf__vote *v)
{
    unsigned all = 0;

    for (int i = 0; i < v->quorum.members; i++) {
        all |= v->sights[i].is_there ? 1u << i : 0;
    }
    return all;
}

/* Of as many, those who say it for longer: who came later is refused. */
static bool is_older(const struct hf__vote *v, unsigned a, unsigned b)
{
    int one = best_of(v, a);
    int other = best_of(v, b);

    return other < 0 || v->sights[one].record.acquired_us <
                            v->sights[other].record.acquired_us;
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
        const struct hf__sight *s = &v->sights[i];
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
        unsigned same = v->sights[i].is_there ? agreeing(v, i) : 0;

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
        fences[i] = v->sights[i].fence;
    }
}

/* Of the grant that those show, no less than what was told at it: the number
 * that so many of them have, as have it for sure if a majority granted. */
static uint64_t told_fence(const struct hf__vote *v, const uint64_t *fences,
                           unsigned all, unsigned most)
{
    int sure = hf__quorum_majority(v->quorum.members) -
               (v->quorum.members - __builtin_popcount(all));

    return hf__nth_fence(fences, most, sure < 1 ? 1 : sure);
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
    *ret_record = v->sights[best_of(v, most)].record;
    ret_record->fence = ret_record->is_held ? told_fence(v, fences, all, most)
                                            : hf__nth_fence(fences, all, 1);
}

int hf__sights_give(struct hf__vote *v)
{
    struct hf__party party = {.is_waiting = false};

    look(v, &party.record);
    if (v->op->ret_record != NULL) {
        *v->op->ret_record = party.record;
    }
    v->op->fence = party.record.fence;
    if (v->op->ret_crowd == NULL || !party.record.is_held) {
        return HF_OK;
    }
    return hf__crowd_add(v->op->ret_crowd, &party) == HF_OK
               ? (int)HF_OK
               : hf__fail(v->op->err, HF_ENOMEM, "out of memory for a look");
}

/*
 * A majority shows that it is held. Its fence is what a majority has, or more,
 * if that is surely no less than what was told at the grant. Of the majority
 * that has that much, this many have answered: so with all answers it is. Where
 * less than a majority shows it, there is none to raise it.
 */
bool hf__sights_want_raise(struct hf__vote *v)
{
    uint64_t fences[HF__MEMBERS_MAX] = {0};
    unsigned all = who_answered(v);
    unsigned most = who_hold(v, all);
    int best = best_of(v, most);

    if (best < 0 || !v->sights[best].record.is_held ||
        __builtin_popcount(most) < hf__quorum_majority(v->quorum.members)) {
        return false;
    }
    read_fences(v, fences);
    v->raise.token = v->sights[best].record.token;
    v->raise.fence = told_fence(v, fences, all, most);
    return v->raise.fence != hf__safe_fence(fences, most, v->quorum.members);
}
