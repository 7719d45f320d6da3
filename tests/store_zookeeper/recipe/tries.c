/* SPDX-License-Identifier: MIT */
/*
 * Who tries, and will not wait, is in nobody's way, and is never taken for a
 * holder; and what it costs.
 */
#include "tests/store_zookeeper/recipe/tree.h"

#include <stdatomic.h>

TEST(a_try_of_what_is_held_only_looks)
{
    PARTY_BEHIND(bob, proxy, "session_timeout=20s");
    PARTY(alice);
    struct hf__zookeeper_node before;
    struct hf__zookeeper_node after;
    int statements;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT(
        hf__zookeeper_look(hf__zookeeper_shared(), folder_of("job"), &before));
    statements = hf__proxy_counts(proxy).statements;
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(hf__proxy_counts(proxy).statements - statements, 2);
    EXPECT_IS(bob.record.fence, fence_of(&alice, "job"));
    EXPECT_TEXT(bob.record.owner.label, "alice");
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT(
        hf__zookeeper_look(hf__zookeeper_shared(), folder_of("job"), &after));
    EXPECT_IS(after.pzxid, before.pzxid);
}

TEST(who_will_wait_is_granted_by_one_round_trip)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=20s");
    int before;

    EXPECT_IS(queue_up(&alice, "job", ALONE), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    before = hf__proxy_counts(proxy).statements;
    EXPECT_IS(queue_up(&alice, "job", ALONE), HF_OK);
    EXPECT_IS(hf__proxy_counts(proxy).statements - before, 2);
}

static void try_it(void *arg)
{
    EXPECT_IS(try_as(arg, "job", ALONE), HF_BUSY);
}

/* Bob's answers are late, and alice goes meanwhile. */
TEST_WITHIN(60, who_only_tries_is_no_holder)
{
    PARTY_BEHIND(bob, proxy, "session_timeout=20s");
    PARTIES(alice, carol);
    struct hf__test_thread *thread;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    hf__proxy_delay(proxy, HF__TO_CLIENT, 300);
    thread = hf__test_start(try_it, &bob);
    hf__test_pause_ms(100);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&carol, "job"), HF_OK);
    EXPECT(!carol.record.is_held);
    EXPECT_IS(break_it(&carol, "job", 0), HF_CONFLICT);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_OK);
    hf__test_join(thread);
}

/* One that came a moment late, and whose process stands still then: it foresaw
 * another number than it got. */
TEST(who_came_late_with_a_try_is_no_holder)
{
    struct hf__zookeeper_client *client =
        hf__zookeeper_dial(hf__zookeeper_port(hf__zookeeper_shared()), 10000);
    JOB_OF(alice);
    char path[400];
    char got[HF__ZOOKEEPER_DATA];

    EXPECT_IS(release(&alice, "job"), HF_OK);
    snprintf(path, sizeof path, "%s/x-%032x-", folder_of("job"), 7);
    for (int i = 0; i < 2; i++) {
        EXPECT_IS(hf__zookeeper_create(client, path,
                                       "state tries\nforeseen 2\n",
                                       HF__ZOOKEEPER_EPHEMERAL_SEQUENTIAL, got),
                  0);
        EXPECT_IS(inspect(&alice, "job"), HF_OK);
        EXPECT_IS(alice.record.is_held, i == 1);
        EXPECT_IS(try_as(&alice, "job", ALONE), HF_BUSY);
        EXPECT_IS(break_it(&alice, "job", 0), i == 1 ? HF_OK : HF_CONFLICT);
        (void)hf__zookeeper_delete(client, got);
    }
    hf__zookeeper_hang_up(client);
}

/* ---- against each other */

enum { TRYERS = 16, WHILE_MS = 2000 };

static atomic_bool is_over;
static atomic_int n_granted;
static atomic_int n_inside;
static atomic_uint_fast64_t last_fence;

static void try_again_and_again(void *arg)
{
    struct party *p = arg;

    while (!atomic_load(&is_over)) {
        if (try_as(p, "job", ALONE) == HF_OK) {
            EXPECT_SAFE_IS(atomic_fetch_add(&n_inside, 1), 0);
            EXPECT_SAFE_MORE(p->fence, atomic_exchange(&last_fence, p->fence));
            atomic_fetch_add(&n_granted, 1);
            atomic_fetch_sub(&n_inside, 1);
            (void)release(p, "job");
        }
    }
}

TEST_WITHIN(60, those_who_try_at_once_let_each_other_in)
{
    static struct party all[TRYERS];
    struct hf__test_thread *threads[TRYERS];

    for (int i = 0; i < TRYERS; i++) {
        join(&all[i], "tryer");
    }
    for (int i = 0; i < TRYERS; i++) {
        threads[i] = hf__test_start(try_again_and_again, &all[i]);
    }
    hf__test_pause_ms(WHILE_MS);
    atomic_store(&is_over, true);
    for (int i = 0; i < TRYERS; i++) {
        hf__test_join(threads[i]);
        leave(&all[i]);
    }
    printf("# %d grants\n", atomic_load(&n_granted));
    EXPECT_MORE(atomic_load(&n_granted), 0);
    EXPECT_IS(children_of("job"), 0);
}
