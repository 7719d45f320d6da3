/* SPDX-License-Identifier: MIT */
/*
 * The rules of the records of a crowd: nobody's live grant is changed by
 * another token, each new grant of a name has a higher fence, whatever its
 * mode, and who releases or wants slots of another number is told the truth.
 */
#include "tests/sim/oracles.h"

#include "src/backend/crowd.h"

#include <inttypes.h>

static bool is_running(const struct hf__applied *a, int64_t ends, int client,
                       int life)
{
    return a->m->begun < ends && (a->lives == NULL || a->lives[client] == life);
}

static const struct hf__sharer *find_sharer(const struct hf__row *row,
                                            uint64_t token)
{
    for (int i = 0; i < row->n_sharers; i++) {
        if (row->sharers[i].token == token) {
            return &row->sharers[i];
        }
    }
    return NULL;
}

static bool owns(const struct hf__row *row, uint64_t token)
{
    return row->token == token || find_sharer(row, token) != NULL;
}

/* Nobody's live grant is changed but the token's own. */
static void check_others(struct hf__oracle *o, const struct hf__applied *a)
{
    const struct hf__row *before = a->before;

    if (before->token != a->m->token && before->token != 0 &&
        is_running(a, before->ends, before->client, before->life) &&
        (a->after->token != before->token || a->after->ends != before->ends)) {
        hf__oracle_convict(o, HF__RULE_ROW,
                           "token %" PRIu64 " changes the row of %" PRIu64,
                           a->m->token, before->token);
    }
    for (int i = 0; i < before->n_sharers; i++) {
        const struct hf__sharer *was = &before->sharers[i];
        const struct hf__sharer *is = find_sharer(a->after, was->token);

        if (was->token != a->m->token &&
            is_running(a, was->ends, was->client, was->life) &&
            (is == NULL || is->ends != was->ends || is->fence != was->fence ||
             is->slot != was->slot)) {
            hf__oracle_convict(o, HF__RULE_ROW,
                               "token %" PRIu64 " changes the grant of %" PRIu64
                               " beside it",
                               a->m->token, was->token);
        }
    }
}

static void check_fence(struct hf__oracle *o, const struct hf__applied *a)
{
    bool is_new =
        a->m->result == HF_OK &&
        (a->m->op == HF__OP_HANDOVER ||
         (a->m->op == HF__OP_ACQUIRE && !owns(a->before, a->m->token)));

    if (a->after->fence < a->before->fence ||
        (is_new && a->m->fence <= a->before->fence)) {
        hf__oracle_convict(o, HF__RULE_FENCE,
                           "a grant has fence %" PRIu64 " after %" PRIu64,
                           a->m->fence, a->before->fence);
    }
}

/* Slots of another number: only while somebody has such a one. */
static void check_misfit(struct hf__oracle *o, const struct hf__applied *a)
{
    for (int i = 0; i < a->before->n_sharers; i++) {
        const struct hf__sharer *h = &a->before->sharers[i];

        if (h->manner.mode == HF__MODE_SLOTS &&
            h->manner.slots != a->m->manner.slots &&
            is_running(a, h->ends, h->client, h->life)) {
            return;
        }
    }
    hf__oracle_convict(o, HF__RULE_ROW,
                       "token %" PRIu64 " is told of slots that nobody has",
                       a->m->token);
}

void hf__oracle_shared(struct hf__oracle *o, const struct hf__applied *a)
{
    check_others(o, a);
    check_fence(o, a);
    if (a->m->op == HF__OP_RELEASE &&
        (a->m->result == HF_OK) != owns(a->before, a->m->token)) {
        hf__oracle_convict(o, HF__RULE_RELEASE,
                           "a release by token %" PRIu64 " is answered %d",
                           a->m->token, a->m->result);
    }
    if (a->m->result == HF_EINVAL) {
        check_misfit(o, a);
    }
}
