/* SPDX-License-Identifier: MIT */
/*
 * What a lock answers without asking the store: whether it is held, and what
 * it is called. A hold that was let go answers for itself; all else is the
 * handle's to know, and of several names the worst counts. Called by users'
 * threads; hf_held() also by signal handlers.
 */
#include "src/base/fork.h"
#include "src/core/hold.h"

/* Nobody's, or that of the process before a fork. */
static bool is_foreign(const hf_lock *lock)
{
    return lock == NULL ||
           lock->handle->client->fork_generation != hf__fork_generation();
}

static int is_held(const struct hf__handle *h)
{
    int64_t until = atomic_load(&h->held_until);

    if (until != 0 && hf__now().ns < until) {
        return 1;
    }
    if (until != 0) {
        /* Who was told "no" must not be told "yes" later, also if a renewal
         * is just being confirmed: see feed_renewed(). */
        _Atomic int64_t *shown = (_Atomic int64_t *)(uintptr_t)&h->held_until;

        return !atomic_compare_exchange_strong(shown, &until, 0) &&
               until != 0 && hf__now().ns < until;
    }
    return 0;
}

static int is_one_held(const hf_lock *lock)
{
    return !atomic_load(&lock->is_left) && is_held(lock->handle);
}

int hf_held(const hf_lock *lock)
{
    if (is_foreign(lock)) {
        return 0;
    }
    for (int i = 0; i < lock->n_parts; i++) {
        if (!is_one_held(&lock->parts[i])) {
            return 0;
        }
    }
    return lock->n_parts > 0 || is_one_held(lock);
}

static hf_lock_state state_of(const struct hf__handle *h)
{
    hf_lock_state state = (hf_lock_state)atomic_load(&h->state);

    if ((state == HF_STATE_HELD || state == HF_STATE_AT_RISK) && !is_held(h)) {
        /* The clock is ahead of the keeper; or it was let go just now. */
        state = (hf_lock_state)atomic_load(&h->state);
        return state == HF_STATE_HELD || state == HF_STATE_AT_RISK
                   ? HF_STATE_LOST
                   : state;
    }
    return state;
}

static hf_lock_state state_of_one(const hf_lock *lock)
{
    if (atomic_load(&lock->is_left)) {
        return lock->left_result == HF_LOST ? HF_STATE_LOST : HF_STATE_RELEASED;
    }
    return state_of(lock->handle);
}

/* The higher, the worse for who counts on all of them. */
static int badness(hf_lock_state state)
{
    switch (state) {
    case HF_STATE_HELD:
        return 0;
    case HF_STATE_AT_RISK:
        return 1;
    case HF_STATE_DETACHED:
        return 2;
    case HF_STATE_RELEASED:
        return 3;
    case HF_STATE_LOST:
        return 4;
    }
    return 4;
}

hf_lock_state hf_state(const hf_lock *lock)
{
    hf_lock_state worst = HF_STATE_HELD;

    if (is_foreign(lock)) {
        return HF_STATE_LOST;
    }
    for (int i = 0; i < lock->n_parts; i++) {
        hf_lock_state state = state_of_one(&lock->parts[i]);

        worst = badness(state) > badness(worst) ? state : worst;
    }
    return lock->n_parts > 0 ? worst : state_of_one(lock);
}

static int64_t remaining_of(const struct hf__handle *h, int64_t now)
{
    int64_t until = atomic_load(&h->held_until);

    return until > now ? (until - now) / HF__MS : 0;
}

int64_t hf_remaining_ms(const hf_lock *lock)
{
    int64_t now = hf__now().ns;
    int64_t least = 0;

    if (hf_held(lock) == 0) {
        return 0;
    }
    least = remaining_of(lock->handle, now);
    for (int i = 0; i < lock->n_parts; i++) {
        int64_t left = remaining_of(lock->parts[i].handle, now);

        least = left < least ? left : least;
    }
    return least;
}

uint64_t hf_fence(const hf_lock *lock)
{
    return lock == NULL ? 0 : lock->handle->grant.fence;
}

const char *hf_token(const hf_lock *lock)
{
    return lock == NULL ? "" : lock->handle->token_text;
}

const char *hf_name(const hf_lock *lock)
{
    return lock == NULL ? "" : hf__handle_name(lock->handle);
}

int hf_slot(const hf_lock *lock)
{
    return lock == NULL ? -1 : lock->handle->slot;
}

int hf_count(const hf_lock *lock)
{
    if (lock == NULL) {
        return 0;
    }
    return lock->n_parts > 0 ? lock->n_parts : 1;
}

/* The hold of a name that there is. */
static const hf_lock *part_of(const hf_lock *lock, int i)
{
    return lock->n_parts > 0 ? &lock->parts[i] : lock;
}

/* The i-th name's; NULL: there is none. */
static const hf_lock *part_at(const hf_lock *lock, int i)
{
    return i < 0 || i >= hf_count(lock) ? NULL : part_of(lock, i);
}

const char *hf_name_at(const hf_lock *lock, int i)
{
    return hf_name(part_at(lock, i));
}

uint64_t hf_fence_at(const hf_lock *lock, int i)
{
    return hf_fence(part_at(lock, i));
}

hf_reason hf_lost_reason(const hf_lock *lock)
{
    if (is_foreign(lock)) {
        return HF_REASON_SESSION;
    }
    for (int i = 0; i < hf_count(lock); i++) {
        const hf_lock *part = part_of(lock, i);

        if (state_of_one(part) == HF_STATE_LOST) {
            return hf__handle_reason(part->handle);
        }
    }
    return HF_REASON_NONE;
}

static struct hf__parker *parker_of(hf_lock *lock)
{
    return lock->n_parts > 0 ? &lock->parker : &lock->handle->parker;
}

int hf_wait_lost(hf_lock *lock, int64_t wait_ms)
{
    hf__time limit =
        wait_ms == HF_FOREVER ? HF__NEVER : hf__after_ms(hf__now(), wait_ms);
    int r = hf__hold_usable(lock, NULL);

    if (r == HF_OK && wait_ms < 0 && wait_ms != HF_FOREVER) {
        r = HF_EINVAL;
    }
    if (r != HF_OK) {
        return r;
    }
    for (;;) {
        unsigned seen = hf__parker_seen(parker_of(lock));
        hf_lock_state state = hf_state(lock);

        if (state == HF_STATE_LOST) {
            return HF_LOST;
        }
        if (state != HF_STATE_HELD && state != HF_STATE_AT_RISK) {
            return HF_OK;
        }
        if (!hf__before(hf__now(), limit)) {
            return HF_TIMEDOUT;
        }
        hf__park(parker_of(lock), seen, limit);
    }
}
