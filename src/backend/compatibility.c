/* SPDX-License-Identifier: MIT */
/*
 * The rule by which claims enter: a claim that no holder excludes, and none
 * before those that came first. The store says which grants and tickets still
 * count. Thread: any.
 */
#include "src/backend/compatibility.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

bool hf__lock_mode_from(int64_t mode, int64_t slots,
                        struct hf__lock_mode *ret_lock_mode)
{
    bool has_slots = mode == HF__MODE_SLOTS;

    if (mode < HF__MODE_EXCLUSIVE || mode > HF__MODE_SLOTS ||
        (has_slots ? slots < 1 || slots > HF_SLOTS_MAX : slots != 0)) {
        return false;
    }
    *ret_lock_mode = (struct hf__lock_mode){(enum hf__mode)mode, (int)slots};
    return true;
}

bool hf__lock_modes_compatible(struct hf__lock_mode a, struct hf__lock_mode b)
{
    if (a.mode != b.mode || a.mode == HF__MODE_EXCLUSIVE) {
        return false;
    }
    return a.mode == HF__MODE_SHARED || a.slots == b.slots;
}

/* A zero token is nobody's, so it never matches. */
static bool is_mine(const struct hf__contender *contender,
                    const struct hf__token *token)
{
    return !hf__token_is_zero(token) &&
           hf__token_equal(&contender->token, token);
}

/* The lowest free slot if more than `before` are free, one for each waiter
 * before this claim; else −1. Those waiters don't mind which of the free ones
 * it gets. */
static int slot_left(const struct hf__holders_waiters *s,
                     const struct hf__token *mine, int slots, int before)
{
    bool is_taken[HF_SLOTS_MAX] = {false};
    int lowest = -1;

    for (int i = 0; i < s->n_holders; i++) {
        int slot = s->holders[i].slot;

        if (slot >= 0 && slot < slots && !is_mine(&s->holders[i], mine)) {
            is_taken[slot] = true;
        }
    }
    for (int slot = 0; slot < slots; slot++) {
        if (is_taken[slot]) {
            continue;
        }
        lowest = lowest < 0 ? slot : lowest;
        if (before-- == 0) {
            return lowest;
        }
    }
    return -1;
}

static enum hf__entry pass_holders(const struct hf__holders_waiters *s,
                                   const struct hf__token *mine,
                                   struct hf__lock_mode lock_mode,
                                   int *ret_slot)
{
    for (int i = 0; i < s->n_holders; i++) {
        const struct hf__contender *holder = &s->holders[i];

        if (is_mine(holder, mine) ||
            hf__lock_modes_compatible(holder->lock_mode, lock_mode)) {
            continue;
        }
        if (lock_mode.mode == HF__MODE_SLOTS &&
            holder->lock_mode.mode == HF__MODE_SLOTS) {
            *ret_slot = holder->lock_mode.slots;
            return HF__ENTRY_MISFIT;
        }
        return HF__ENTRY_HELD;
    }
    return HF__ENTRY_OPEN;
}

enum hf__entry hf__may_enter(const struct hf__holders_waiters *s,
                             const struct hf__token *mine,
                             struct hf__lock_mode lock_mode, int *ret_slot)
{
    bool has_slots = lock_mode.mode == HF__MODE_SLOTS;
    enum hf__entry entry = pass_holders(s, mine, lock_mode, ret_slot);
    int before = 0;

    if (entry != HF__ENTRY_OPEN) {
        return entry;
    }
    if (has_slots && slot_left(s, mine, lock_mode.slots, 0) < 0) {
        return HF__ENTRY_HELD;
    }
    for (int i = 0; i < s->n_waiters && !is_mine(&s->waiters[i], mine); i++) {
        if (!hf__lock_modes_compatible(s->waiters[i].lock_mode, lock_mode)) {
            return HF__ENTRY_PROMISED;
        }
        before++;
    }
    *ret_slot = has_slots ? slot_left(s, mine, lock_mode.slots, before) : -1;
    return has_slots && *ret_slot < 0 ? HF__ENTRY_PROMISED : HF__ENTRY_OPEN;
}

/* Does anybody hold or want it shared or with slots in another lock mode? Such
 * grants can follow one another for ever. */
static bool is_any_stream(const struct hf__contender *all, int n,
                          struct hf__lock_mode lock_mode)
{
    for (int i = 0; i < n; i++) {
        if (all[i].lock_mode.mode != HF__MODE_EXCLUSIVE &&
            !hf__lock_modes_compatible(all[i].lock_mode, lock_mode)) {
            return true;
        }
    }
    return false;
}

bool hf__leaves_ticket(const struct hf__holders_waiters *s,
                       const struct hf__op *op)
{
    switch (op->queueing) {
    case HF__QUEUE_NEVER:
        return false;
    case HF__QUEUE_ALWAYS:
        return true;
    case HF__QUEUE_BEHIND_SHARED:
        return is_any_stream(s->holders, s->n_holders, op->lock_mode) ||
               is_any_stream(s->waiters, s->n_waiters, op->lock_mode);
    }
    HF_ASSERT(false && "a queueing of no kind");
    return false;
}

int hf__tell_misfit(const struct hf__op *op, int slots_held)
{
    return hf__fail(op->err, HF_EINVAL,
                    "\"%.*s\" is held in slots of %d, so nobody can have one "
                    "of %d",
                    (int)(op->key.length - op->key.name_at),
                    op->key.bytes + op->key.name_at, slots_held,
                    op->lock_mode.slots);
}

/* ---- for people */

int hf__participant_list_add(struct hf__participant_list *participants,
                             const struct hf__participant_info *participant)
{
    if (participants->n == participants->room) {
        int room = participants->room == 0 ? 4 : 2 * participants->room;
        struct hf__participant_info *list =
            hf__resize(participants->list, (size_t)room * sizeof *list);

        if (list == NULL) {
            return HF_ENOMEM;
        }
        participants->list = list;
        participants->room = room;
    }
    participants->list[participants->n++] = *participant;
    return HF_OK;
}

const struct hf__record *hf__participant_list_first_to_end(
    const struct hf__participant_list *participants,
    const struct hf__record *record)
{
    const struct hf__record *first = NULL;

    for (int i = 0; i < participants->n; i++) {
        const struct hf__record *one = &participants->list[i].record;

        if (!participants->list[i].is_waiting &&
            (first == NULL || one->remaining_us < first->remaining_us)) {
            first = one;
        }
    }
    return first == NULL ? record : first;
}

void hf__participant_list_free(struct hf__participant_list *participants)
{
    hf__free(participants->list);
    *participants = (struct hf__participant_list){0};
}
