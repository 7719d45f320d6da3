/* SPDX-License-Identifier: MIT */
/*
 * The acts of the calls that do not wait: whatever fails, they are refused,
 * or they answer once. On the test's thread, which dispatches.
 */
#include "tests/torture/async.h"

#include "tests/contract/api.h"

struct answer {
    int calls;
    int status;
    hf_lock *lock;
};

static void note_acquire(void *arg, int status, hf_lock *lock,
                         const hf_error *err)
{
    struct answer *a = arg;

    EXPECT_IS(lock != NULL, status == HF_OK);
    EXPECT_IS(err->status, status);
    EXPECT_IS(err->text[0] != '\0', status != HF_OK);
    *a = (struct answer){a->calls + 1, status, lock};
}

static void note_release(void *arg, int status, const hf_error *err)
{
    struct answer *a = arg;

    EXPECT_IS(err->status, status);
    a->calls++;
    a->status = status;
}

/* Whatever fails, the answer comes, and once. */
static int await_answer(struct scene *s, struct answer *a)
{
    int64_t start = hf__test_now_ms();

    while (a->calls == 0) {
        EXPECT_LESS(since(start), patience(10000));
        hf__test_pause_ms(1);
        EXPECT(hf_dispatch(s->alice, NULL) >= 0);
    }
    EXPECT_IS(hf_dispatch(s->alice, NULL), 0);
    EXPECT_IS(a->calls, 1);
    return a->status;
}

static int acquire_async(struct scene *s, const hf_acquire_opts *opts)
{
    struct answer a = {0};
    int r = hf_acquire_async(s->alice, "job", opts, note_acquire, &a, NULL);

    if (r == HF_OK) {
        r = await_answer(s, &a);
    } else {
        EXPECT_IS(hf_dispatch(s->alice, NULL), 0);
        EXPECT_IS(a.calls, 0);
    }
    s->job = a.lock;
    return r;
}

int scene_acquire_async(struct scene *s)
{
    hf_acquire_opts opts = wanting(patience(1500), patience(LEASE_MS));

    return acquire_async(s, &opts);
}

int scene_start_async(struct scene *s)
{
    hf_acquire_opts opts = wanting(patience(1500), patience(LEASE_MS));
    int r;

    opts.once_ms = 1; /* so that the next scene may start it again */
    r = acquire_async(s, &opts);
    hf__test_pause_ms(2);
    return r;
}

/* In the line behind bob, and then let go by closing. */
int scene_close_async(struct scene *s)
{
    hf_acquire_opts opts = wanting(HF_FOREVER, patience(LEASE_MS));
    struct answer a[2] = {{0}};
    int r[2];

    for (int i = 0; i < 2; i++) {
        opts.owner_id = 0;
        r[i] = hf_acquire_async(s->alice, "taken", &opts, note_acquire, &a[i],
                                NULL);
    }
    hf_close(s->alice);
    s->alice = NULL;
    for (int i = 0; i < 2; i++) {
        EXPECT_IS(a[i].calls, r[i] == HF_OK);
        EXPECT(r[i] != HF_OK || a[i].status == HF_CANCELLED || a[i].status < 0);
    }
    r[0] = r[0] == HF_OK ? a[0].status : r[0];
    r[1] = r[1] == HF_OK ? a[1].status : r[1];
    return r[0] == HF_CANCELLED ? r[1] : r[0];
}

/* What is refused is as it was, and is let go otherwise. */
int scene_release_async(struct scene *s)
{
    struct answer a = {0};

    if (hf_release_async(s->job, note_release, &a, NULL) == HF_OK) {
        return await_answer(s, &a);
    }
    EXPECT_IS(a.calls, 0);
    return hf_release(s->job, NULL);
}

int scene_fd(struct scene *s)
{
    int fd = hf_fd(s->alice);

    return fd < 0 ? fd : (int)HF_OK;
}
