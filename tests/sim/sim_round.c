/* SPDX-License-Identifier: MIT */
/*
 * A client's clocks, and one operation on all members at once. This file
 * decides what an answer counts for; the majority rule is backend/quorum.c's
 * and what follows from a verdict is left to the callers.
 */
#include "tests/sim/sim_driver.h"

#include <string.h>

/* A client proposes fences so far ahead of its clock, at most. */
enum { MARGIN_US = 100000 };

bool hf__driver_is_mutant(const struct hf__sim_client *c,
                          enum hf__mutant mutant)
{
    return c->plan->mutant == mutant;
}

/* ---- clocks ------------------------------------------------------------- */

/* What a mutant's clock shows more than CLOCK_BOOTTIME does. */
static int64_t ahead(const struct hf__sim_client *c)
{
    int64_t slept = c->suspended_ns;

    if (hf__driver_is_mutant(c, HF__MUTANT_WALL_CLOCK)) {
        return c->wall_ns;
    }
    if (!hf__driver_is_mutant(c, HF__MUTANT_CLOCK_STOPS)) {
        return 0;
    }
    if (c->is_paused && c->nap == HF__NAP_SUSPEND) {
        slept += c->world->now - c->paused_at;
    }
    return -slept;
}

hf__time hf__driver_now(const struct hf__sim_client *c)
{
    bool is_stopped = c->is_paused && c->nap == HF__NAP_VM;
    int64_t ran = (is_stopped ? c->paused_at : c->world->now) - c->stopped_ns;

    return (hf__time){c->offset + ahead(c) +
                      hf__plan_shown(ran, c->plan->client_ppm[c->index])};
}

int64_t hf__driver_true(const struct hf__sim_client *c, hf__time t)
{
    return c->stopped_ns + hf__plan_true(t.ns - c->offset - ahead(c),
                                         c->plan->client_ppm[c->index]);
}

hf__time hf__driver_soon(struct hf__sim_client *c, int64_t most_ns)
{
    return hf__after_ns(hf__driver_now(c),
                        hf__world_between(c->world, 1, most_ns));
}

bool hf__driver_is_past(const struct hf__sim_client *c, hf__time t)
{
    return !hf__before(hf__driver_now(c), t);
}

void hf__driver_note(struct hf__sim_client *c, enum hf__deed deed, int op,
                     int64_t number)
{
    hf__world_note(c->world, &(struct hf__trace_line){.deed = deed,
                                                      .client = c->index,
                                                      .op = op,
                                                      .token = c->token,
                                                      .number = number});
}

/* ---- a round ------------------------------------------------------------ */

void hf__round_send(struct hf__sim_client *c, struct hf__round *round,
                    enum hf__op_kind op, uint64_t fence, unsigned members)
{
    struct hf__view view;
    struct hf__message m = {.op = op,
                            .client = c->index,
                            .life = c->life,
                            .id = ++c->world->seq,
                            .session = c->session,
                            .token = round->token,
                            .fence = fence,
                            .next_token = c->heir,
                            .manner = c->manner,
                            .queueing = c->queueing,
                            .undoes = round->undoes,
                            .sent = hf__driver_now(c),
                            .sent_true = c->world->now};

    round->id = m.id;
    round->fence = fence;
    round->sent = m.sent;
    round->sent_true = c->world->now;
    round->until = hf__after_ns(m.sent, c->plan->limit_ns);
    round->out =
        members & (HF__ALL_MEMBERS >> (HF__MEMBERS_MAX - c->plan->members));
    if (c->plan->model == HF__MODEL_CROWD) {
        round->out = 1u << hf__plan_name(c->plan, c->index);
    }
    if (op == HF__OP_ACQUIRE && c->plan->model == HF__MODEL_QUORUM) {
        m.proposal = (uint64_t)(c->world->now / 1000 +
                                hf__world_between(c->world, 0, MARGIN_US));
    }
    round->lost = 0;
    round->granted = 0;
    round->reason = HF_REASON_NONE;
    hf__quorum_init(&round->quorum, __builtin_popcount(round->out));
    if (op == HF__OP_RENEW || op == HF__OP_RELEASE) {
        hf__quorum_mends(&round->quorum);
    }
    hf__driver_note(c, HF__DEED_SENDS, (int)op, (int64_t)m.id);
    hf__sim_client_view(c, &view);
    if (round != &c->claim) {
        hf__oracle_sent(c->oracle, &m, &view); /* else it adopts */
    }
    for (m.member = 0; m.member < c->plan->members; m.member++) {
        if ((round->out >> m.member & 1) != 0) {
            hf__network_request(c->network, &m);
        }
    }
}

void hf__round_end(struct hf__round *round)
{
    round->id = 0;
    round->out = 0;
    round->until = HF__NEVER;
}

bool hf__round_awaits(const struct hf__round *round,
                      const struct hf__message *m)
{
    return round->id != 0 && round->id == m->id &&
           (round->out >> m->member & 1) != 0;
}

bool hf__round_note(struct hf__sim_client *c, struct hf__round *round,
                    const struct hf__message *m)
{
    int result = m->result;
    bool counts = c->plan->model != HF__MODEL_QUORUM ||
                  hf__driver_is_mutant(c, HF__MUTANT_COUNTS_RESTARTED) ||
                  hf__store_counts(c->plan, m->uptime_ns);

    if (!counts) {
        /* It may have forgotten a grant that still runs elsewhere, and confirm
         * the one before. What it gave is ours all the same, and given back. */
        c->is_uncertain |= m->op == HF__OP_ACQUIRE && result == HF_OK;
        result = HF_EUNAVAIL;
        c->tally->not_counted++;
    }
    if (result == HF_LOST) {
        round->lost |= 1u << m->member;
        round->reason = m->reason;
    }
    if (result == HF_OK) {
        round->granted |= 1u << m->member;
        round->fences[m->member] = m->fence;
        c->tally->mended += m->is_mended;
    }
    round->slot = m->slot;
    round->is_queued = m->is_queued;
    round->out &= ~(1u << m->member);
    hf__quorum_note(&round->quorum, result, m->fence);
    return hf__quorum_is_decided(&round->quorum);
}

void hf__round_give_up(struct hf__round *round, unsigned members)
{
    for (unsigned i = 0; i < HF__MEMBERS_MAX; i++) {
        if ((round->out & members & 1u << i) != 0) {
            round->out &= ~(1u << i);
            hf__quorum_note(&round->quorum, HF_EUNKNOWN, 0);
        }
    }
}

int hf__round_verdict(const struct hf__sim_client *c,
                      const struct hf__round *round)
{
    const struct hf__quorum *q = &round->quorum;

    if (hf__driver_is_mutant(c, HF__MUTANT_MINORITY) &&
        q->granted * 2 >= q->members) {
        return HF_OK;
    }
    return hf__quorum_verdict(q);
}
