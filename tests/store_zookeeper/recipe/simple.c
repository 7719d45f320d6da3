/* SPDX-License-Identifier: MIT */
/*
 * The simple recipe beside the ordered one: who mixes the two on one name is
 * told so, and nothing is left of it.
 */
#include "tests/store_zookeeper/recipe/tree.h"

TEST(who_comes_simply_to_an_ordered_name_is_told)
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY(alice);
    PARTY_AT(bob, proxy, "recipe=simple");

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_EUNSAFE);
    EXPECT_HAS(bob.error.text, "recipe=fair");
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST(who_comes_in_order_to_a_simple_name_is_told)
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY(alice);
    PARTY_AT(bob, proxy, "recipe=simple");

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

TEST(a_simple_lock_that_another_took_is_not_given_back)
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY_AT(alice, proxy, "recipe=simple");
    PARTY_AT(bob, proxy, "recipe=simple");

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

TEST_WITHIN(60, a_simple_lock_whose_answer_was_lost_is_ours)
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY_AT(alice, proxy, "recipe=simple&session_timeout=20s");
    PARTY_AT(bob, proxy, "recipe=simple&session_timeout=20s");

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    lose_reply_to(proxy, "multi");
    EXPECT_IS(acquire(&alice, "job"), HF_EUNKNOWN);
    EXPECT_IS(children_of("job"), 2);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(bob.record.fence, alice.fence);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}
