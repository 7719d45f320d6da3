/* SPDX-License-Identifier: MIT */
/*
 * What a lock answers without asking the store: whether it is held, and what
 * it is called. A hold that was let go answers for itself; all else is the
 * handle's to know. Called by users' threads; hf_held() also by signal
 * handlers.
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

int hf_held(const hf_lock *lock)
{
    return !is_foreign(lock) && !atomic_load(&lock->is_left) &&
           is_held(lock->handle);
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

hf_lock_state hf_state(const hf_lock *lock)
{
    if (is_foreign(lock)) {
        return HF_STATE_LOST;
    }
    if (atomic_load(&lock->is_left)) {
        return lock->left_result == HF_LOST ? HF_STATE_LOST : HF_STATE_RELEASED;
    }
    return state_of(lock->handle);
}

int64_t hf_remaining_ms(const hf_lock *lock)
{
    int64_t until = 0;
    int64_t now = hf__now().ns;

    if (hf_held(lock) == 0) {
        return 0;
    }
    until = atomic_load(&lock->handle->held_until);
    return until > now ? (until - now) / HF__MS : 0;
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

hf_reason hf_lost_reason(const hf_lock *lock)
{
    if (is_foreign(lock)) {
        return HF_REASON_SESSION;
    }
    return hf_state(lock) == HF_STATE_LOST ? hf__handle_reason(lock->handle)
                                           : HF_REASON_NONE;
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
        unsigned seen = hf__parker_seen(&lock->handle->parker);
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
        hf__park(&lock->handle->parker, seen, limit);
    }
}
