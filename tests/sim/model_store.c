/* SPDX-License-Identifier: MIT */
/*
 * What the store does with a request. This file decides as backend.h says a
 * store decides, and, for the mutants that live in a store, wrongly.
 */
#include "tests/sim/model_store.h"

#include <string.h>

void hf__model_store_init(struct hf__model_store *s,
                          const struct hf__plan *plan)
{
    memset(s, 0, sizeof *s);
    s->plan = plan;
}

int64_t hf__model_store_now(const struct hf__model_store *s, int64_t true_ns)
{
    return hf__plan_shown(true_ns, s->plan->store_ppm) + s->stepped_ns;
}

bool hf__model_store_is_held(const struct hf__model_store *s, int64_t true_ns)
{
    if (s->row.token == 0) {
        return false;
    }
    return s->plan->mutant == HF__MUTANT_NEVER_EXPIRES ||
           hf__model_store_now(s, true_ns) < s->row.ends;
}

static uint64_t next_fence(const struct hf__model_store *s, int64_t true_ns)
{
    int64_t now_us = hf__model_store_now(s, true_ns) / 1000;
    uint64_t next = s->row.fence + 1;

    return s->plan->is_hybrid && now_us > 0 && next < (uint64_t)now_us
               ? (uint64_t)now_us
               : next;
}

static int acquire(struct hf__model_store *s, const struct hf__message *m,
                   int64_t true_ns)
{
    if (hf__model_store_is_held(s, true_ns) && s->row.token != m->token) {
        return HF_BUSY;
    }
    /* Idempotent by token: our own record, even a lapsed one. */
    if (s->row.token != m->token) {
        s->row.fence = next_fence(s, true_ns);
        s->row.token = m->token;
    }
    s->row.ends = hf__model_store_now(s, true_ns) + s->plan->lease_ns;
    return HF_OK;
}

static int renew(struct hf__model_store *s, const struct hf__message *m,
                 int64_t true_ns)
{
    bool is_owner = s->row.token == m->token;

    if (s->plan->mutant == HF__MUTANT_RENEW_ANYBODY) {
        s->row.token = m->token;
    } else if (!is_owner || !hf__model_store_is_held(s, true_ns)) {
        return HF_LOST;
    }
    s->row.ends = hf__model_store_now(s, true_ns) + s->plan->lease_ns;
    return HF_OK;
}

static int release(struct hf__model_store *s, const struct hf__message *m)
{
    if (s->row.token != m->token &&
        s->plan->mutant != HF__MUTANT_RELEASE_ANYBODY) {
        return HF_LOST;
    }
    s->row.token = 0;
    if (s->plan->mutant == HF__MUTANT_FENCE_RESET) {
        s->row.fence = 0;
    }
    return HF_OK;
}

void hf__model_store_apply(struct hf__model_store *s, struct hf__message *m,
                           int64_t true_ns)
{
    uint64_t mine = m->fence;

    if (m->op == HF__OP_ACQUIRE) {
        m->result = acquire(s, m, true_ns);
    } else if (m->op == HF__OP_RENEW) {
        m->result = renew(s, m, true_ns);
    } else {
        HF_ASSERT(m->op == HF__OP_RELEASE);
        m->result = release(s, m);
    }
    m->fence = s->row.fence;
    m->reason = m->result == HF_LOST
                    ? hf__reason_for(mine, s->row.fence, s->row.broken)
                    : HF_REASON_NONE;
}

void hf__model_store_break(struct hf__model_store *s)
{
    s->row.token = 0;
    s->row.broken = s->row.fence;
    s->row.fence++;
}
