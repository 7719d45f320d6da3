/* SPDX-License-Identifier: MIT */
/*
 * Debts of a simulated client: a token that was given up is released until
 * the store has answered, or until its lease is surely over. This file
 * decides when that is asked again; what becomes a debt is the driver's
 * affair.
 */
#include "tests/sim/sim_debt.h"

#include "tests/sim/sim_driver.h"

void hf__debt_owe(struct hf__sim_client *c, uint64_t token)
{
    struct hf__debt *free_debt = NULL;

    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        if (c->debts[i].token == token) {
            return;
        }
        free_debt = c->debts[i].token == 0 ? &c->debts[i] : free_debt;
    }
    HF_ASSERT(free_debt != NULL);
    c->tally->debts++;
    hf__driver_note(c, HF__DEED_OWES, -1, (int64_t)token);
    free_debt->token = token;
    free_debt->until = hf__after_ns(hf__driver_now(c), 2 * c->plan->lease_ns);
    hf__driver_send(c, &free_debt->call, HF__OP_RELEASE, token);
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
    hf__driver_end_call(&d->call);
}

void hf__debt_tick(struct hf__sim_client *c)
{
    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        struct hf__debt *d = &c->debts[i];

        if (d->token == 0 || !hf__driver_is_past(c, d->call.until)) {
            continue;
        }
        if (hf__driver_is_past(c, d->until)) {
            end(d);
        } else {
            hf__driver_send(c, &d->call, HF__OP_RELEASE, d->token);
        }
    }
}

bool hf__debt_hear(struct hf__sim_client *c, const struct hf__message *m)
{
    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        if (c->debts[i].token != 0 && c->debts[i].call.id == m->id) {
            end(&c->debts[i]);
            return true;
        }
    }
    return false;
}

hf__time hf__debt_next(const struct hf__sim_client *c)
{
    hf__time next = HF__NEVER;

    for (int i = 0; i < HF__DEBTS_MAX; i++) {
        if (c->debts[i].token != 0) {
            next = hf__earlier(next, c->debts[i].call.until);
        }
    }
    return next;
}
