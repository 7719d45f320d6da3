/* SPDX-License-Identifier: MIT */
/*
 * Which slot is whose: many who enter at once take different ones, nobody has
 * two, and a slot that is left behind by a claim that was taken away costs
 * those who wait nothing.
 */
#include "tests/store_zookeeper/recipe/tree.h"

/* ---- many at once */

enum { MANY = 40 };

struct entrant {
    struct party p;
    int result;
};

static void take_slot(void *arg)
{
    struct entrant *e = arg;

    e->result = queue_up(&e->p, "job", SLOT_OF(64));
}

TEST_WITHIN(120, many_who_enter_at_once_take_different_slots)
{
    static struct entrant all[MANY];
    struct hf__test_thread *threads[MANY];
    AUTO_PROXY *proxy = proxy_to_store();
    JOB_OF(holder);
    bool is_taken[64] = {false};
    int before;

    for (int i = 0; i < MANY; i++) {
        join_at(&all[i].p, "entrant", proxy, "session_timeout=20s");
        EXPECT_IS(queue_up(&all[i].p, "job", SLOT_OF(64)), HF_BUSY);
    }
    EXPECT_IS(release(&holder, "job"), HF_OK);
    before = hf__proxy_counts(proxy).statements;
    for (int i = 0; i < MANY; i++) {
        threads[i] = hf__test_start(take_slot, &all[i]);
    }
    hf__test_join_all(threads, MANY);
    before = hf__proxy_counts(proxy).statements - before;
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(all[i].result, HF_OK);
        EXPECT_SAFE(all[i].p.slot >= 0 && !is_taken[all[i].p.slot]);
        is_taken[all[i].p.slot] = true;
        leave(&all[i].p);
    }
    printf("# %d requests\n", before);
    EXPECT_LESS(before, 12 * MANY);
}

/* ---- slots that are nobody's */

TEST(who_seems_to_have_many_slots_is_one_holder)
{
    PARTIES(alice, bob);
    char token[HF__TOKEN_DIGITS + 1] = "";
    char path[400];

    EXPECT_IS(try_as(&alice, "job", SLOT_OF(64)), HF_OK);
    hf__token_write(&claim_of(&alice, "job")->token, token);
    for (int i = 1; i < 40; i++) {
        snprintf(path, sizeof path, "%s/k%d-%s-00000000%02d", folder_of("job"),
                 i, token, i + 10);
        hf__zookeeper_put(hf__zookeeper_shared(), path, "state holds\n");
    }
    expect_around(&alice, "job", 1, 0);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(64)), HF_OK);
    EXPECT_SAFE_IS(bob.slot, 40);
    EXPECT_IS(break_it(&bob, "job", fence_of(&alice, "job")), HF_OK);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
}

/* Its owner has not noticed yet, and does by its renewal. */
TEST_WITHIN(60, who_waits_for_a_slot_left_behind_asks_for_nothing)
{
    PARTY_BEHIND(bob, proxy, "session_timeout=20s");
    PARTY(alice);
    struct waiting w;
    int before;

    EXPECT_IS(try_as(&alice, "job", SLOT_OF(1)), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", SLOT_OF(1)), HF_BUSY);
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(),
                                node_of(&alice, "job", 'n')));
    EXPECT_IS(queue_up(&bob, "job", SLOT_OF(1)), HF_BUSY);
    watch_name(&w, &bob, "job");
    before = hf__proxy_counts(proxy).statements;
    wait_in_vain(&w, 1500);
    EXPECT_LESS(hf__proxy_counts(proxy).statements - before, 10);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    wait_until_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", SLOT_OF(1)), HF_OK);
    EXPECT_SAFE_IS(bob.slot, 0);
}

/* The one that was left behind is passed by where there are others. */
TEST(a_slot_that_was_left_behind_is_not_given_away)
{
    PARTIES(alice, bob);

    EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_OK);
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(),
                                node_of(&alice, "job", 'n')));
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_SAFE_IS(bob.slot, 1);
}
