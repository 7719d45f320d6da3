/* SPDX-License-Identifier: MIT */
/*
 * What is settled before anybody is asked: whose answers count for an
 * operation, and which operations can't be granted by those who are there.
 * Called by the session's thread.
 */
#include "src/backend/redlock/vote.h"

#include "src/backend/redlock/tell.h"
#include "src/base/error.h"

#include <inttypes.h>

/* ---- leases that outlive what a member may forget */

static bool is_long(const struct hf__redlock *s, const struct hf__op *op)
{
    int64_t longest_us = s->longest_ms * 1000;

    return !s->allows_volatile &&
           (op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_RENEW) &&
           (op->lease_us > longest_us || op->keep_us > longest_us);
}

static unsigned members_in(const struct hf__redlock *s, bool is_durable)
{
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        if (s->members[i].is_in && s->members[i].is_durable == is_durable) {
            found |= 1u << i;
        }
    }
    return found;
}

/* Who restarts is counted again after longest_lease, so a longer one counts
 * where nothing is forgotten. */
static bool refuse_long(struct hf__redlock *s, struct hf__vote *v)
{
    if (!is_long(s, v->op)) {
        return false;
    }
    if (s->n - __builtin_popcount(members_in(s, false)) >=
        hf__redlock_majority(s)) {
        return false;
    }
    v->is_refused = true;
    v->op->result = hf__fail(
        v->op->err, HF_EINVAL,
        "a lease or hold of %" PRId64
        " ms is longer than longest_lease, %" PRId64
        " ms: a member that restarts would have forgotten it; say "
        "longest_lease=… (the same for all clients), or let the members keep "
        "their data (appendonly yes, appendfsync always)",
        (v->op->lease_us > v->op->keep_us ? v->op->lease_us : v->op->keep_us) /
            1000,
        s->longest_ms);
    return true;
}

/* Whose answers count for it. */
unsigned hf__redlock_counting(const struct hf__redlock *s,
                              const struct hf__op *op)
{
    hf__time now = hf__now();
    unsigned found = 0;

    for (int i = 0; i < s->n; i++) {
        if (hf__member_counts(&s->members[i], now)) {
            found |= 1u << i;
        }
    }
    return is_long(s, op) ? found & members_in(s, true) : found;
}

/* Nothing is asked for that too few could grant; what is held goes on. */
static bool refuse_few(struct hf__redlock *s, struct hf__vote *v)
{
    if (v->op->kind != HF__OP_ACQUIRE ||
        hf__is_majority(s, hf__redlock_counting(s, v->op))) {
        return false;
    }
    v->is_refused = true;
    v->op->result = hf__members_tell(s, hf__members_status(s), v->op->err);
    return true;
}

/* The next grant's fence would need a round of its own; a release and an
 * acquire are as fast. */
static bool refuse_handover(struct hf__vote *v)
{
    if (v->op->kind != HF__OP_HANDOVER) {
        return false;
    }
    v->is_refused = true;
    v->op->result = hf__fail(v->op->err, HF_ENOTSUP,
                             "a quorum hands nothing over: release, acquire");
    return true;
}

/* The client is closed: nobody would hear of the grant, or give it back. What
 * ends one goes out all the same. */
static bool refuse_late(struct hf__redlock *s, struct hf__vote *v)
{
    if (v->op->kind != HF__OP_ACQUIRE || !hf__is_interrupted(&s->head)) {
        return false;
    }
    v->is_refused = true;
    v->op->result = hf__fail(v->op->err, HF_EUNAVAIL, "interrupted");
    return true;
}

bool hf__vote_is_refused(struct hf__redlock *s, struct hf__vote *v)
{
    return refuse_late(s, v) || refuse_handover(v) || refuse_long(s, v) ||
           refuse_few(s, v);
}
