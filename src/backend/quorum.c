/* SPDX-License-Identifier: MIT */
/*
 * The majority rule: what the members' answers mean together. The caller sends
 * to them, keeps time limits, gives back what a failed attempt won, and locks.
 * Thread: any.
 */
#include "src/backend/quorum.h"

#include "src/base/base.h"

#include <string.h>

void hf__quorum_init(struct hf__quorum *q, int members)
{
    HF_ASSERT(members >= 1);
    memset(q, 0, sizeof *q);
    q->members = members;
}

void hf__quorum_mends(struct hf__quorum *q)
{
    q->is_mending = true;
}

static int answered(const struct hf__quorum *q)
{
    return q->granted + q->refused;
}

static int outstanding(const struct hf__quorum *q)
{
    return q->members - answered(q) - q->unknown - q->failed;
}

void hf__quorum_note(struct hf__quorum *q, int result, uint64_t fence)
{
    HF_ASSERT(outstanding(q) > 0); /* I3: each answer counts once */
    if (result == HF_OK) {
        q->granted++;
    } else if (result > 0) {
        q->outcome = q->refused == 0 ? result : q->outcome;
        q->refused++;
    } else if (result == HF_EUNKNOWN) {
        q->unknown++;
    } else {
        q->failure = q->failed == 0 ? result : q->failure;
        q->failed++;
    }
    if (fence > q->fence) {
        q->fence = fence;
    }
}

int hf__quorum_majority(int members)
{
    return members / 2 + 1;
}

bool hf__quorum_is_decided(const struct hf__quorum *q)
{
    int majority = hf__quorum_majority(q->members);
    int left = outstanding(q);
    int refusals = q->is_mending ? q->refused : answered(q);

    if (left == 0 || q->granted >= majority) {
        return true;
    }
    if (refusals >= majority) {
        return q->granted + left < majority; /* refused for good */
    }
    if (q->granted + left >= majority || refusals + left >= majority) {
        return false;
    }
    return q->unknown > 0 || (q->is_mending && answered(q) >= majority);
}

int hf__quorum_verdict(const struct hf__quorum *q)
{
    int majority = hf__quorum_majority(q->members);

    HF_ASSERT(hf__quorum_is_decided(q));
    if (q->granted >= majority) {
        return HF_OK;
    }
    if (answered(q) < majority) {
        return q->unknown > 0 ? (int)HF_EUNKNOWN : q->failure;
    }
    return q->is_mending && q->refused < majority ? (int)HF_EUNKNOWN
                                                  : q->outcome;
}
