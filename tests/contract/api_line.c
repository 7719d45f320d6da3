/* SPDX-License-Identifier: MIT */
/*
 * The words of tests/contract/api_line.h. Any thread of a test may call those
 * that start no thread.
 */
#include "tests/contract/api_line.h"

#include <string.h>

static atomic_int n_granted;
static atomic_int n_started;

hf_acquire_opts fair(int64_t wait_ms)
{
    hf_acquire_opts opts = wanting(wait_ms, HF_LEASE_DEFAULT_MS);

    opts.fair = 1;
    return opts;
}

hf_acquire_opts shared(int64_t wait_ms)
{
    hf_acquire_opts opts = wanting(wait_ms, HF_LEASE_DEFAULT_MS);

    opts.shared = 1;
    return opts;
}

hf_acquire_opts slots(int64_t wait_ms, int n)
{
    hf_acquire_opts opts = wanting(wait_ms, HF_LEASE_DEFAULT_MS);

    opts.slots = n;
    return opts;
}

void expect_grant_if(unsigned cap, hf_acquire_opts opts, const char *word)
{
    AUTO_CLIENT *client = open_store();

    if (store_can(cap)) {
        EXPECT_IS(attempt_with(client, "job", &opts), HF_OK);
    } else {
        expect_no_grant(client, "job", &opts, HF_ENOTSUP, word);
    }
}

static void wait_for_it(void *arg)
{
    struct waiter *w = arg;
    hf_lock *lock = NULL;
    int r;

    atomic_store(&w->number, thread_number());
    r = hf_acquire(w->client, w->name, &w->opts, &lock, NULL);
    w->ended_ms = hf__test_now_ms();
    EXPECT_IS(lock != NULL, r == HF_OK);
    if (lock) {
        w->place = atomic_fetch_add(&n_granted, 1) + 1;
        w->fence = hf_fence(lock);
        hf__test_pause_ms(w->hold_ms);
        if (w->is_kept) {
            EXPECT_IS(hf_release(lock, NULL), HF_OK);
        }
        hf_free(lock);
    }
    atomic_store(&w->status, r);
}

void start_claim(struct waiter *w, hf_client *client, const char *name)
{
    w->client = client;
    w->name = name;
    atomic_store(&w->status, -1);
    w->thread = hf__test_start(wait_for_it, w);
}

void start_sleeper(struct waiter *w, hf_client *client, const char *name)
{
    start_claim(w, client, name);
    await_sleep(&w->number);
}

void start_waiter(struct waiter *w, hf_client *client,
                  const hf_acquire_opts *opts)
{
    w->opts = *opts;
    snprintf(w->label, sizeof w->label, "waiter %d",
             atomic_fetch_add(&n_started, 1));
    w->opts.owner = w->label;
    w->is_kept = true;
    start_claim(w, client, "job");
}

void line_up(struct waiter *w, hf_client *client, const hf_acquire_opts *opts,
             int n_waiters)
{
    start_waiter(w, client, opts);
    await_waiters(client, "job", n_waiters);
    AUTO_INFO *info = look_at(client, "job");
    EXPECT(hf_info_waiter_at(info, n_waiters - 1));
    EXPECT_TEXT(hf_info_label(hf_info_waiter_at(info, n_waiters - 1)),
                w->label);
}

int end_waiter(struct waiter *w)
{
    hf__test_join(w->thread);
    return atomic_load(&w->status);
}

static int waiters_of(hf_client *client, const char *name)
{
    AUTO_INFO *info = look_at(client, name);

    return hf_info_waiters(info);
}

void await_waiters(hf_client *client, const char *name, int n)
{
    UNTIL(waiters_of(client, name) == n);
}

static int holders_of(hf_client *client, const char *name)
{
    AUTO_INFO *info = look_at(client, name);

    return hf_info_holders(info);
}

void await_holders(hf_client *client, const char *name, int n)
{
    UNTIL(holders_of(client, name) == n);
}
