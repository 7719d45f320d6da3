/* SPDX-License-Identifier: MIT */
/*
 * The acts of claims beside others and in line. As in scene.c none judges a
 * status. All run on the test's thread; one starts another.
 */
#include "tests/torture/scene.h"

#include "tests/contract/api.h"
#include "tests/torture/trip.h"

#include <stddef.h>

/* Bob's owner is another than the test's thread, which asks for him too. */
static int with_beside(struct scene *s, int shared, int slots)
{
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    opts.owner_id = 2;
    opts.shared = shared;
    opts.slots = slots;
    EXPECT_IS(hf_acquire(s->bob, "job", &opts, &s->prepared, NULL), HF_OK);
    return scene_open(s);
}

static int with_shared(struct scene *s)
{
    return with_beside(s, 1, 0);
}

static int with_slot(struct scene *s)
{
    return with_beside(s, 0, 2);
}

static int acquire_with(struct scene *s, hf_acquire_opts opts)
{
    int r = hf_acquire(s->alice, "job", &opts, &s->job, NULL);

    EXPECT_IS(s->job != NULL, r == HF_OK);
    return r;
}

static int play_shared(struct scene *s)
{
    hf_acquire_opts opts = wanting(patience(1500), patience(LEASE_MS));

    opts.shared = 1;
    return acquire_with(s, opts);
}

static int play_slot(struct scene *s)
{
    hf_acquire_opts opts = wanting(patience(1500), patience(LEASE_MS));
    int r;

    opts.slots = 2;
    r = acquire_with(s, opts);
    EXPECT(r != HF_OK || hf_slot(s->job) >= 0);
    return r;
}

/* Leaves a ticket, which must be gone when alice is. */
static int play_wait_shared(struct scene *s)
{
    return acquire_as(s->alice, "job", 5, &s->job);
}

static int play_wait_fair(struct scene *s)
{
    struct hf__test_thread *t = hf__test_start(free_soon, s->prepared);
    hf_acquire_opts opts = wanting(patience(1500), patience(LEASE_MS));
    int r;

    opts.fair = 1;
    r = acquire_with(s, opts);
    s->prepared = NULL;
    hf__test_join(t);
    return r;
}

static int play_tire_fair(struct scene *s)
{
    hf_acquire_opts opts = wanting(5, patience(LEASE_MS));

    opts.fair = 1;
    return acquire_with(s, opts);
}

static const struct act acts[] = {
    {"wait, fair", HF_CAP_FAIR, with_other, play_wait_fair, HF_OK, false},
    {"tire, fair", HF_CAP_FAIR, with_other, play_tire_fair, HF_TIMEDOUT, false},
    {"share", HF_CAP_SHARED, with_shared, play_shared, HF_OK, false},
    {"tire, shared", HF_CAP_SHARED, with_shared, play_wait_shared, HF_TIMEDOUT,
     false},
    {"slot", HF_CAP_SLOTS, with_slot, play_slot, HF_OK, false},
};

const struct act *act_beside_at(int i)
{
    const int n = sizeof acts / sizeof *acts;

    return i < n ? &acts[i] : NULL;
}
