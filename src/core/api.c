/* SPDX-License-Identifier: MIT */
/*
 * The calls of holdfast.h on a lock and on the library: arguments are checked
 * here, before any I/O; the work is done by the parts. Called by users'
 * threads; hf_held() also by signal handlers.
 */
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/core/claim.h"
#include "src/core/handle.h"
#include "src/core/options.h"

/* ---- acquiring and letting go */

int hf_acquire(hf_client *client, const char *name,
               const hf_acquire_opts *given, hf_lock **ret_lock, hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf__claim *c = NULL;
    int r = hf__client_usable(client, err);

    if (r == HF_OK && ret_lock == NULL) {
        r = hf__fail(err, HF_EINVAL, "hf_acquire() needs a place for the lock");
    }
    r = r == HF_OK ? hf__name_check(name, err) : r;
    r = r == HF_OK ? hf__options_copy(&opts, sizeof opts, given, err) : r;
    r = r == HF_OK ? hf__options_check(&opts, err) : r;
    if (r != HF_OK) {
        return r;
    }
    r = hf__claim_new(client, name, &opts, &c);
    if (r != HF_OK) {
        return hf__fail(err, r, "out of memory");
    }
    /* A wait that was cancelled before it began costs no I/O. */
    if (c->stop == NULL || atomic_load(c->stop) == 0) {
        r = hf__client_prepare(client, err);
    }
    if (r == HF_OK) {
        r = hf__claim_run(c, ret_lock, err);
    }
    hf__claim_unref(c);
    return r;
}

static int usable(const hf_lock *lock, hf_error *err)
{
    if (lock == NULL) {
        return hf__fail(err, HF_EINVAL, "the lock is NULL");
    }
    return hf__client_usable(lock->client, err);
}

int hf_release(hf_lock *lock, hf_error *err)
{
    int r = usable(lock, err);

    return r == HF_OK ? hf__handle_release(lock, err) : r;
}

int hf_renew(hf_lock *lock, hf_error *err)
{
    int r = usable(lock, err);

    return r == HF_OK ? hf__handle_renew(lock, err) : r;
}

void hf_free(hf_lock *lock)
{
    int r = HF_OK;

    /* In a forked child the handle is the parent's: its mutexes may be held
     * by threads that do not exist here. */
    if (lock == NULL ||
        lock->client->fork_generation != hf__fork_generation()) {
        return;
    }
    r = hf__handle_release(lock, NULL);
    (void)r; /* an unconfirmed one is settled behind the caller's back */
    hf__handle_unref(lock);
}

/* ---- asking the handle */

int hf_held(const hf_lock *lock)
{
    int64_t until = 0;

    if (lock == NULL ||
        lock->client->fork_generation != hf__fork_generation()) {
        return 0;
    }
    until = atomic_load(&lock->held_until);
    if (until != 0 && hf__now().ns < until) {
        return 1;
    }
    if (until != 0) {
        /* Who was told "no" must not be told "yes" later, also if a renewal
         * is just being confirmed: see feed_renewed(). */
        _Atomic int64_t *shown =
            (_Atomic int64_t *)(uintptr_t)&lock->held_until;

        return !atomic_compare_exchange_strong(shown, &until, 0) &&
               until != 0 && hf__now().ns < until;
    }
    return 0;
}

hf_lock_state hf_state(const hf_lock *lock)
{
    hf_lock_state state = HF_STATE_LOST;

    if (lock == NULL ||
        lock->client->fork_generation != hf__fork_generation()) {
        return HF_STATE_LOST;
    }
    state = (hf_lock_state)atomic_load(&lock->state);
    if ((state == HF_STATE_HELD || state == HF_STATE_AT_RISK) &&
        hf_held(lock) == 0) {
        /* The clock is ahead of the keeper; or it was released just now. */
        state = (hf_lock_state)atomic_load(&lock->state);
        return state == HF_STATE_RELEASED ? state : HF_STATE_LOST;
    }
    return state;
}

int64_t hf_remaining_ms(const hf_lock *lock)
{
    int64_t until = 0;
    int64_t now = hf__now().ns;

    if (hf_held(lock) == 0) {
        return 0;
    }
    until = atomic_load(&lock->held_until);
    return until > now ? (until - now) / HF__MS : 0;
}

uint64_t hf_fence(const hf_lock *lock)
{
    return lock == NULL ? 0 : lock->grant.fence;
}

const char *hf_token(const hf_lock *lock)
{
    return lock == NULL ? "" : lock->token_text;
}

const char *hf_name(const hf_lock *lock)
{
    return lock == NULL ? "" : lock->key.bytes + lock->key.name_at;
}

hf_reason hf_lost_reason(const hf_lock *lock)
{
    hf_reason reason = HF_REASON_NONE;

    if (lock == NULL ||
        lock->client->fork_generation != hf__fork_generation()) {
        return HF_REASON_SESSION;
    }
    reason = (hf_reason)atomic_load(&lock->reason);
    return reason == HF_REASON_NONE && hf_state(lock) == HF_STATE_LOST
               ? HF_REASON_EXPIRED
               : reason;
}

int hf_wait_lost(hf_lock *lock, int64_t wait_ms)
{
    hf__time limit =
        wait_ms == HF_FOREVER ? HF__NEVER : hf__after_ms(hf__now(), wait_ms);
    int r = usable(lock, NULL);

    if (r == HF_OK && wait_ms < 0 && wait_ms != HF_FOREVER) {
        r = HF_EINVAL;
    }
    if (r != HF_OK) {
        return r;
    }
    for (;;) {
        unsigned seen = hf__parker_seen(&lock->parker);
        hf_lock_state state = hf_state(lock);

        if (state == HF_STATE_LOST) {
            return HF_LOST;
        }
        if (state == HF_STATE_RELEASED) {
            return HF_OK;
        }
        if (!hf__before(hf__now(), limit)) {
            return HF_TIMEDOUT;
        }
        hf__park(&lock->parker, seen, limit);
    }
}

/* ---- the library */

const char *hf_strstatus(int status)
{
    switch (status) {
#define NAME(name, value, text)                                                \
    case name:                                                                 \
        return #name;
        HF_STATUS_MAP(NAME)
#undef NAME
    }
    return "HF_UNKNOWN_STATUS";
}

const char *hf_strreason(hf_reason reason)
{
    switch (reason) {
    case HF_REASON_NONE:
        return "none";
    case HF_REASON_EXPIRED:
        return "expired";
    case HF_REASON_TAKEN:
        return "taken";
    case HF_REASON_BROKEN:
        return "broken";
    case HF_REASON_SESSION:
        return "session";
    case HF_REASON_STORE_GONE:
        return "store-gone";
    }
    return "none";
}

const char *hf_version(void)
{
    return HF_VERSION;
}

const char *hf_backends(int i)
{
    const struct hf__backend *b = hf__backend_at(i);

    return b == NULL ? NULL : b->scheme;
}

int hf_set_allocator(void *(*resize)(void *, size_t), void (*release)(void *))
{
    return hf__alloc_replace(resize, release);
}
