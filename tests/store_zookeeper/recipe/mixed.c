/* SPDX-License-Identifier: MIT */
/*
 * A lock of the other recipe's beside claims, made while they hold or wait, or
 * looked for after its reply was lost; and claims that come to such a lock.
 */
#include "tests/store_zookeeper/recipe/tree.h"

static const char *lock_path(void)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/lock", folder_of("job"));
    return path;
}

TEST(who_holds_is_not_driven_out_by_a_lock)
{
    JOB_OF(alice, bob);
    hf__zookeeper_put(hf__zookeeper_shared(), lock_path(), "");
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 2);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT(bob.record.is_held);
    EXPECT_IS(bob.record.fence, fence_of(&alice, "job"));
    expect_around(&bob, "job", 2, 0);
    EXPECT_IS(break_it(&bob, "job", fence_of(&alice, "job")), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

TEST(who_waits_is_told_of_a_lock_that_stays)
{
    JOB_OF(alice, bob);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    hf__zookeeper_put(hf__zookeeper_shared(), lock_path(), "");
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_EUNSAFE);
    EXPECT_IS(children_of("job"), 2);
}

static void take_lock_away(void *arg)
{
    (void)arg;
    hf__test_pause_ms(150);
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), lock_path()));
}

/* As that of one who tries there simply, and withdraws. */
TEST_WITHIN(60, who_waits_outlasts_a_lock_that_goes_again)
{
    PARTY_BEHIND(bob, proxy, "session_timeout=20s");
    PARTY(alice);
    struct hf__test_thread *thread;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    hf__zookeeper_put(hf__zookeeper_shared(), lock_path(), "");
    hf__proxy_delay(proxy, HF__TO_CLIENT, 300);
    thread = hf__test_start(take_lock_away, NULL);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT(bob.is_queued);
    hf__test_join(thread);
    EXPECT_IS(children_of("job"), 2);
}

TEST_WITHIN(60, a_lock_whose_reply_was_lost_is_not_believed_beside_a_claim)
{
    PARTY_BEHIND(bob, proxy, "recipe=simple&session_timeout=20s");
    PARTY(alice);
    int n_lost = 0;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    for (int i = 1; i <= 6; i++) {
        int before = hf__proxy_counts(proxy).hits;
        int r;

        hf__proxy_rule(proxy, &(struct hf__proxy_rule){.what = HF__REPLY,
                                                       .where = HF__BEFORE,
                                                       .action = HF__RESET,
                                                       .n = i});
        r = acquire(&bob, "job");
        n_lost += hf__proxy_counts(proxy).hits - before;
        hf__proxy_heal(proxy);
        EXPECT_SAFE(r == HF_EUNKNOWN || r == HF_EUNAVAIL || r == HF_EUNSAFE);
        EXPECT_SAFE_IS(acquire(&bob, "job"), HF_EUNSAFE);
        EXPECT_SAFE_IS(renew(&bob, "job"), HF_LOST);
        EXPECT_IS(renew(&alice, "job"), HF_OK);
        EXPECT_IS(children_of("job"), 1);
        begin_anew(&bob, "job");
    }
    EXPECT_MORE(n_lost, 2);
}

TEST(who_comes_in_order_to_a_simple_name_is_told)
{
    PARTY_BEHIND(bob, proxy, "recipe=simple");
    PARTY(alice);

    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_EUNSAFE);
    EXPECT_HAS(alice.error.text, "recipe=simple");
    EXPECT_IS(queue_up(&alice, "job", SHARED), HF_EUNSAFE);
    EXPECT_IS(children_of("job"), 2);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT_TEXT(alice.record.owner.label, "bob");
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
}
