/* SPDX-License-Identifier: MIT */
/*
 * The window over the last tries of a cell. It decides nothing but the way; how
 * an update goes then is update.c's. Thread: any.
 */
#include "src/core/contention.h"

/* So few tell nothing. */
#define TRIES_MIN 8
#define TRIES_MAX 32

static struct hf__contention_slot *slot_of(struct hf__contention *c,
                                           uint64_t hash)
{
    struct hf__contention_slot *slot = &c->slots[hash % HF__CONTENTION_SLOTS];

    if (slot->hash != hash) {
        *slot = (struct hf__contention_slot){.hash = hash};
    }
    return slot;
}

bool hf__contention_locks(struct hf__contention *c, uint64_t hash)
{
    HF_SCOPED_LOCK(&c->mutex);

    return slot_of(c, hash)->is_locking;
}

/* Going back takes a whole window: what it costs to be wrong is a lock, which
 * is less than what a crowd of vain tries costs. */
static bool is_to_change(const struct hf__contention_slot *slot)
{
    unsigned met = (unsigned)__builtin_popcount(slot->met);

    return slot->is_locking ? slot->tries == TRIES_MAX && met * 10 < TRIES_MAX
                            : slot->tries >= TRIES_MIN && met * 5 > slot->tries;
}

void hf__contention_note(struct hf__contention *c, uint64_t hash,
                         bool is_locking, bool has_met)
{
    HF_SCOPED_LOCK(&c->mutex);
    struct hf__contention_slot *slot = slot_of(c, hash);

    if (slot->is_locking != is_locking) {
        return; /* of a try that began before the way was changed */
    }
    slot->met = slot->met << 1 | (uint32_t)has_met;
    slot->tries += slot->tries < TRIES_MAX;
    if (is_to_change(slot)) {
        *slot = (struct hf__contention_slot){.hash = hash,
                                             .is_locking = !is_locking};
    }
}
