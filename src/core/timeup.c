/* SPDX-License-Identifier: MIT */
/*
 * What it means that a claim's time is over. HF_TIMEDOUT says that the store
 * answers and somebody has the lock; it is never told of a store that has said
 * nothing to the call, or owes an answer for long. Decides no more than that.
 * Called by users' threads, and by the one that steps for them.
 */
#include "src/core/claim.h"

/* An answer that has been under way for this part of io_timeout is late. */
#define LATE_PART 4

/* Has it been asked so late that no answer can be expected by now? */
static bool is_asked_late(struct hf__claim *c)
{
    int64_t late_ms = c->client->settings.io_timeout_ms / LATE_PART;
    hf__time late_at = hf__after_ms(hf__place_asked_at(c), late_ms);

    return hf__before(hf__earlier(hf__now(), c->answer_by), late_at);
}

int hf__claim_cut_short(struct hf__claim *c, bool was_unknown, int r)
{
    c->is_cut_short =
        c->is_heard && c->failures == 0 && !was_unknown && is_asked_late(c);
    return c->is_cut_short ? (int)HF_TIMEDOUT : r;
}

int hf__claim_cut_handover(struct hf__claim *c)
{
    return is_asked_late(c) ? HF_TIMEDOUT : HF_EUNKNOWN;
}
