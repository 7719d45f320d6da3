/* SPDX-License-Identifier: MIT */
/*
 * What the store has granted until when, and what hosts have still to give
 * back: the accounts of the oracles.
 */
#include "tests/sim/oracles.h"

enum { LEASES = 256, DEBTS = 64 };

/* Until when the store surely lets that token have it, by its clock. */
struct lease {
    struct hf__token token;
    int64_t end;
};

/* What was lost by the clock and must be given back. */
struct owed {
    int host; /* 0: none */
    int name;
    struct hf__token token;
};

static struct lease leases[LEASES];
static struct owed owed[DEBTS];
static unsigned n_leases;

void hf__ledger_applied(const struct hf__op *op, int64_t at)
{
    const struct hf__token *token =
        op->kind == HF__OP_HANDOVER ? &op->next_token : &op->token;
    struct lease *l = leases;

    if (op->result != HF_OK ||
        (op->kind != HF__OP_ACQUIRE && op->kind != HF__OP_RENEW &&
         op->kind != HF__OP_HANDOVER)) {
        return;
    }
    while (l < leases + LEASES && !hf__token_equal(&l->token, token)) {
        l++;
    }
    l = l < leases + LEASES ? l : &leases[n_leases++ % LEASES];
    *l = (struct lease){*token, at + op->lease_us * 1000};
}

int64_t hf__ledger_end(const struct hf__token *token)
{
    for (const struct lease *l = leases; l < leases + LEASES; l++) {
        if (hf__token_equal(&l->token, token)) {
            return l->end;
        }
    }
    return 0;
}

void hf__ledger_owe(int host, int name, const struct hf__token *token)
{
    struct owed *o = owed;

    while (o < owed + DEBTS - 1 && o->host != 0) {
        o++;
    }
    *o = (struct owed){host, name, *token};
}

void hf__ledger_pay(const struct hf__token *token)
{
    for (struct owed *o = owed; o < owed + DEBTS; o++) {
        if (hf__token_equal(token, &o->token)) {
            o->host = 0;
        }
    }
}

void hf__ledger_settled(int host)
{
    for (const struct owed *o = owed; o < owed + DEBTS; o++) {
        if (o->host == host) {
            hf__flaw("host %d did not give back name %d", host, o->name);
        }
    }
}
