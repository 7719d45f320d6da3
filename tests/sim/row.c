/* SPDX-License-Identifier: MIT */
/*
 * What a server that keeps leases does with a statement. This file decides
 * as backend.h says a store decides, and, for the mutants that live in a
 * store, wrongly. Whether the server is up, and when a statement comes, is
 * left to store.c.
 */
#include "tests/sim/row.h"

#include <stddef.h>
#include <string.h>

enum { PROPOSAL_US = 500000 };

void hf__row_copy(struct hf__row *to, const struct hf__row *from)
{
    memcpy(to, from, offsetof(struct hf__row, sharers));
    memcpy(to->sharers, from->sharers,
           (size_t)from->n_sharers * sizeof from->sharers[0]);
    memcpy(to->line, from->line, (size_t)from->n_line * sizeof from->line[0]);
}

void hf__row_init(struct hf__member *s, const struct hf__plan *plan, int index)
{
    /* The past is empty by its count. */
    memset(&s->row, 0, sizeof s->row);
    s->changes = 0;
    s->incarnation = 0;
    s->stepped_ns = 0;
    s->plan = plan;
    s->index = index;
    s->is_up = true;
    /* Up for long. */
    s->started = -10 * plan->lease_ns;
}

int64_t hf__row_now(const struct hf__member *s, int64_t true_ns)
{
    return hf__plan_shown(true_ns, s->plan->member_ppm[s->index]) +
           s->stepped_ns;
}

bool hf__row_is_held(const struct hf__member *s, int64_t now)
{
    if (s->row.token == 0) {
        return false;
    }
    return s->plan->mutant == HF__MUTANT_NEVER_EXPIRES || now < s->row.ends;
}

uint64_t hf__row_next_fence(const struct hf__member *s, int64_t now)
{
    uint64_t last = s->row.top > s->row.fence ? s->row.top : s->row.fence;
    uint64_t next = last + 1;
    int64_t now_us = now / 1000;
    bool is_hybrid =
        s->plan->is_hybrid && s->plan->mutant != HF__MUTANT_FENCE_COUNTS;

    return is_hybrid && now_us > 0 && next < (uint64_t)now_us ? (uint64_t)now_us
                                                              : next;
}

void hf__row_extend(const struct hf__plan *p, int64_t begun, int64_t *ends)
{
    if (begun + p->lease_ns > *ends ||
        p->mutant == HF__MUTANT_OLD_NOW_SHORTENS) {
        *ends = begun + p->lease_ns;
    }
}

static void extend(struct hf__member *s, const struct hf__message *m)
{
    hf__row_extend(s->plan, m->begun, &s->row.ends);
}

/* A quorum's members are to give the same number: each takes what the client
 * proposes, unless that is far from its clock. */
static uint64_t next_fence(const struct hf__member *s,
                           const struct hf__message *m)
{
    uint64_t next = hf__row_next_fence(s, m->begun);
    int64_t most_us = m->begun / 1000 + PROPOSAL_US;

    return s->plan->is_hybrid && m->proposal > next &&
                   (int64_t)m->proposal <= most_us
               ? m->proposal
               : next;
}

static bool is_buried(const struct hf__row *row, uint64_t token)
{
    for (int i = 0; i < HF__BURIED_MAX; i++) {
        if (row->buried[i] == token) {
            return true;
        }
    }
    return false;
}

/* What is late on another connection must not have the name any more. */
static void bury(struct hf__member *s, uint64_t token)
{
    if (s->plan->model == HF__MODEL_QUORUM &&
        s->plan->mutant != HF__MUTANT_NO_TOMBSTONE) {
        s->row.buried[s->row.n_buried++ % HF__BURIED_MAX] = token;
    }
}

/* A quorum's grant, of which this member does not know: it was not there, or
 * has forgotten. Not once somebody had it since. */
static bool recreate(struct hf__member *s, struct hf__message *m)
{
    bool is_past =
        m->fence < s->row.fence && s->plan->mutant != HF__MUTANT_MENDS_THE_PAST;

    if (s->plan->model != HF__MODEL_QUORUM || is_past ||
        hf__row_is_held(s, m->begun) || is_buried(&s->row, m->token)) {
        return false;
    }
    s->row.token = m->token;
    s->row.fence = m->fence > s->row.fence ? m->fence : s->row.fence;
    s->row.ends = INT64_MIN;
    s->row.client = m->client;
    s->row.life = m->life;
    m->is_mended = true;
    return true;
}

/* Of an attempt that came to nothing, and was told to nobody: who has the name
 * on other members may have it here. Not if the fence was raised since. */
static void undo(struct hf__member *s, const struct hf__message *m)
{
    struct hf__row *row = &s->row;

    bool is_told = !m->undoes && s->plan->mutant != HF__MUTANT_UNDOES_ALL;

    if (s->plan->model != HF__MODEL_QUORUM || is_told ||
        row->fence != row->gave || s->plan->mutant == HF__MUTANT_NO_UNDO) {
        return;
    }
    row->top =
        row->fence > row->top && s->plan->mutant != HF__MUTANT_UNDOES_FENCE
            ? row->fence
            : row->top;
    row->fence = row->was;
    row->token = row->was_of;
    row->ends = m->begun;
    row->gave = 0;
}

static int acquire(struct hf__member *s, const struct hf__message *m,
                   bool is_orphan)
{
    bool is_held = hf__row_is_held(s, m->begun) && !is_orphan;
    bool is_lapsed = !hf__row_is_held(s, m->begun) &&
                     s->plan->mutant != HF__MUTANT_LAPSED_KEEPS_FENCE;

    if ((is_held && s->row.token != m->token) || is_buried(&s->row, m->token)) {
        return HF_BUSY;
    }
    /* Idempotent by token: our own record stays as it is. Not a lapsed one:
     * it may be of a past to which the store went back, and others may have
     * held the name since. */
    if (s->row.token != m->token || is_lapsed) {
        s->row.was = s->row.fence;
        s->row.was_of = s->row.token;
        s->row.fence = next_fence(s, m);
        s->row.gave = s->row.fence;
        s->row.token = m->token;
        s->row.ends = INT64_MIN;
        s->row.client = m->client;
        s->row.life = m->life;
    }
    extend(s, m);
    return HF_OK;
}

static int renew(struct hf__member *s, struct hf__message *m)
{
    bool is_owner = s->row.token == m->token;

    if (s->plan->mutant == HF__MUTANT_RENEW_ANYBODY) {
        s->row.token = m->token;
    } else if ((!is_owner || !hf__row_is_held(s, m->begun)) &&
               !recreate(s, m)) {
        return HF_LOST;
    }
    extend(s, m);
    return HF_OK;
}

static int release(struct hf__member *s, const struct hf__message *m)
{
    bury(s, m->token);
    if (s->row.token != m->token &&
        s->plan->mutant != HF__MUTANT_RELEASE_ANYBODY) {
        return HF_LOST;
    }
    s->row.token = 0;
    undo(s, m);
    if (s->plan->mutant == HF__MUTANT_FENCE_RESET) {
        s->row.fence = 0;
    }
    return HF_OK;
}

static int raise_fence(struct hf__member *s, const struct hf__message *m)
{
    if (s->row.token != m->token) {
        return HF_LOST;
    }
    s->row.fence = m->fence > s->row.fence ? m->fence : s->row.fence;
    return HF_OK;
}

void hf__row_apply(struct hf__member *s, struct hf__message *m, bool is_orphan)
{
    uint64_t mine = m->fence;

    if (m->op == HF__OP_ACQUIRE) {
        m->result = acquire(s, m, is_orphan);
    } else if (m->op == HF__OP_RENEW) {
        m->result = renew(s, m);
    } else if (m->op == HF__OP_RAISE) {
        m->result = raise_fence(s, m);
    } else {
        HF_ASSERT(m->op == HF__OP_RELEASE);
        m->result = release(s, m);
    }
    m->fence = s->row.fence;
    m->reason = m->result == HF_LOST
                    ? hf__reason_for(mine, s->row.fence, s->row.broken)
                    : HF_REASON_NONE;
}

void hf__row_break(struct hf__member *s)
{
    s->row.token = 0;
    s->row.n_sharers = 0;
    s->row.broken = s->row.fence;
    s->row.fence++;
}

void hf__row_remember(struct hf__member *s, int64_t true_ns)
{
    uint64_t i = 0;

    if (s->plan->is_durable && (s->plan->faults & HF__FAULT_FAILOVER) == 0) {
        return; /* it will not be asked for */
    }
    i = s->changes++ % HF__PAST_LENGTH;
    s->past[i].at = true_ns;
    hf__row_copy(&s->past[i].row, &s->row);
}

void hf__row_go_back(struct hf__member *s, int64_t true_ns)
{
    uint64_t kept = s->changes < HF__PAST_LENGTH ? s->changes : HF__PAST_LENGTH;
    const struct hf__row *row = NULL;

    for (uint64_t i = s->changes - kept; i < s->changes; i++) {
        bool is_oldest = i == s->changes - kept && i > 0;

        if (is_oldest || s->past[i % HF__PAST_LENGTH].at <= true_ns) {
            row = &s->past[i % HF__PAST_LENGTH].row;
        }
    }
    if (row != NULL) {
        hf__row_copy(&s->row, row);
    } else {
        memset(&s->row, 0, sizeof s->row);
    }
}
