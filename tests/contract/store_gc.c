/* SPDX-License-Identifier: MIT */
/*
 * Every store: records of names that nobody uses are deleted on demand and
 * counted, and nothing else is: not what is held, kept closed, or young, and
 * not the order of fences.
 */
#include "tests/contract/vocabulary.h"

#include "src/base/time.h"

static void use(struct party *p, const char *name)
{
    EXPECT_IS(acquire(p, name), HF_OK);
    EXPECT_IS(release(p, name), HF_OK);
}

TEST_IF(cleans(), idle_records_are_deleted_and_counted)
{
    PARTY(alice);
    uint64_t count = 99;

    EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
    EXPECT_IS(count, 0);
    use(&alice, "a");
    use(&alice, "b");
    hf__test_pause_ms(5);
    EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
    EXPECT_IS(count, 2);
    EXPECT_IS(inspect(&alice, "a"), HF_OK);
    EXPECT_IS(alice.record.fence, 0);
    EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
    EXPECT_IS(count, 0);
}

TEST_IF(cleans(), what_is_in_use_is_not_deleted)
{
    PARTY(alice);
    uint64_t count = 0;

    EXPECT_IS(acquire(&alice, "held"), HF_OK);
    use(&alice, "idle");
    hf__test_pause_ms(5);
    EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
    EXPECT_IS(count, 1);
    EXPECT_IS(renew(&alice, "held"), HF_OK);
}

TEST_IF(cleans() && has(HF_CAP_KEEP), what_is_kept_closed_is_not_deleted)
{
    PARTIES(alice, bob);
    uint64_t count = 0;

    EXPECT_IS(acquire_and_keep(&alice, "released", LEASE_MS, 60000), HF_OK);
    EXPECT_IS(release(&alice, "released"), HF_OK);
    EXPECT_IS(acquire_and_keep(&alice, "expired", 100, 60000), HF_OK);
    hf__test_pause_ms(150);
    EXPECT_IS(collect_garbage(&bob, 0, &count), HF_OK);
    EXPECT_IS(count, 0);
    EXPECT_IS(acquire(&bob, "released"), HF_BUSY);
    EXPECT_IS(acquire(&bob, "expired"), HF_BUSY);
}

TEST_IF(cleans(), young_records_stay)
{
    PARTY(alice);
    uint64_t count = 99;

    use(&alice, "free");
    EXPECT_IS(acquire_for(&alice, "expired", 100), HF_OK);
    hf__test_pause_ms(150);
    EXPECT_IS(collect_garbage(&alice, 3600000, &count), HF_OK);
    EXPECT_IS(count, 0);
    EXPECT_IS(inspect(&alice, "free"), HF_OK);
    EXPECT_MORE(alice.record.fence, 0);
}

TEST_IF(cleans(), expired_records_are_deleted)
{
    PARTY(alice);
    uint64_t count = 0;

    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    fall_silent(&alice);
    until_free(&alice, "job");
    EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
    EXPECT_IS(count, 1);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
}

TEST_IF(cleans() && has(HF_CAP_FENCE), a_fence_rises_across_cleaning)
{
    PARTY(alice);
    uint64_t before = 0;
    uint64_t count = 0;

    for (int i = 0; i < 5; i++) {
        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        EXPECT_SAFE_MORE(alice.fence, before);
        before = alice.fence;
        EXPECT_IS(release(&alice, "job"), HF_OK);
        hf__test_pause_ms(2);
        EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
        EXPECT_IS(count, 1);
    }
}

/* It may have been raised there: the clock would begin below it again. */
TEST_IF(!has(HF_CAP_SESSION) && cleans() && has(HF_CAP_FENCE),
        a_fence_ahead_of_the_clock_is_not_forgotten)
{
    PARTY(alice);
    uint64_t ahead = (uint64_t)hf__wall_us() + 3600000000;
    uint64_t count = 0;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(raise_to(&alice, "job", ahead), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    hf__test_pause_ms(2);
    EXPECT_IS(collect_garbage(&alice, 0, &count), HF_OK);
    EXPECT_IS(count, 0);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_SAFE_MORE(alice.fence, ahead);
}

enum { GROUPS = 64, GROUP = 64 };

static const char *name_of(int group, int i)
{
    static char name[32];

    snprintf(name, sizeof name, "name-%02d-%02d", group, i);
    return name;
}

static void send_group(struct party *p, int group, enum hf__op_kind kind)
{
    static struct request rq[GROUP];

    for (int i = 1; i < GROUP; i++) {
        ask(p, &rq[i], kind, name_of(group, i));
    }
    EXPECT_IS(send_batch(p, rq + 1, GROUP - 1), HF_OK);
    for (int i = 1; i < GROUP; i++) {
        EXPECT_IS(rq[i].op.result, HF_OK);
    }
}

/* More than a store looks at in one step, and not each of a connection. */
TEST_WITHIN_IF(60, cleans() && (!ends_at_once() || breaks_more()),
               many_idle_records_are_deleted_among_held_ones)
{
    PARTIES(alice, bob);
    uint64_t count = 0;

    for (int group = 0; group < GROUPS; group++) {
        EXPECT_IS(acquire_for(&alice, name_of(group, 0), 600000), HF_OK);
        send_group(&bob, group, HF__OP_ACQUIRE);
        send_group(&bob, group, HF__OP_RELEASE);
        bob.n_claims = 0; /* released: they need not be remembered */
    }
    hf__test_pause_ms(2);
    EXPECT_IS(collect_garbage(&bob, 0, &count), HF_OK);
    EXPECT_IS(count, GROUPS * (GROUP - 1));
    for (int group = 0; group < GROUPS; group++) {
        EXPECT_IS(renew(&alice, name_of(group, 0)), HF_OK);
    }
}
