/* SPDX-License-Identifier: MIT */
/*
 * The ticket dispenser. Whoever sees that the turn has not moved for a while
 * moves it, so no step depends on a process that may be dead. Called by the
 * thread that runs a session, around each write transaction.
 */
#include "src/backend/sqlite/gate.h"

#include "src/base/rand.h"
#include "src/base/wake.h"

#include <limits.h>

/* A queue longer than this is not one: a process died between two steps long
 * ago, or the memory was damaged. */
#define PLAUSIBLE_QUEUE 4096

/* The turn of `ticket` is over: the next one's begins, unless somebody else
 * has already said so. Tickets that were given up are passed over. */
static void pass_on(struct hf__gate *gate, unsigned ticket)
{
    unsigned serving = ticket;
    unsigned slot;

    do {
        if (!atomic_compare_exchange_strong(&gate->serving, &serving,
                                            serving + 1)) {
            return;
        }
        serving++;
        slot = serving % HF__GATE_SLOTS;
    } while (atomic_load(&gate->abandoned[slot]) == serving + 1);
    if (atomic_load(&gate->next) != serving) {
        atomic_fetch_add(&gate->turn[slot], 1);
        (void)hf__futex_wake_shared(&gate->turn[slot], INT_MAX);
    }
}

/* The mark comes first: either who passes the turn on sees it, or we see
 * that the turn has come. */
static void give_up(struct hf__gate *gate, unsigned ticket)
{
    atomic_store(&gate->abandoned[ticket % HF__GATE_SLOTS], ticket + 1);
    if (atomic_load(&gate->serving) == ticket) {
        pass_on(gate, ticket);
    }
}

struct stance {
    unsigned ticket;
    unsigned serving; /* last seen */
    hf__time since;   /* when it was first seen so */
};

/* Move a turn that has stood still for too long. True: go without a turn. */
static bool lose_patience(struct hf__gate *gate, struct stance *stance,
                          hf__time now)
{
    unsigned serving = atomic_load(&gate->serving);

    if (stance->ticket - serving > PLAUSIBLE_QUEUE) {
        (void)atomic_compare_exchange_strong(&gate->serving, &serving,
                                             stance->ticket + 1);
        return true;
    }
    if (serving != stance->serving) {
        stance->serving = serving;
        stance->since = now;
    } else if (hf__between_ns(stance->since, now) >=
               HF__GATE_PATIENCE_MS * HF__MS) {
        pass_on(gate, serving);
        stance->since = now;
    }
    return false;
}

static int wait_turn(struct hf__gate *gate, struct hf__head *head,
                     hf__time deadline, unsigned ticket)
{
    atomic_uint *turn = &gate->turn[ticket % HF__GATE_SLOTS];
    struct stance stance = {ticket, ticket - 1, hf__now()};
    hf__time limit = hf__after_ms(stance.since, HF__GATE_LIMIT_MS);

    for (;;) {
        unsigned seen = atomic_load(turn);
        int ahead = (int)(ticket - atomic_load(&gate->serving));
        hf__time now = hf__now();

        if (ahead <= 0) {
            return HF_OK; /* ours; below zero: we were passed over */
        }
        if (hf__is_interrupted(head) || !hf__before(now, deadline)) {
            give_up(gate, ticket);
            return HF_EUNAVAIL;
        }
        if (!hf__before(now, limit) || lose_patience(gate, &stance, now)) {
            give_up(gate, ticket);
            return HF_OK;
        }
        /* The jitter keeps all who wait from losing patience at once. */
        hf__futex_wait_shared(
            turn, seen,
            hf__earlier(deadline, hf__after_ms(stance.since,
                                               HF__GATE_PATIENCE_MS +
                                                   hf__random_between(0, 5))));
    }
}

int hf__gate_enter(struct hf__gate *gate, struct hf__head *head,
                   hf__time deadline, unsigned *ret_ticket)
{
    unsigned ticket = atomic_fetch_add(&gate->next, 1);

    *ret_ticket = ticket;
    if (atomic_load(&gate->serving) == ticket) {
        return HF_OK;
    }
    return wait_turn(gate, head, deadline, ticket);
}

void hf__gate_leave(struct hf__gate *gate, unsigned ticket)
{
    if (atomic_load(&gate->serving) == ticket) {
        pass_on(gate, ticket);
    }
}
