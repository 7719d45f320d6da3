/* SPDX-License-Identifier: MIT */
/*
 * The calls of holdfast.h that acquire a lock and let it go: arguments are
 * checked here, before any I/O; the work is done by the parts. What a lock
 * answers is ask.c's. Called by users' threads.
 */
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "src/core/claim.h"
#include "src/core/hold.h"
#include "src/core/options.h"
#include "src/core/reenter.h"

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

int hf_acquire(hf_client *client, const char *name,
               const hf_acquire_opts *given, hf_lock **ret_lock, hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    HF_AUTO(hf__hold_free_auto) hf_lock *lock = NULL;
    int r = check_call(client, name, ret_lock, err);

    r = r == HF_OK ? read_options(&opts, given, err) : r;
    if (r != HF_OK) {
        return r;
    }
    lock = hf__hold_new();
    if (lock == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    r = hf__reenter(client, name, &opts, lock, err);
    if (r == HF_BUSY) {
        r = ask_store(client, name, &opts, lock, err);
    }
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

int hf_renew(hf_lock *lock, hf_error *err)
{
    int r = hf__hold_usable(lock, err);

    return r == HF_OK ? hf__handle_renew(lock->handle, err) : r;
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
