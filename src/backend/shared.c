/* SPDX-License-Identifier: MIT */
/*
 * Sleeping on shared words. wake_table.c knows what the words mean, the stores
 * decide when to sleep. Called by the sessions' threads; any thread may end a
 * sleep.
 */
#include "src/backend/shared.h"

#include "src/base/rand.h"

void hf__sleep_slot_on(struct hf__sleep_slot *sleep_slot, struct hf__head *head,
                       atomic_uint *word, unsigned seen, hf__time limit)
{
    /* Stored before the check: an interrupt after this bumps the word. */
    atomic_store(&sleep_slot->word, word);
    if (!hf__is_interrupted(head)) {
        hf__futex_wait_shared(word, seen, limit);
    }
    atomic_store(&sleep_slot->word, NULL);
}

/* The word may be shared with other waiters, which wake for nothing. */
void hf__sleep_slot_end(struct hf__sleep_slot *sleep_slot)
{
    atomic_uint *word = atomic_load(&sleep_slot->word);

    hf__unpark(&sleep_slot->parker);
    if (word != NULL) {
        (void)hf__futex_ring_shared(word, INT32_MAX);
    }
}

static bool must_hold_back(const struct hf__sleep_slot *sleep_slot,
                           struct hf__wake_view *view,
                           struct hf__op *const ops[], int n, hf__time now)
{
    bool must = false;

    for (int i = 0; i < n; i++) {
        if (ops[i]->kind == HF__OP_ACQUIRE &&
            hf__wake_table_must_hold_back(view, hf__wake_key_of(&ops[i]->key),
                                          &sleep_slot->summary, now)) {
            must = true;
        }
    }
    return must;
}

bool hf__sleep_slot_hold_back(struct hf__sleep_slot *sleep_slot,
                              struct hf__head *head, struct hf__wake_view *view,
                              struct hf__op *const ops[], int n,
                              hf__time deadline)
{
    hf__time now = hf__now();
    hf__time limit = hf__after_ms(now, HF__GRACE_MS + 1);
    bool has_waited = false;

    limit = hf__earlier(limit, deadline);
    while (must_hold_back(sleep_slot, view, ops, n, now) &&
           hf__before(now, limit) && !hf__is_interrupted(head)) {
        unsigned seen = hf__parker_seen(&sleep_slot->parker);

        now = hf__after_ns(now, hf__random_between(HF__MS / 10, HF__MS / 2));
        hf__park(&sleep_slot->parker, seen, hf__earlier(now, limit));
        now = hf__now();
        has_waited = true;
        hf__wake_table_look(view, &sleep_slot->summary);
    }
    return has_waited;
}

void hf__sleep_slot_tell_taken(struct hf__sleep_slot *sleep_slot,
                               struct hf__wake_view *view,
                               const struct hf__op *op)
{
    if (op->kind != HF__OP_ACQUIRE) {
        hf__wake_table_look(
            view, &sleep_slot->summary); /* it was not free before the change */
    }
    hf__wake_table_taken(view, hf__wake_key_of(&op->key), &sleep_slot->summary);
}
