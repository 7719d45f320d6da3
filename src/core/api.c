/* SPDX-License-Identifier: MIT */
/*
 * The calls of holdfast.h that acquire a lock and let it go: arguments are
 * checked here, before any I/O; the work is done by the parts. What a lock
 * answers is ask.c's. Called by users' threads.
 */
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/adopt.h"
#include "src/core/claim.h"
#include "src/core/hold.h"
#include "src/core/options.h"
#include "src/core/reenter.h"
#include "src/core/token.h"

/* ---- acquiring */

/* What all calls need that give a lock. */
static int check_call(const hf_client *client, const char *name,
                      hf_lock **ret_lock, hf_error *err)
{
    int r = hf__client_usable(client, err);

    if (r == HF_OK && ret_lock == NULL) {
        r = hf__fail(err, HF_EINVAL, "the call needs a place for the lock");
    }
    return r == HF_OK ? hf__name_check(name, err) : r;
}

static int read_options(hf_acquire_opts *opts, const hf_acquire_opts *given,
                        hf_error *err)
{
    int r = hf__options_copy(opts, sizeof *opts, given, err);

    if (opts->owner_id == 0) {
        opts->owner_id = hf__random_of_thread();
    }
    return r == HF_OK ? hf__options_check(opts, err) : r;
}

static int ask_store(hf_client *client, const char *name,
                     const hf_acquire_opts *opts, hf_lock *lock, hf_error *err)
{
    struct hf__claim *c = NULL;
    int r = hf__claim_new(client, name, opts, &c);

    if (r != HF_OK) {
        return hf__fail(err, r, "out of memory");
    }
    /* A wait that was cancelled before it began costs no I/O. */
    if (c->stop == NULL || atomic_load(c->stop) == 0) {
        r = hf__client_prepare(client, err);
    }
    if (r == HF_OK) {
        r = hf__claim_run(c, &lock->handle, err);
    }
    hf__claim_unref(c);
    return r;
}

static int check_order_caps(unsigned caps, const hf_acquire_opts *opts,
                            hf_error *err)
{
    if (opts->fair != 0 && (caps & HF_CAP_FAIR) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "fair: this store keeps no line of those who wait; "
                        "leave it at 0, or use another store");
    }
    if (opts->shared != 0 && (caps & HF_CAP_SHARED) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "shared: this store has one holder for each name; "
                        "leave it at 0, or use another store");
    }
    if (opts->slots != 0 && (caps & HF_CAP_SLOTS) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "slots: this store has one holder for each name; "
                        "leave it at 0, or use another store");
    }
    return HF_OK;
}

static int check_caps(const hf_client *client, const hf_acquire_opts *opts,
                      hf_error *err)
{
    unsigned caps = client->settings.backend->caps;

    if (opts->detached != 0 && (caps & HF_CAP_DETACH) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "detached: this store ties a lock to its process; "
                        "acquire it without, in a process that lives as long");
    }
    if (opts->min_hold_ms != 0 && (caps & HF_CAP_KEEP) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "min_hold_ms: this store can't keep a name closed; "
                        "leave it at 0, or use another store");
    }
    if (opts->once_ms != 0 && (caps & HF_CAP_KEEP) == 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "once_ms: this store can't keep the mark of a start; "
                        "leave it at 0, or use another store");
    }
    return check_order_caps(caps, opts, err);
}

/* With the lock in hand, one look and one mark are enough: who else would
 * start has to have the lock. The look before it spares a vain wait. */
static int ask_once(hf_client *client, const char *name,
                    const hf_acquire_opts *opts, hf_lock *lock, hf_error *err)
{
    int r = hf__once_new(client, name, opts, &lock->once, err);

    r = r == HF_OK ? hf__once_peek(client, lock->once, err) : r;
    r = r == HF_OK ? ask_store(client, name, opts, lock, err) : r;
    if (r != HF_OK) {
        return r;
    }
    r = hf__once_mark(client, lock->once, opts, err);
    if (r != HF_OK) {
        int released;

        hf__hold_waive(lock);
        released = hf__hold_release(lock, NULL);
        (void)released; /* an unconfirmed one is settled in the background */
    }
    return r;
}

static int acquire_or_share(hf_client *client, const char *name,
                            const hf_acquire_opts *opts, hf_lock *lock,
                            hf_error *err)
{
    int r = hf__reenter(client, name, opts, lock, err);

    if (r != HF_BUSY) {
        hf__count(&client->counters.reentered, r == HF_OK);
        return r;
    }
    r = opts->once_ms == 0 ? ask_store(client, name, opts, lock, err)
                           : ask_once(client, name, opts, lock, err);
    hf__count(&client->counters.acquired, r == HF_OK);
    return r;
}

static void count_refusal(struct hf__counters *counters, int r)
{
    if (r == HF_CANCELLED) {
        hf__count(&counters->cancelled, 1);
    } else {
        hf__count(r < 0 ? &counters->failed : &counters->busy, 1);
    }
}

int hf_acquire(hf_client *client, const char *name,
               const hf_acquire_opts *given, hf_lock **ret_lock, hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    HF_AUTO(hf__hold_free_auto) hf_lock *lock = NULL;
    int r = check_call(client, name, ret_lock, err);

    r = r == HF_OK ? read_options(&opts, given, err) : r;
    r = r == HF_OK ? check_caps(client, &opts, err) : r;
    if (r != HF_OK) {
        return r;
    }
    lock = hf__hold_new();
    if (lock == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    atomic_fetch_add(&client->waiting, 1);
    r = acquire_or_share(client, name, &opts, lock, err);
    atomic_fetch_sub(&client->waiting, 1);
    if (r == HF_OK) {
        *ret_lock = HF_MOVE(lock);
    } else {
        count_refusal(&client->counters, r);
    }
    return r;
}

int hf_adopt(hf_client *client, const char *name, const char *token,
             const hf_acquire_opts *given, hf_lock **ret_lock, hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    HF_AUTO(hf__hold_free_auto) hf_lock *lock = NULL;
    struct hf__token parsed;
    int r = check_call(client, name, ret_lock, err);

    r = r == HF_OK ? read_options(&opts, given, err) : r;
    if (r == HF_OK && !hf__token_parse(token, &parsed)) {
        r = hf__fail(err, HF_EINVAL,
                     "a token is 32 lower-case hex digits, as hf_token() gives "
                     "them");
    }
    if (r != HF_OK) {
        return r;
    }
    lock = hf__hold_new();
    if (lock == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    r = hf__adopt(client, name, &parsed, &opts, &lock->handle, err);
    if (r == HF_OK) {
        *ret_lock = HF_MOVE(lock);
    }
    return r;
}

/* ---- letting go */

int hf_release(hf_lock *lock, hf_error *err)
{
    int r = hf__hold_usable(lock, err);

    return r == HF_OK ? hf__hold_release(lock, err) : r;
}

int hf_detach(hf_lock *lock, hf_error *err)
{
    int r = hf__hold_usable(lock, err);

    return r == HF_OK ? hf__hold_detach(lock, err) : r;
}

int hf_once_undo(hf_lock *lock, hf_error *err)
{
    int r = hf__hold_usable(lock, err);

    if (r == HF_OK && lock->once == NULL) {
        r = hf__fail(err, HF_EINVAL, "\"%s\" was acquired without once_ms",
                     hf_name(lock));
    }
    return r == HF_OK ? hf__once_undo(lock->handle->client, lock->once, err)
                      : r;
}

int hf_renew(hf_lock *lock, hf_error *err)
{
    int r = hf__hold_usable(lock, err);

    return r == HF_OK ? hf__hold_renew(lock, err) : r;
}

void hf_free(hf_lock *lock)
{
    int r = HF_OK;

    /* In a forked child the handle is the parent's: its mutexes may be held
     * by threads that do not exist here. */
    if (lock == NULL || hf__hold_usable(lock, NULL) != HF_OK) {
        return;
    }
    r = hf__hold_release(lock, NULL);
    (void)r; /* an unconfirmed one is settled behind the caller's back */
    hf__hold_free(lock);
}
