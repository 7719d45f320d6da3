/* SPDX-License-Identifier: MIT */
/*
 * The simple recipe's lock is deleted by its path, which is everybody's: who
 * gives his back late never takes away another's, though his own was broken
 * meanwhile, by us or by hand, and another has entered. Alice's deletion is on
 * its way for as long as it takes.
 */
#include "tests/store_zookeeper/recipe/tree.h"

#include <string.h>

#define SIMPLE "recipe=simple&session_timeout=20s"

/* A release that is held back where it deletes. */
struct late {
    struct party *alice;
    struct hf__proxy *proxy;
    struct hf__test_thread *thread;
    int result;
};

static void give_back(void *arg)
{
    struct late *late = arg;

    late->result = release(late->alice, "job");
}

static void begin_release(struct late *late)
{
    static const char *const deletions[] = {"delete", "multi"};
    int hits = hf__proxy_counts(late->proxy).hits;

    for (int i = 0; i < 2; i++) {
        struct hf__proxy_rule rule = {
            .what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__SILENCE};

        snprintf(rule.text, sizeof rule.text, "%s ", deletions[i]);
        hf__proxy_rule(late->proxy, &rule);
    }
    late->thread = hf__test_start(give_back, late);
    EXPECT(hf__proxy_wait_hits(late->proxy, hits + 1, slowly(5000)));
}

static void end_release(struct late *late)
{
    hf__proxy_heal(late->proxy);
    hf__test_join(late->thread);
}

static const char *lock_of(const char *name)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/lock", folder_of(name));
    return path;
}

static void delete_by_hand(void)
{
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), lock_of("job")));
}

/* There is one lock, with its marker, and it is his. */
static void expect_holder(struct party *p)
{
    struct hf__zookeeper_node node;

    EXPECT_SAFE(
        hf__zookeeper_look(hf__zookeeper_shared(), lock_of("job"), &node));
    EXPECT_SAFE_IS((uint64_t)node.czxid, fence_of(p, "job"));
    EXPECT_IS(children_of("job"), 2);
    EXPECT_IS(renew(p, "job"), HF_OK);
}

/* Alice's release is on its way when her lock is taken away, and bob enters. */
static void release_late(void (*take_away)(struct party *alice,
                                           struct party *bob))
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY_BEHIND(bob, other, SIMPLE);
    PARTY_AT(alice, proxy, SIMPLE);
    struct late late = {&alice, proxy, NULL, 0};

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    begin_release(&late);
    take_away(&alice, &bob);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    end_release(&late);
    EXPECT_IS(late.result, HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    expect_holder(&bob);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

static void by_hand(struct party *alice, struct party *bob)
{
    (void)alice;
    (void)bob;
    delete_by_hand();
}

static void by_a_break(struct party *alice, struct party *bob)
{
    EXPECT_IS(break_it(bob, "job", fence_of(alice, "job")), HF_OK);
}

/* The next one is new, and all its numbers begin anew. */
static void with_the_folder(struct party *alice, struct party *bob)
{
    (void)alice;
    (void)bob;
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), folder_of("job")));
}

CASE_WITHIN(60, a_late_release_spares_who_came_after_a_break_by_hand,
            release_late(by_hand));
CASE_WITHIN(60, a_late_release_spares_who_came_after_a_break,
            release_late(by_a_break));
CASE_WITHIN(60, a_late_release_spares_who_came_to_a_new_folder,
            release_late(with_the_folder));

/* ---- a break that is held back */

struct late_break {
    struct party *alice;
    uint64_t fence; /* that is meant; 0: whoever has it */
    int result;
};

static void break_late(void *arg)
{
    struct late_break *late = arg;

    late->result = break_it(late->alice, "job", late->fence);
}

/* Bob is read, carol has the lock when alice's deletion comes; what the break
 * gives. */
static int cross_break(struct party *carol, bool means_bob)
{
    static const struct hf__proxy_rule rule = {.what = HF__STATEMENT,
                                               .where = HF__BEFORE,
                                               .action = HF__SILENCE,
                                               .text = "multi "};
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY_BEHIND(bob, other, SIMPLE);
    PARTY_AT(alice, proxy, SIMPLE);
    struct late_break late = {&alice, 0, 0};

    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    late.fence = means_bob ? fence_of(&bob, "job") : 0;
    hf__proxy_rule(proxy, &rule);
    struct hf__test_thread *thread = hf__test_start(break_late, &late);
    EXPECT(hf__proxy_wait_hits(proxy, 1, slowly(5000)));
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(acquire(carol, "job"), HF_OK);
    hf__proxy_heal(proxy);
    hf__test_join(thread);
    return late.result;
}

TEST_WITHIN(60, a_late_break_of_one_grant_spares_who_came_since)
{
    PARTY_BEHIND(carol, third, SIMPLE);

    EXPECT_IS(cross_break(&carol, true), HF_CONFLICT);
    expect_holder(&carol);
}

/* It looks again, and then it is carol's that is taken away, with its
 * marker. */
TEST_WITHIN(60, a_late_break_of_whoever_has_it_is_of_who_has_it_then)
{
    PARTY_BEHIND(carol, third, SIMPLE);

    EXPECT_IS(cross_break(&carol, false), HF_OK);
    EXPECT_IS(renew(&carol, "job"), HF_LOST);
    EXPECT_IS(children_of("job"), 0);
}

/* ---- between a lock's making and the look at who was there before */

struct entry {
    struct party *bob;
    int result;
};

static void enter(void *arg)
{
    struct entry *entry = arg;

    entry->result = acquire(entry->bob, "job");
}

/* Bob's lock is made, and he has not heard of it, when alice's release takes it
 * away: he never believes in it. */
static void cross(bool carol_enters)
{
    AUTO_PROXY *proxy = proxy_to_store();
    AUTO_PROXY *other = proxy_to_store();
    PARTY_BEHIND(carol, third, SIMPLE);
    PARTY_AT(alice, proxy, SIMPLE);
    PARTY_AT(bob, other, SIMPLE);
    struct late late = {&alice, proxy, NULL, 0};
    struct entry entry = {&bob, 0};
    int replies;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    begin_release(&late);
    delete_by_hand();
    replies = hf__proxy_counts(other).replies;
    hf__proxy_hold(other, HF__TO_CLIENT);
    struct hf__test_thread *thread = hf__test_start(enter, &entry);
    await_children("job", 3); /* two markers, bob's lock */
    EXPECT_IS(hf__proxy_counts(other).replies, replies);
    end_release(&late);
    if (carol_enters) {
        EXPECT_IS(acquire(&carol, "job"), HF_OK);
    }
    hf__proxy_heal(other);
    hf__test_join(thread);
    EXPECT_IS(entry.result, carol_enters ? HF_BUSY : HF_OK);
    expect_holder(carol_enters ? &carol : &bob);
}

CASE_WITHIN(60, a_lock_that_was_taken_away_before_it_was_heard_of_is_made_anew,
            cross(false));
CASE_WITHIN(60, a_lock_that_another_has_by_then_is_not_believed_in,
            cross(true));

/* ---- what is left by hand */

TEST(a_twin_that_is_left_is_cleared_by_who_comes_next)
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY_BEHIND(bob, other, SIMPLE);
    PARTY_AT(alice, proxy, SIMPLE);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    delete_by_hand();
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_SAFE_MORE(bob.fence, fence_of(&alice, "job"));
    expect_holder(&bob);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    expect_holder(&bob);
}

static void delete_twin_by_hand(void)
{
    char twin[300];

    snprintf(
        twin, sizeof twin, "%s/%s", folder_of("job"),
        strstr(hf__zookeeper_list(hf__zookeeper_shared(), folder_of("job")),
               "lock-"));
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), twin));
}

TEST(a_lock_without_its_twin_is_given_back_and_can_be_broken)
{
    AUTO_PROXY *proxy = proxy_to_store();
    PARTY_BEHIND(bob, other, SIMPLE);
    PARTY_AT(alice, proxy, SIMPLE);

    for (int i = 0; i < 2; i++) {
        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        delete_twin_by_hand();
        EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
        if (i == 0) {
            EXPECT_IS(release(&alice, "job"), HF_OK);
        } else {
            EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
        }
        EXPECT_IS(children_of("job"), 0);
    }
}

/* She has not heard of it: it is hers, and not in her own way. */
TEST_WITHIN(60, a_lock_that_lost_its_twin_before_it_was_heard_of_is_made_anew)
{
    PARTY_BEHIND(alice, proxy, SIMPLE);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    lose_reply_to(proxy, "multi");
    EXPECT_IS(acquire(&alice, "job"), HF_EUNKNOWN);
    delete_twin_by_hand();
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    expect_holder(&alice);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(children_of("job"), 0);
}

/* Somebody's "lock" that is not ours. */
TEST(a_lock_made_by_hand_is_in_the_way_and_can_be_broken)
{
    PARTY_BEHIND(alice, proxy, SIMPLE);

    hf__zookeeper_put(hf__zookeeper_shared(), lock_of("job"), "by hand");
    EXPECT_IS(acquire(&alice, "job"), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(children_of("job"), 1);
    EXPECT_IS(break_it(&alice, "job", 0), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    expect_holder(&alice);
}
