/* SPDX-License-Identifier: MIT */
/*
 * The loop, and the rule that callbacks run nowhere else: each thread knows
 * if it is in the loop just now.
 */
#include "tests/contract/loop.h"

#include <poll.h>

static _Thread_local int in_loop;

static void note(struct outcome *o, int status, const hf_error *err)
{
    EXPECT(in_loop > 0);
    o->calls++;
    EXPECT_IS(o->calls, 1);
    EXPECT(err != NULL);
    EXPECT_IS(err->status, status);
    EXPECT_IS(err->text[0] != '\0', status != HF_OK);
    o->status = status;
    o->err = *err;
    o->at_ms = hf__test_now_ms();
    if (o->then != NULL) {
        o->then(o);
    }
}

void note_acquire(void *arg, int status, hf_lock *lock, const hf_error *err)
{
    struct outcome *o = arg;

    EXPECT_IS(lock != NULL, status == HF_OK);
    o->lock = lock;
    note(o, status, err);
}

void note_done(void *arg, int status, const hf_error *err)
{
    note(arg, status, err);
}

void note_loss(void *arg, hf_lock *lock, hf_reason reason)
{
    struct outcome *o = arg;

    EXPECT(in_loop > 0);
    EXPECT_IS(hf_held(lock), 0);
    EXPECT_IS(hf_state(lock), HF_STATE_LOST);
    EXPECT_IS(hf_lost_reason(lock), reason);
    o->calls++;
    EXPECT_IS(o->calls, 1);
    o->reason = reason;
    o->at_ms = hf__test_now_ms();
    if (o->then != NULL) {
        o->then(o);
    }
}

void begin(hf_client *client, const char *name, const hf_acquire_opts *given,
           struct outcome *o)
{
    hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;

    opts.owner_id = 0;
    o->client = client;
    EXPECT_IS(hf_acquire_async(client, name, given == NULL ? &opts : given,
                               note_acquire, o, &err),
              HF_OK);
    EXPECT_IS(err.status, 0);
}

void begin_release(struct outcome *o, struct outcome *done)
{
    EXPECT_IS(hf_release_async(o->lock, note_done, done, NULL), HF_OK);
    EXPECT_IS(hf_held(o->lock), 0);
}

void free_outcome(struct outcome *o)
{
    hf_free(o->lock);
    o->lock = NULL;
}

bool is_ready(hf_client *client, int64_t wait_ms)
{
    struct pollfd p = {.fd = hf_fd(client), .events = POLLIN};

    EXPECT(p.fd >= 0);
    return poll(&p, 1, (int)wait_ms) == 1 && (p.revents & POLLIN) != 0;
}

int dispatch(hf_client *client)
{
    int n;

    in_loop++;
    n = hf_dispatch(client, NULL);
    in_loop--;
    EXPECT(n >= 0);
    return n;
}

void close_loop(hf_client *client)
{
    in_loop++;
    hf_close(client);
    in_loop--;
}

int await(hf_client *client, struct outcome *o)
{
    await_all(client, o, 1);
    return o->status;
}

void await_all(hf_client *client, struct outcome *o, int n)
{
    int64_t start = hf__test_now_ms();

    for (int i = 0; i < n; i++) {
        while (o[i].calls == 0) {
            EXPECT_LESS(since(start), patience(15000));
            if (is_ready(client, 100)) {
                EXPECT_MORE(dispatch(client), 0);
            }
        }
    }
}

void loop_for(hf_client *client, int64_t ms)
{
    int64_t start = hf__test_now_ms();

    while (since(start) < ms) {
        if (is_ready(client, 10)) {
            (void)dispatch(client);
        }
    }
}
