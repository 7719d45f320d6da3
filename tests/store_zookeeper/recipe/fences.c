/* SPDX-License-Identifier: MIT */
/*
 * Fences rise in the order in which claims enter, whatever order they came in,
 * and with the folder taken away in between.
 */
#include "tests/store_zookeeper/recipe/tree.h"

TEST(of_two_who_enter_at_once_the_later_has_the_higher_fence)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_as(&alice, "job", ALONE), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_OK);
    EXPECT_SAFE_MORE(carol.fence, fence_of(&alice, "job"));
    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_OK);
    EXPECT_SAFE_MORE(bob.fence, fence_of(&carol, "job"));
    EXPECT_IS(queue_up(&alice, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    EXPECT_IS(queue_up(&alice, "job", ALONE), HF_OK);
    EXPECT_SAFE_MORE(alice.fence, fence_of(&bob, "job"));
}

TEST(who_waited_has_a_higher_fence_than_who_was_before_it)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
    EXPECT_SAFE_MORE(bob.fence, fence_of(&carol, "job"));
}

TEST(fences_rise_though_the_folder_was_deleted)
{
    PARTY(alice);
    uint64_t last = 0;

    for (int i = 0; i < 5; i++) {
        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        EXPECT_SAFE_MORE(alice.fence, last);
        last = alice.fence;
        EXPECT_IS(release(&alice, "job"), HF_OK);
        EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), folder_of("job")));
    }
}

TEST(a_name_is_as_it_is_written_down)
{
    JOB_OF(alice);
    struct hf__zookeeper_node node;
    char path[300];

    snprintf(path, sizeof path, "%s/%s", folder_of("job"),
             hf__zookeeper_list(hf__zookeeper_shared(), folder_of("job")));
    EXPECT(hf__zookeeper_look(hf__zookeeper_shared(), path, &node));
    EXPECT_IS((uint64_t)node.czxid, alice.fence);
    EXPECT_NOT(node.owner, 0);
    EXPECT_HAS(node.data, "label alice\n");
    EXPECT_HAS(node.data, "host host of alice\n");
}

/* A renewal and a release may be under way together, in either order. */
TEST(who_was_broken_is_told_so_each_time)
{
    JOB_OF(alice, bob);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(acquire(&alice, "next"), HF_OK);
    EXPECT_IS(release(&alice, "next"), HF_OK);
    EXPECT_IS(renew(&alice, "next"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_SESSION);
}
