/* SPDX-License-Identifier: MIT */
/*
 * Debts of a simulated client: a token that was given up is released until
 * every member has answered, or until its lease is surely over. This file
 * decides when that is asked again; what becomes a debt is the driver's
 * affair.
 */
#include "tests/sim/sim_driver.h"

static struct hf__debt *find(struct hf__sim_client *c, uint64_t token)
{
    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        if (c->debts[i].token == token) {
            return &c->debts[i];
        }
    }
    return NULL;
}

static void owe(struct hf__sim_client *c, uint64_t token, unsigned members,
                bool undoes)
{
    struct hf__debt *d = find(c, token);

    if (c->plan->model == HF__MODEL_SESSION) {
        /* Nothing outlives the session. */
        if (token == c->token) {
            hf__driver_end_session(c);
        }
        return;
    }
    if (hf__driver_is_mutant(c, HF__MUTANT_NO_GIVE_BACK)) {
        return;
    }
    if (d == NULL) {
        d = find(c, 0);
        HF_ASSERT(d != NULL);
        d->round.out = 0;
        d->round.undoes = false;
        c->tally->debts++;
    }
    hf__driver_note(c, HF__DEED_OWES, -1, (int64_t)token);
    d->token = token;
    d->until = hf__after_ns(hf__driver_now(c), 2 * c->plan->lease_ns);
    d->round.token = token;
    d->round.undoes = d->round.undoes || undoes;
    /* A member that has answered once may have granted it since. */
    hf__round_send(c, &d->round, HF__OP_RELEASE, 0, d->round.out | members);
}

void hf__debt_owe(struct hf__sim_client *c, uint64_t token, unsigned members)
{
    owe(c, token, members, false);
}

void hf__debt_undo(struct hf__sim_client *c, uint64_t token)
{
    owe(c, token, HF__ALL_MEMBERS, c->plan->model == HF__MODEL_QUORUM);
}

bool hf__debt_is_any(const struct hf__sim_client *c)
{
    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        if (c->debts[i].token != 0) {
            return true;
        }
    }
    return false;
}

static void end(struct hf__debt *d)
{
    d->token = 0;
    hf__round_end(&d->round);
}

void hf__debt_tick(struct hf__sim_client *c)
{
    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        struct hf__debt *d = &c->debts[i];

        if (d->token == 0 || !hf__driver_is_past(c, d->round.until)) {
            continue;
        }
        if (hf__driver_is_past(c, d->until)) {
            end(d);
        } else {
            hf__round_send(c, &d->round, HF__OP_RELEASE, 0, d->round.out);
        }
    }
}

bool hf__debt_hear(struct hf__sim_client *c, const struct hf__message *m)
{
    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        struct hf__debt *d = &c->debts[i];

        if (d->token == 0 || !hf__round_awaits(&d->round, m)) {
            continue;
        }
        if (m->result >= 0) {
            d->round.out &= ~(1u << m->member);
        }
        if (d->round.out == 0) {
            end(d);
        }
        return true;
    }
    return false;
}

hf__time hf__debt_next(const struct hf__sim_client *c)
{
    hf__time next = HF__NEVER;

    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        if (c->debts[i].token != 0) {
            next = hf__earlier(next, c->debts[i].round.until);
        }
    }
    return next;
}
