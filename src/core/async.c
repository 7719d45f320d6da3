/* SPDX-License-Identifier: MIT */
/*
 * The asynchronous calls of holdfast.h. Arguments are checked here, before
 * anything is accepted. async_acquire.c acquires; a release is stepped here, on
 * the executor's thread, and decided in release.c; lock.c reports a loss;
 * event_queue.c calls the callbacks. Called by users' threads.
 */
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/api.h"
#include "src/core/async_acquire.h"
#include "src/core/options.h"
#include "src/core/release.h"

/* ---- shared */

static int check_open(struct hf_client *client, hf_error *err)
{
    return hf__event_queue_is_closed(&client->events)
               ? hf__fail(err, HF_EUNAVAIL,
                          "the client is closed: nobody would dispatch")
               : (int)HF_OK;
}

/* ---- acquiring */

/* No thread owns an asynchronous acquire, so it gets a random owner. */
static int choose_owner(hf_acquire_opts *opts, hf_error *err)
{
    if (opts->owner_id != 0) {
        return HF_OK;
    }
    if (opts->reentrant != 0) {
        return hf__fail(err, HF_EINVAL,
                        "reentrant needs an owner_id here: an asynchronous "
                        "acquire has no thread to know its owner by");
    }
    while (opts->owner_id == 0) {
        hf__random(&opts->owner_id, sizeof opts->owner_id);
    }
    return HF_OK;
}

int hf_acquire_async(hf_client *client, const char *name,
                     const hf_acquire_opts *given, hf_acquire_fn fn, void *arg,
                     hf_error *err)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    char label[HF_NOTE_MAX + 1];
    struct hf__async_acquire *f = NULL;
    int r = hf__acquire_check(client, name, given, &opts, err);

    if (r == HF_OK && fn == NULL) {
        r = hf__fail(err, HF_EINVAL, "the call needs a function to call back");
    }
    r = r == HF_OK ? choose_owner(&opts, err) : r;
    r = r == HF_OK ? hf__owner_fill(&opts, label, err) : r;
    if (r == HF_OK && !hf__is_never(hf__client_close_by(client))) {
        r = hf__fail(err, HF_EUNAVAIL, "the client is being closed");
    }
    r = r == HF_OK ? hf__async_acquire_new(client, name, &opts, &f, err) : r;
    if (r == HF_OK) {
        hf__async_acquire_start(f, &opts, fn, arg);
    }
    return r;
}

/* ---- releasing */

struct async_release {
    struct hf__job job;
    struct hf__event event;
    struct hf_client *client; /* holds a reference */
    int result;
    hf_error err;
    hf_done_fn fn; /* NULL: no callback */
    void *arg;
    int n;
    /* one per name, with a reference to its grant */
    struct hf__release_op releases[];
};

static void async_release_free(struct async_release *d)
{
    struct hf_client *client = d->client;

    for (int i = 0; i < d->n; i++) {
        hf__grant_unref(d->releases[i].grant);
    }
    hf__free(d);
    hf__client_unref(client);
}

static bool step(struct hf__job *j, hf__time *ret_until)
{
    struct async_release *d = HF__ELEMENT(j, struct async_release, job);
    hf__time close_by = hf__client_close_by(d->client);

    for (int i = 0; i < d->n; i++) {
        d->releases[i].limit = hf__earlier(d->releases[i].limit, close_by);
    }
    if (!hf__release_ops_step(&(struct hf__releases){d->releases, d->n},
                              ret_until)) {
        return false;
    }
    d->result = hf__release_ops_tell(d->releases, d->n, &d->err);
    return true;
}

static void call_off(struct hf__job *j)
{
    hf__unpark(&j->ready_item.parker);
}

/* This also ends a release that had nothing to send: its result is known. */
static void complete(struct async_release *d)
{
    if (d->fn == NULL) {
        async_release_free(d);
    } else {
        hf__event_queue_post(&d->client->events, &d->event);
    }
}

static void end(struct hf__job *j)
{
    complete(HF__ELEMENT(j, struct async_release, job));
}

static void tell(struct hf__event *n)
{
    struct async_release *d = HF__ELEMENT(n, struct async_release, event);
    hf_done_fn fn = d->fn;
    void *arg = d->arg;
    hf_error err = d->err;
    int r = d->result;

    async_release_free(d);
    fn(arg, r, &err);
}

static struct async_release *async_release_new(struct hf_lock *lock)
{
    int n = hf_count(lock);
    struct async_release *d =
        hf__alloc(sizeof *d + (size_t)n * sizeof d->releases[0]);

    if (d == NULL) {
        return NULL;
    }
    d->client = hf__client_ref(lock->grant->client);
    d->err = (hf_error)HF_ERROR_INIT;
    hf__list_init(&d->event.link);
    d->event.tell = tell;
    d->job.step = step;
    d->job.end = end;
    d->job.call_off = call_off;
    hf__executor_adopt(&d->client->executor, &d->job);
    d->n = n;
    for (int i = 0; i < n; i++) {
        atomic_fetch_add(&hf__lock_part(lock, i)->grant->refs, 1);
        d->releases[i].parker = &d->job.ready_item.parker;
    }
    return d;
}

static bool is_over(const struct async_release *d)
{
    for (int i = 0; i < d->n; i++) {
        if (d->releases[i].stage != HF__RELEASE_ENDED) {
            return false;
        }
    }
    return true;
}

static void start_release(struct async_release *d, hf_lock *lock)
{
    atomic_store(&lock->is_sent_away, true);
    hf__lock_leave(lock, d->releases);
    if (is_over(d)) {
        d->result = hf__release_ops_tell(d->releases, d->n, &d->err);
        complete(d);
        return;
    }
    hf__executor_add(&d->client->executor, &d->job);
}

int hf_release_async(hf_lock *lock, hf_done_fn fn, void *arg, hf_error *err)
{
    struct async_release *d = NULL;
    int r = hf__lock_usable(lock, err);

    r = r == HF_OK ? check_open(lock->grant->client, err) : r;
    if (r != HF_OK) {
        return r;
    }
    if (hf__executor_start(&lock->grant->client->executor) != HF_OK) {
        return hf__fail(err, HF_EUNAVAIL,
                        "the system gives no thread for asynchronous calls: "
                        "raise the limit (ulimit -u), or use hf_release()");
    }
    d = async_release_new(lock);
    if (d == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    d->fn = fn;
    d->arg = arg;
    start_release(d, lock);
    return HF_OK;
}

/* ---- losses and dispatching */

int hf_on_lost(hf_lock *lock, hf_lost_fn fn, void *arg)
{
    int r = hf__lock_usable(lock, NULL);

    r = r == HF_OK ? check_open(lock->grant->client, NULL) : r;
    return r == HF_OK ? hf__lock_on_lost(lock, fn, arg) : r;
}

int hf_fd(hf_client *client)
{
    int r = hf__client_usable(client, NULL);

    return r == HF_OK ? hf__event_queue_fd(&client->events) : r;
}

int hf_dispatch(hf_client *client, hf_error *err)
{
    int r = hf__client_usable(client, err);

    return r == HF_OK ? hf__event_queue_dispatch(&client->events) : r;
}
