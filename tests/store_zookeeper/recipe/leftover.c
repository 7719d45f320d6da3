/* SPDX-License-Identifier: MIT */
/*
 * Nothing is left in the tree: after a try, after a wait that was given up, and
 * after a connection that was lost at any message of any operation, to the
 * server or from it, the node made and the answer lost above all. Alice is
 * behind a proxy; what she asked for and did not get an answer to, she gives
 * back by its token, as the core does.
 */
#include "tests/store_zookeeper/recipe/tree.h"

#include <string.h>

/* ---- without faults */

TEST(a_try_leaves_nothing)
{
    JOB_OF(alice, bob);
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(3)), HF_BUSY);
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

TEST(who_leaves_the_line_leaves_nothing)
{
    JOB_OF(alice, bob);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(children_of("job"), 2);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_IS(children_of("job"), 1);
}

TEST(a_slot_leaves_nothing)
{
    PARTIES(alice, bob);

    EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(children_of("job"), 2);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(3)), HF_EINVAL);
    EXPECT_IS(children_of("job"), 2);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

/* What somebody else took away leaves no slot. */
TEST(a_broken_slot_leaves_nothing)
{
    PARTY(alice);
    char slot[256];

    EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_OK);
    snprintf(
        slot, sizeof slot, "%s/%.*s", folder_of("job"), 60,
        strchr(hf__zookeeper_list(hf__zookeeper_shared(), folder_of("job")),
               'n'));
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), slot));
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(children_of("job"), 0);
}

/* ---- with a fault at each message */

#define ORDERED ""
#define SIMPLE  "recipe=simple&"

/* What alice does; it may fail anywhere. */
typedef void (*deed)(struct party *alice);

static void take_and_give(struct party *alice)
{
    if (acquire(alice, "job") == HF_OK) {
        (void)release(alice, "job");
    }
}

static void take_and_keep(struct party *alice)
{
    (void)acquire(alice, "job");
    (void)renew(alice, "job");
    (void)acquire(alice, "job");
}

static void take_a_slot(struct party *alice)
{
    (void)try_as(alice, "job", SLOT_OF(2));
    (void)try_as(alice, "job", SLOT_OF(2));
}

static void stand_in_line(struct party *alice)
{
    (void)queue_up(alice, "job", ALONE);
    (void)queue_up(alice, "job", ALONE);
}

static void give_back(struct party *alice)
{
    int64_t start = hf__test_now_ms();
    int r;

    while ((r = release(alice, "job")) != HF_OK && r != HF_LOST) {
        EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
        EXPECT_SOON(hf__test_now_ms() - start, slowly(15000));
        hf__test_pause_ms(10);
    }
}

/* Fails once, at the n-th message. False: there were not so many. */
static bool fail_at(struct hf__proxy *proxy, struct party *alice, deed does,
                    struct hf__proxy_rule rule, int n_others)
{
    int before = hf__proxy_counts(proxy).hits;
    bool was_hit;

    hf__proxy_rule(proxy, &rule);
    does(alice);
    was_hit = hf__proxy_counts(proxy).hits > before;
    hf__proxy_heal(proxy);
    give_back(alice);
    if (children_of("job") != n_others) {
        printf("# at message %d: %s\n", rule.n,
               hf__zookeeper_list(hf__zookeeper_shared(), folder_of("job")));
    }
    EXPECT_IS(children_of("job"), n_others);
    return was_hit;
}

/* Each way, at two messages at least. Who has lost its connection tries again
 * after a sixtieth of its session. */
static void fail_everywhere(deed does, bool is_held, const char *recipe)
{
    static const struct hf__proxy_rule rules[] = {
        {.what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__CLOSE},
        {.what = HF__REPLY, .where = HF__BEFORE, .action = HF__RESET},
    };
    AUTO_PROXY *proxy = proxy_to_store();
    AUTO_PROXY *other = proxy_to_store();
    char lasting[60];
    char brief[60];

    snprintf(lasting, sizeof lasting, "%s%s", recipe, "session_timeout=20s");
    snprintf(brief, sizeof brief, "%s%s", recipe, "session_timeout=6s");
    PARTY_AT(bob, other, lasting);
    PARTY_AT(alice, proxy, brief);
    int n_others = 0;

    if (is_held) {
        EXPECT_IS(acquire(&bob, "job"), HF_OK);
        n_others = children_of("job");
    }
    for (int i = 0; i < 2; i++) {
        struct hf__proxy_rule rule = rules[i];

        for (rule.n = 1; fail_at(proxy, &alice, does, rule, n_others);
             rule.n++) {
            EXPECT_LESS(rule.n, 40);
        }
        printf("# %d messages were lost\n", rule.n - 1);
        EXPECT_MORE(rule.n, 2);
    }
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

CASE_WITHIN(120, a_grant_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(take_and_give, false, ORDERED));
CASE_WITHIN(120, a_renewal_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(take_and_keep, false, ORDERED));
CASE_WITHIN(120, a_slot_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(take_a_slot, false, ORDERED));
CASE_WITHIN(120, a_place_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(stand_in_line, true, ORDERED));
CASE_WITHIN(120, a_try_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(take_and_give, true, ORDERED));
CASE_WITHIN(120, a_simple_lock_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(take_and_give, false, SIMPLE));
CASE_WITHIN(120, a_simple_renewal_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(take_and_keep, false, SIMPLE));
CASE_WITHIN(120, a_simple_try_whose_connection_is_lost_leaves_nothing,
            fail_everywhere(take_and_give, true, SIMPLE));

/* ---- the answer to the creation */

/* The request that makes the claim, of so many nodes. */
static void lose_answer_to(const char *request, int n_nodes,
                           const char *options)
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY_AT(alice, proxy, options);
    PARTY_AT(bob, proxy, options);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    lose_reply_to(proxy, request);
    EXPECT_IS(acquire(&alice, "job"), HF_EUNKNOWN);
    EXPECT_IS(children_of("job"), n_nodes);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(children_of("job"), n_nodes);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(bob.record.fence, alice.fence);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

CASE_WITHIN(60, a_claim_whose_answer_was_lost_is_the_same_claim,
            lose_answer_to("create2", 1, "session_timeout=20s"));
CASE_WITHIN(60, a_simple_lock_whose_answer_was_lost_is_ours,
            lose_answer_to("multi", 2, "recipe=simple&session_timeout=20s"));

/* A session that ends, and its node is still there: it is not taken for that of
 * the next one, which waits for it to go. */
TEST_WITHIN(60, a_dying_sessions_claim_is_not_taken_for_ours)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=2s");
    PARTY(again);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    hf__proxy_hold(proxy, HF__TO_SERVER);
    claim_of(&again, "job")->token = claim_of(&alice, "job")->token;
    EXPECT_IS(acquire(&again, "job"), HF_BUSY);
    EXPECT_IS(children_of("job"), 1);
    until_granted(&again, "job", ALONE);
    EXPECT_SAFE_MORE(again.fence, fence_of(&alice, "job"));
}

/* But it can be given back: who knows the token may. */
TEST_WITHIN(60, a_dying_sessions_claim_can_be_given_back)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=20s");
    PARTY(again);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    hf__proxy_hold(proxy, HF__TO_SERVER);
    claim_of(&again, "job")->token = claim_of(&alice, "job")->token;
    EXPECT_IS(release(&again, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

/* A leader who is none any more tells what there was: that nothing is there is
 * believed only with the answer to a write, which he can't give. */
static void search_in_vain(const char *options)
{
    PARTY_BEHIND(alice, proxy, options);

    EXPECT_IS(acquire(&alice, "other"), HF_OK);
    lose_reply_to(proxy, "setData");
    EXPECT_IS(release(&alice, "job"), HF_EUNKNOWN);
    hf__proxy_heal(proxy);
    give_back(&alice);
    EXPECT_IS(release(&alice, "other"), HF_OK);
}

TEST_WITHIN(60, that_nothing_is_left_is_told_by_who_can_write)
{
    search_in_vain("session_timeout=20s");
    search_in_vain("recipe=simple&session_timeout=20s");
}
