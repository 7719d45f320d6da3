/* SPDX-License-Identifier: MIT */
/*
 * The claims of a batch are made, and taken away, by one request for all: so
 * they cost little, one of them that can't be done keeps none of the others
 * away, and whatever is lost on the way, nothing is left of any.
 */
#include "tests/store_zookeeper/recipe/tree.h"

enum { NAMES = 8 };

static const char *const names[NAMES] = {"a", "b", "c", "d",
                                         "e", "f", "g", "h"};

static int send_all(struct party *p, struct request rq[NAMES],
                    enum hf__op_kind kind)
{
    for (int i = 0; i < NAMES; i++) {
        ask(p, &rq[i], kind, names[i]);
    }
    return send_batch(p, rq, NAMES);
}

/* All but that one (−1: all) went as they should. */
static void expect_all(const struct request rq[NAMES], int result, int but)
{
    for (int i = 0; i < NAMES; i++) {
        if (i != but) {
            EXPECT_IS(rq[i].op.result, result);
        }
    }
}

static void all_of(struct party *p, struct request rq[NAMES],
                   enum hf__op_kind kind)
{
    EXPECT_IS(send_all(p, rq, kind), HF_OK);
    expect_all(rq, HF_OK, -1);
}

TEST(a_batch_is_one_change_and_a_look_at_each_name)
{
    PARTY_BEHIND(alice, proxy, "session_timeout=20s");
    struct request rq[NAMES];
    struct hf__proxy_counts before;

    all_of(&alice, rq, HF__OP_ACQUIRE); /* makes the folders */
    all_of(&alice, rq, HF__OP_RELEASE);
    before = hf__proxy_counts(proxy);
    all_of(&alice, rq, HF__OP_ACQUIRE);
    /* A look before, for those who would not wait, and one behind. */
    EXPECT_LESS(hf__proxy_counts(proxy).statements - before.statements,
                2 * NAMES + 3);
    before = hf__proxy_counts(proxy);
    all_of(&alice, rq, HF__OP_RELEASE);
    EXPECT_LESS(hf__proxy_counts(proxy).statements - before.statements, 3);
}

TEST(others_see_the_fences_of_a_batch)
{
    PARTIES(alice, bob);
    struct request rq[NAMES];
    uint64_t last[NAMES] = {0};

    for (int round = 0; round < 4; round++) {
        all_of(&alice, rq, HF__OP_ACQUIRE);
        for (int i = 0; i < NAMES; i++) {
            EXPECT_SAFE_MORE(rq[i].op.fence, last[i]);
            last[i] = rq[i].op.fence;
            EXPECT_IS(children_of(names[i]), 1);
            EXPECT_IS(inspect(&bob, names[i]), HF_OK);
            EXPECT_IS(bob.record.fence, rq[i].op.fence);
        }
        all_of(&alice, rq, HF__OP_RELEASE);
        EXPECT_IS(acquire(&bob, names[round]), HF_OK);
        EXPECT_SAFE_MORE(bob.fence, last[round]);
        last[round] = bob.fence;
        EXPECT_IS(release(&bob, names[round]), HF_OK);
    }
}

TEST(of_a_batch_only_what_is_held_is_busy)
{
    PARTIES(alice, bob);
    struct request rq[NAMES];

    EXPECT_IS(acquire(&bob, names[2]), HF_OK);
    EXPECT_IS(send_all(&alice, rq, HF__OP_ACQUIRE), HF_OK);
    expect_all(rq, HF_OK, 2);
    EXPECT_IS(rq[2].op.result, HF_BUSY);
    EXPECT_IS(children_of(names[2]), 1);
}

TEST(a_folder_that_is_gone_keeps_no_batch_from_its_grants)
{
    PARTY(alice);
    struct request rq[NAMES];

    all_of(&alice, rq, HF__OP_ACQUIRE);
    all_of(&alice, rq, HF__OP_RELEASE);
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), folder_of(names[5])));
    all_of(&alice, rq, HF__OP_ACQUIRE);
    EXPECT_IS(children_of(names[5]), 1);
}

TEST(a_name_that_is_forbidden_is_so_alone)
{
    PARTY(alice);
    struct request rq[NAMES];

    all_of(&alice, rq, HF__OP_ACQUIRE);
    all_of(&alice, rq, HF__OP_RELEASE);
    hf__zookeeper_set_acl(hf__zookeeper_shared(), folder_of(names[1]),
                          "world:anyone:r");
    EXPECT_IS(send_all(&alice, rq, HF__OP_ACQUIRE), HF_OK);
    expect_all(rq, HF_OK, 1);
    EXPECT_IS(rq[1].op.result, HF_EAUTH);
}

TEST(a_grant_that_was_broken_keeps_no_other_from_its_release)
{
    PARTY(alice);
    struct request rq[NAMES];
    char path[256];

    all_of(&alice, rq, HF__OP_ACQUIRE);
    snprintf(path, sizeof path, "%s/%s", folder_of(names[3]),
             hf__zookeeper_list(hf__zookeeper_shared(), folder_of(names[3])));
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), path));
    EXPECT_IS(send_all(&alice, rq, HF__OP_RELEASE), HF_OK);
    expect_all(rq, HF_OK, 3);
    EXPECT_IS(rq[3].op.result, HF_LOST);
    EXPECT_IS(rq[3].op.ret_reason, HF_REASON_BROKEN);
    for (int i = 0; i < NAMES; i++) {
        EXPECT_IS(children_of(names[i]), 0);
    }
}

/* ---- lost on the way */

static void give_back(struct party *alice)
{
    int64_t start = hf__test_now_ms();
    int i = 0;

    while (i < NAMES) {
        int r = release(alice, names[i]);

        if (r == HF_OK || r == HF_LOST) {
            i++;
            continue;
        }
        EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
        EXPECT_SOON(hf__test_now_ms() - start, slowly(15000));
        hf__test_pause_ms(10);
    }
}

/* Fails once, at the n-th message. False: there were not so many. */
static bool fail_at(struct hf__proxy *proxy, struct party *alice,
                    struct hf__proxy_rule rule)
{
    struct request rq[NAMES];
    int before = hf__proxy_counts(proxy).hits;
    bool was_hit;

    hf__proxy_rule(proxy, &rule);
    EXPECT_IS(send_all(alice, rq, HF__OP_ACQUIRE), HF_OK);
    EXPECT_IS(send_all(alice, rq, HF__OP_RELEASE), HF_OK);
    was_hit = hf__proxy_counts(proxy).hits > before;
    hf__proxy_heal(proxy);
    give_back(alice);
    for (int i = 0; i < NAMES; i++) {
        EXPECT_IS(children_of(names[i]), 0);
    }
    return was_hit;
}

TEST_WITHIN(120, a_batch_whose_connection_is_lost_leaves_nothing)
{
    static const struct hf__proxy_rule rules[] = {
        {.what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__CLOSE},
        {.what = HF__REPLY, .where = HF__BEFORE, .action = HF__RESET},
    };
    PARTY_BEHIND(alice, proxy, "session_timeout=6s");
    struct request rq[NAMES];

    all_of(&alice, rq, HF__OP_ACQUIRE);
    all_of(&alice, rq, HF__OP_RELEASE);
    for (int i = 0; i < 2; i++) {
        struct hf__proxy_rule rule = rules[i];

        for (rule.n = 1; fail_at(proxy, &alice, rule); rule.n++) {
            EXPECT_LESS(rule.n, 60);
        }
        EXPECT_MORE(rule.n, NAMES);
    }
}

/* Somebody forbids it by hand, for one of them. The refusal shows that the
 * session lives as well as any other answer. */
TEST(a_claim_that_may_not_be_written_to_keeps_no_other_from_renewal)
{
    PARTY(alice);
    struct request rq[NAMES];

    all_of(&alice, rq, HF__OP_ACQUIRE);
    hf__zookeeper_set_acl(hf__zookeeper_shared(), node_of(&alice, "a", 'x'),
                          "world:anyone:r");
    EXPECT_IS(send_all(&alice, rq, HF__OP_RENEW), HF_OK);
    EXPECT_IS(rq[0].op.result, HF_EAUTH);
    expect_all(rq, HF_OK, 0);
    all_of(&alice, rq, HF__OP_RELEASE);
}
