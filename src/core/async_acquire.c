/* SPDX-License-Identifier: MIT */
/*
 * An asynchronous acquire: runs an acquire (acquire.c) as a job of the
 * executor, and posts an event when it ends. If the lock is no longer wanted
 * when that event is dispatched, the grant is given back. Runs on the
 * executor's thread; begins and is reported on users' threads.
 */
#include "src/core/async_acquire.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/core/acquire.h"
#include "src/core/api.h"
#include "src/core/cancel.h"

struct hf__async_acquire {
    struct hf__job job;
    struct hf__event event;
    /* holds a reference to its client and owns its lock */
    struct hf__acquire a;
    hf_cancel *cancel; /* NULL: none */
    struct hf__follower follower;
    bool is_told;
    hf_error err;
    hf_acquire_fn fn;
    void *arg;
};

static void acquire_free(struct hf__async_acquire *f)
{
    struct hf_client *client = f->a.client;

    hf__acquire_fini(&f->a);
    hf__lock_free(f->a.lock);
    hf__free(f);
    hf__client_unref(client);
}

static bool step(struct hf__job *j, hf__time *ret_until)
{
    return hf__acquire_step(&HF__ELEMENT(j, struct hf__async_acquire, job)->a,
                            ret_until);
}

/* ---- the end */

static void call_off(struct hf__job *j)
{
    struct hf__async_acquire *f = HF__ELEMENT(j, struct hf__async_acquire, job);

    atomic_store(&f->a.is_called_off, true);
    hf__unpark(&j->ready_item.parker);
}

static void count(struct hf_client *client, int r, bool is_shared)
{
    struct hf__counters *counters = &client->counters;

    atomic_fetch_sub(&client->waiting, 1);
    if (r == HF_OK) {
        hf__count(is_shared ? &counters->reentered : &counters->acquired, 1);
    } else {
        hf__count_refusal(counters, r);
    }
}

static void end(struct hf__job *j)
{
    struct hf__async_acquire *f = HF__ELEMENT(j, struct hf__async_acquire, job);

    if (f->is_told) {
        acquire_free(f);
        return;
    }
    if (f->cancel != NULL) {
        hf__cancel_unfollow(f->cancel, &f->follower);
    }
    f->err.status = f->a.result;
    if (f->a.result == HF_OK) {
        f->err = (hf_error)HF_ERROR_INIT; /* drop an error of earlier tries */
    }
    count(f->a.client, f->a.result, false);
    hf__event_queue_post(&f->a.client->events, &f->event);
}

/* The lock was granted but is no longer wanted. */
static void come_back(struct hf__async_acquire *f)
{
    f->is_told = true;
    hf__count(&f->a.client->counters.cancelled, 1);
    hf__executor_adopt(&f->a.client->executor, &f->job);
    f->job.is_over = false;
    hf__acquire_turn_back(&f->a, HF_CANCELLED);
    hf__executor_add(&f->a.client->executor, &f->job);
}

static bool is_unwanted(const struct hf__async_acquire *f)
{
    return f->a.result == HF_OK &&
           (hf__acquire_is_stopped(&f->a) ||
            !hf__is_never(hf__client_close_by(f->a.client)));
}

static void tell(struct hf__event *n)
{
    struct hf__async_acquire *f =
        HF__ELEMENT(n, struct hf__async_acquire, event);
    hf_acquire_fn fn = f->fn;
    void *arg = f->arg;
    hf_error err = f->err;

    if (is_unwanted(f)) {
        (void)hf__acquire_tell_cancelled(&f->a, &err);
        come_back(f);
        fn(arg, HF_CANCELLED, NULL, &err);
        return;
    }
    if (f->a.result == HF_OK) {
        hf_lock *lock = HF_MOVE(f->a.lock);

        acquire_free(f);
        fn(arg, HF_OK, lock, &err);
        return;
    }
    int r = f->a.result;

    acquire_free(f);
    fn(arg, r, NULL, &err);
}

/* ---- the start */

int hf__async_acquire_new(struct hf_client *client, const char *name,
                          const hf_acquire_opts *opts,
                          struct hf__async_acquire **ret_acquire, hf_error *err)
{
    struct hf__async_acquire *f = hf__alloc(sizeof *f);
    int r = HF_OK;

    if (f == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    f->a.client = hf__client_ref(client);
    f->err = (hf_error)HF_ERROR_INIT;
    hf__list_init(&f->event.link);
    f->event.tell = tell;
    f->job.step = step;
    f->job.end = end;
    f->job.call_off = call_off;
    hf__executor_adopt(&client->executor, &f->job);
    f->follower.parker = &f->job.ready_item.parker;
    f->cancel = opts->cancel;
    f->a.names = &name;
    f->a.opts = opts;
    f->a.parker = &f->job.ready_item.parker;
    f->a.stop = f->cancel == NULL ? NULL : &f->cancel->is_fired;
    f->a.err = &f->err;
    f->a.lock = hf__lock_new();
    r = f->a.lock == NULL ? hf__fail(&f->err, HF_ENOMEM, "out of memory")
                          : hf__acquire_prepare(&f->a);
    if (r != HF_OK) {
        hf__error_copy(err, &f->err);
    }
    if (r == HF_OK && (hf__executor_start(&client->executor) != HF_OK ||
                       hf__session_start_runner(hf__client_session(
                           client, &f->a.claim->key)) != HF_OK)) {
        r = hf__fail(err, HF_EUNAVAIL,
                     "the system gives no thread for asynchronous calls: "
                     "raise the limit (ulimit -u)");
    }
    if (r != HF_OK) {
        acquire_free(f);
        return r;
    }
    *ret_acquire = f;
    return HF_OK;
}

void hf__async_acquire_start(struct hf__async_acquire *f,
                             const hf_acquire_opts *opts, hf_acquire_fn fn,
                             void *arg)
{
    int r = HF_OK;

    f->fn = fn;
    f->arg = arg;
    atomic_fetch_add(&f->a.client->waiting, 1);
    r = hf__reenter(f->a.client, hf__grant_name(f->a.claim->grant), opts,
                    f->a.lock, &f->err);
    if (r != HF_BUSY) {
        f->a.result = r;
        count(f->a.client, r, true);
        hf__event_queue_post(&f->a.client->events, &f->event);
        return;
    }
    if (f->cancel != NULL) {
        hf__cancel_follow(f->cancel, &f->follower);
    }
    hf__executor_add(&f->a.client->executor, &f->job);
}
