/* SPDX-License-Identifier: MIT */
/*
 * When memory, threads or descriptors run out: the n-th request fails, or
 * all from the n-th on, for every n until the call succeeds. Each time the
 * answer is a clean one, what was taken comes back, no lock stays behind
 * that nobody was told of, and the same client works again at once.
 * Of an act with many requests some are left out, by the seed.
 */
#include "tests/contract/api.h"
#include "tests/torture/scene.h"
#include "tests/torture/trip.h"
#include "tests/virtual/virtual.h"

#include <stdlib.h>

/* Of the requests of an act, how many are made to fail, less where that
 * takes its time: under sanitizers, and when nothing gets better. */
enum { MOST = 40, MOST_SLOW = 16, PART_LASTING = 5, NEVER = 1000000 };

static struct scene scene;
/* Descriptors, and blocks, that a store in use may keep in reserve. */
enum { KEPT = 2 };

static enum trip kind;
static bool stays;

/* What a call may say instead of its result. */
static bool is_clean(const struct act *act, int r)
{
    if (r == act->result) {
        return true;
    }
    /* Who is blind for good sees nobody let go. */
    if (stays && act->result == HF_OK && r == HF_TIMEDOUT) {
        return true;
    }
    if (kind == TRIP_MEMORY) {
        return r == HF_ENOMEM && !act->is_certain;
    }
    return r == HF_ENOMEM || r == HF_EUNAVAIL || r == HF_EUNKNOWN;
}

/* The same client, when there is enough again. */
static void expect_usable(hf_client *alice)
{
    AUTO_LOCK *lock = acquire(alice, "next");
    AUTO_INFO *info = look_at(alice, "taken");

    expect_held(lock);
    EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

struct level {
    int blocks;
    int fds;
};

static struct level now(void)
{
    return (struct level){trip_blocks(), count_fds()};
}

static bool is_same(const struct level *a, const struct level *b)
{
    return a->blocks == b->blocks && a->fds == b->fds;
}

/* Once nobody is busy any more: bob's threads still tidy up for a moment. */
static struct level at_rest(void)
{
    int64_t start = hf__test_now_ms();
    struct level level = now();

    for (int same = 0; same < 20 && since(start) < patience(1000);) {
        struct level next;

        hf__test_pause_ms(2);
        next = now();
        same = is_same(&level, &next) ? same + 1 : 0;
        level = next;
    }
    return level;
}

static bool is_level(const struct level *before, const struct level *found,
                     int kept)
{
    return abs(found->blocks - before->blocks) <= kept &&
           found->fds <= before->fds + kept;
}

/* Soon: bob's threads may still be busy with what he let go. And while he has
 * the store open, it may keep a descriptor or two to use them again: SQLite
 * closes none while another connection of the process has a lock. So does a
 * connection that met a line, or holders side by side, keep the room for the
 * next ones until it is made anew; whether one of bob's did is a matter of who
 * was faster. Nothing is kept when he is gone. */
static void expect_level(const struct level *before, int kept)
{
    int64_t start = hf__test_now_ms();
    struct level found = now();

    while (!is_level(before, &found, kept) && since(start) < patience(1000)) {
        hf__test_pause_ms(1);
        found = now();
    }
    EXPECT_LESS(abs(found.blocks - before->blocks), kept + 1);
    EXPECT(found.fds <= before->fds + kept);
}

/* False: nothing failed, the n-th request was not made. */
static bool play(const struct act *act, int n)
{
    bool has_failed;
    int r;

    EXPECT_IS(act->prepare(&scene), HF_OK);
    trip_arm(kind, n, stays);
    r = act->play(&scene);
    has_failed = trip_disarm();
    if (!is_clean(act, r)) {
        printf("%s, request %d: %s\n", act->name, n, hf_strstatus(r));
        EXPECT(false);
    }
    EXPECT_IS(has_failed ? act->result : r, act->result);
    if (scene.alice) {
        expect_usable(scene.alice);
    }
    scene_expect_exclusive(&scene);
    scene_clear(&scene);
    scene_expect_free(patience(1000));
    return has_failed;
}

/* All n of a few, and in virtual time, else about MOST of them. What must let
 * go tries for as long as the lease lasts. */
static int after(const struct act *act, int n, int total)
{
    int most = getenv("HOLDFAST_TEST_SLOW") ? MOST_SLOW : MOST;
    int step;

    if (hf__virtual_is_on()) {
        return n + 1;
    }
    most = stays ? most / PART_LASTING : most;
    most = stays && act->is_certain ? 1 + most / PART_LASTING : most;
    step = 2 * total / most;
    return n + (step < 3 ? 1 : 1 + rand() % (step - 1));
}

static void torture(const struct act *act)
{
    struct level before;
    int64_t start = hf__test_now_ms();
    int times = 0;
    int total;
    int n;

    if (!store_can(act->needs)) {
        return;
    }
    /* Once in peace, for what is kept for good. */
    EXPECT(!play(act, NEVER));
    total = trip_count();
    before = at_rest();
    for (n = 1; play(act, n); n = after(act, n, total)) {
        expect_level(&before, KEPT);
        times++;
    }
    printf("%s: %d of %d requests failed, %lld ms\n", act->name, times, total,
           (long long)since(start));
}

static void torture_with_bob(void)
{
    AUTO_CLIENT *bob = open_lasting(NULL);
    AUTO_LOCK *taken = acquire_fixed(bob, "taken", HF_LEASE_MAX_MS);
    const struct act *act = NULL;
    char url[2100];

    scene_url(url, sizeof url, NULL);
    scene = (struct scene){.url = url, .bob = bob};
    expect_held(taken);
    await_listening(bob);
    for (int i = 0; (act = act_at(i)) != NULL; i++) {
        torture(act);
    }
}

static void torture_all(enum trip which, bool for_good)
{
    struct level before;
    int64_t bytes;

    srand((unsigned)hf__test_seed());
    printf("seed %llu\n", (unsigned long long)hf__test_seed());
    trip_setup();
    hf_close(open_store()); /* for what is kept for good */
    before = now();
    bytes = trip_bytes();
    kind = which;
    stays = for_good;
    torture_with_bob();
    expect_level(&before, 0);
    EXPECT_IS(trip_bytes(), bytes);
}

CASE_WITHIN(60, one_block_of_the_library_is_refused,
            torture_all(TRIP_MEMORY, false));
CASE_WITHIN(60, the_library_gets_no_more_memory,
            torture_all(TRIP_MEMORY, true));
CASE_WITHIN(60, one_block_of_the_store_is_refused,
            torture_all(TRIP_STORE_MEMORY, false));
CASE_WITHIN(90, the_store_gets_no_more_memory,
            torture_all(TRIP_STORE_MEMORY, true));
CASE_WITHIN(60, one_thread_or_descriptor_is_refused,
            torture_all(TRIP_SYSTEM, false));
CASE_WITHIN(60, there_are_no_more_threads_and_descriptors,
            torture_all(TRIP_SYSTEM, true));
