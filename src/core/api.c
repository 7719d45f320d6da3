/* SPDX-License-Identifier: MIT */
/*
 * The calls of holdfast.h that acquire a lock. Arguments are checked here,
 * before any I/O, and an acquire by an owner that already has the lock is
 * decided here; the other files of the core do the rest. lock.c has the calls
 * that take a lock. Called by users' threads.
 */
#include "src/core/api.h"
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/acquire.h"
#include "src/core/adopt.h"
#include "src/core/cancel.h"
#include "src/core/lock.h"
#include "src/core/many.h"
#include "src/core/name_queue.h"
#include "src/core/options.h"

/* ---- acquiring */

/* The checks of every call that returns a lock. */
static int check_call(const hf_client *client, hf_lock **ret_lock,
                      hf_error *err)
{
    int r = hf__client_usable(client, err);

    if (r == HF_OK && ret_lock == NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "the pointer that receives the lock is NULL");
    }
    return r;
}

static int read_options(hf_acquire_opts *opts, const hf_acquire_opts *given,
                        hf_error *err)
{
    int r = hf__options_copy(opts, sizeof *opts, given, err);

    return r == HF_OK ? hf__options_check(opts, err) : r;
}

/* The checked arguments of an acquire. */
struct wish {
    hf_client *client;
    const char *const *names; /* as many as hf_count() of the lock */
    hf_acquire_opts opts;
    /* what opts.label points to if the owner has fields */
    char label[HF_NOTE_MAX + 1];
};

/* ---- acquiring again by the same owner */

static int tell_lost(const char *name, hf_error *err)
{
    return hf__fail(err, HF_LOST,
                    "\"%s\" was lost while its owner held it: release it "
                    "before you acquire it again",
                    name);
}

static int tell_deadlock(const char *name, hf_error *err)
{
    return hf__fail(err, HF_DEADLOCK,
                    "the caller holds \"%s\" itself: release it first, or "
                    "acquire it as reentrant",
                    name);
}

/* The owner's own grant is in the way, so the acquire would wait for itself. */
static int tell_other_lock_mode(const char *name, hf_error *err)
{
    return hf__fail(err, HF_DEADLOCK,
                    "the caller holds \"%s\" itself, in another mode (alone, "
                    "shared, or with another number of slots): release it "
                    "first",
                    name);
}

static bool is_same_lock_mode(const struct hf__grant *h,
                              const hf_acquire_opts *opts)
{
    struct hf__lock_mode wanted = hf__lock_mode_of(opts);

    return h->lock_mode.mode == wanted.mode &&
           h->lock_mode.slots == wanted.slots;
}

/* An acquire by an owner that already has the lock: it shares the grant if it
 * may, and otherwise is told so instead of waiting for itself. Does not ask the
 * store. */
int hf__reenter(struct hf_client *client, const char *name,
                const hf_acquire_opts *opts, struct hf_lock *lock,
                hf_error *err)
{
    char bytes[HF__KEY_MAX];
    struct hf__key key;
    struct hf__grant *h = NULL;
    bool joins = false;
    int r = HF_OK;

    hf__client_key(client, name, bytes, &key);
    h = hf__name_queue_owned(client, &key, opts->owner_id);
    if (h == NULL) {
        return HF_BUSY;
    }
    joins = opts->reentrant != 0 && is_same_lock_mode(h, opts);
    r = joins ? hf__lock_join(lock, h) : hf__lock_can_join(h);
    if (joins && r == HF_OK) {
        return HF_OK;
    }
    if (r == HF_OK) {
        r = opts->reentrant != 0 ? tell_other_lock_mode(name, err)
                                 : tell_deadlock(name, err);
    } else {
        r = r == HF_LOST && opts->reentrant != 0 ? tell_lost(name, err)
                                                 : (int)HF_BUSY;
    }
    hf__grant_unref(h);
    return r;
}

/* ---- acquiring from the store */

static int ask_store(struct wish *w, hf_lock *lock, hf_error *err)
{
    struct hf__parker own = {0};
    hf_cancel *cancel = w->opts.cancel;
    struct hf__acquire a = {
        .client = w->client,
        .names = w->names,
        .opts = &w->opts,
        .lock = lock,
        .parker = cancel == NULL ? &own : &cancel->parker,
        .stop = cancel == NULL ? NULL : &cancel->is_fired,
        .err = err,
    };
    int r = hf__acquire_prepare(&a);

    if (r == HF_OK) {
        hf__run_steps(a.parker, hf__acquire_step, &a);
        r = a.result;
    }
    hf__acquire_fini(&a);
    return r;
}

/* HF_BUSY: this owner has none of the names. */
static int reenter_any(struct wish *w, hf_lock *lock, hf_error *err)
{
    int r = HF_BUSY;

    for (int i = 0; i < hf_count(lock) && r == HF_BUSY; i++) {
        r = hf__reenter(w->client, w->names[i], &w->opts, lock, err);
    }
    return r;
}

static int acquire_or_share(struct wish *w, hf_lock *lock, hf_error *err)
{
    struct hf__counters *counters = &w->client->counters;
    int r = reenter_any(w, lock, err);

    if (r != HF_BUSY) {
        hf__count(&counters->reentered, r == HF_OK);
        return r;
    }
    r = ask_store(w, lock, err);
    hf__count(&counters->acquired, r == HF_OK ? (unsigned)hf_count(lock) : 0);
    return r;
}

int hf__acquire_check(hf_client *client, const char *name,
                      const hf_acquire_opts *given, hf_acquire_opts *ret_opts,
                      hf_error *err)
{
    int r = hf__client_usable(client, err);

    r = r == HF_OK ? hf__name_check(name, err) : r;
    r = r == HF_OK ? read_options(ret_opts, given, err) : r;
    return r == HF_OK ? hf__options_check_caps(client, ret_opts, err) : r;
}

/* The owner is the calling thread unless the caller named one. */
static void complete(hf_acquire_opts *opts)
{
    if (opts->owner_id == 0) {
        opts->owner_id = hf__random_of_thread();
    }
}

/* Takes an empty lock, which is passed to the caller or freed; NULL: there was
 * no memory for it. */
static int acquire(struct wish *w, hf_lock *empty, hf_lock **ret_lock,
                   hf_error *err)
{
    HF_AUTO(hf__lock_free_auto) hf_lock *lock = empty;
    hf_client *client = w->client;
    int r = hf__owner_fill(&w->opts, w->label, err);

    if (r != HF_OK) {
        return r;
    }
    complete(&w->opts);
    if (lock == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    atomic_fetch_add(&client->waiting, 1);
    r = acquire_or_share(w, lock, err);
    atomic_fetch_sub(&client->waiting, 1);
    if (r == HF_OK) {
        *ret_lock = HF_MOVE(lock);
    } else {
        hf__count_refusal(&client->counters, r);
    }
    return r;
}

int hf_acquire(hf_client *client, const char *name,
               const hf_acquire_opts *given, hf_lock **ret_lock, hf_error *err)
{
    struct wish w = {client, &name, HF_ACQUIRE_OPTS_INIT, ""};
    int r = check_call(client, ret_lock, err);

    r = r == HF_OK ? hf__acquire_check(client, name, given, &w.opts, err) : r;
    return r == HF_OK ? acquire(&w, hf__lock_new(), ret_lock, err) : r;
}

/* Refuse the options that make no sense with several names, or that nobody has
 * needed. */
static int check_many(const hf_acquire_opts *opts, hf_error *err)
{
    if (opts->detached != 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "detached: not with several names, for each would "
                        "need its own token; acquire each by itself");
    }
    if (opts->reentrant != 0) {
        return hf__fail(err, HF_ENOTSUP,
                        "reentrant: not with several names; acquire each by "
                        "itself");
    }
    return HF_OK;
}

int hf_acquire_many(hf_client *client, const char *const *names, int n,
                    const hf_acquire_opts *given, hf_lock **ret_lock,
                    hf_error *err)
{
    struct wish w = {client, names, HF_ACQUIRE_OPTS_INIT, ""};
    int r = check_call(client, ret_lock, err);

    r = r == HF_OK ? hf__many_check(names, n, err) : r;
    r = r == HF_OK ? read_options(&w.opts, given, err) : r;
    r = r == HF_OK ? check_many(&w.opts, err) : r;
    r = r == HF_OK ? hf__options_check_caps(client, &w.opts, err) : r;
    return r == HF_OK ? acquire(&w, hf__lock_new_many(n), ret_lock, err) : r;
}

int hf_adopt(hf_client *client, const char *name, const char *token,
             const hf_acquire_opts *given, hf_lock **ret_lock, hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    HF_AUTO(hf__lock_free_auto) hf_lock *lock = NULL;
    struct hf__token parsed;
    int r = check_call(client, ret_lock, err);

    r = r == HF_OK ? hf__name_check(name, err) : r;
    r = r == HF_OK ? read_options(&opts, given, err) : r;
    complete(&opts);
    if (r == HF_OK && !hf__token_parse(token, &parsed)) {
        r = hf__fail(err, HF_EINVAL,
                     "a token is 32 lower-case hex digits, as hf_token() gives "
                     "them");
    }
    r = r == HF_OK ? hf__options_check_adoption(client, err) : r;
    if (r != HF_OK) {
        return r;
    }
    lock = hf__lock_new();
    if (lock == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    r = hf__adopt(client, name, &parsed, &opts, &lock->grant, err);
    if (r == HF_OK) {
        *ret_lock = HF_MOVE(lock);
    }
    return r;
}
