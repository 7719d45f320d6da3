/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is: who stands in line is woken when it may enter, and not by
 * those who merely leave; and costs nothing while nothing happens.
 */
#include "tests/store_zookeeper/recipe/tree.h"

/* The holder lives; the one between goes: nobody is granted anything. */
TEST(who_is_behind_one_that_leaves_waits_on)
{
    JOB_OF(alice, bob, carol);
    struct waiting w;

    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    watch_name(&w, &carol, "job");
    wait_in_vain(&w, 100);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    wait_in_vain(&w, 300);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    wait_until_woken(&w);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_OK);
}

TEST(whose_place_was_taken_away_is_told)
{
    JOB_OF(alice, bob);
    struct waiting w;

    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    watch_name(&w, &bob, "job");
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), folder_of("job")));
    wait_until_woken(&w);
}

/* Who is before it stays, and would not wake it. */
TEST(whose_own_place_was_taken_away_is_told)
{
    JOB_OF(alice, bob);
    struct waiting w;

    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    watch_name(&w, &bob, "job");
    wait_in_vain(&w, 100);
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(),
                                node_of(&bob, "job", 'x')));
    wait_until_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    wait_in_vain(&w, 100);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    wait_until_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

/* Nobody counts on a place in line. */
TEST(who_closes_while_it_waits_leaves_at_once)
{
    JOB_OF(alice, bob);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    hf__conn_close(&bob.conn);
    await_children("job", 1);
    rejoin(&bob);
}

/* Those behind it are asked for nothing while it holds and gives back. */
TEST_WITHIN(60, a_hand_over_costs_the_same_however_many_wait)
{
    enum { WAITERS = 12 };
    PARTY_BEHIND(alice, proxy, "session_timeout=20s");
    struct party waiters[WAITERS];
    struct waiting w[WAITERS];
    int costs[2];

    for (int round = 0; round < 2; round++) {
        int n = round == 0 ? 2 : WAITERS;
        struct hf__proxy_counts before;

        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        for (int i = 0; i < n; i++) {
            waiters[i] = (struct party){0};
            join_at(&waiters[i], "waiter", proxy, "session_timeout=20s");
            EXPECT_IS(queue_up(&waiters[i], "job", ALONE), HF_BUSY);
            begin_to_watch(&w[i], &waiters[i], "job");
        }
        before = hf__proxy_counts(proxy);
        EXPECT_IS(release(&alice, "job"), HF_OK);
        wait_until_woken(&w[0]);
        EXPECT_IS(queue_up(&waiters[0], "job", ALONE), HF_OK);
        hf__test_pause_ms(100);
        costs[round] = hf__proxy_counts(proxy).statements - before.statements;
        EXPECT_IS(hf__proxy_counts(proxy).pushes - before.pushes, 1);
        for (int i = 0; i < n; i++) {
            (void)release(&waiters[i], "job");
            leave(&waiters[i]);
        }
    }
    printf("# %d requests a hand-over\n", costs[0]);
    EXPECT_IS(costs[0], costs[1]);
    EXPECT_LESS(costs[0], 5);
}

/* The watch is set again where the session goes on. */
TEST_WITHIN(60, a_waiter_outlasts_a_lost_connection)
{
    PARTY_BEHIND(bob, proxy, "session_timeout=20s");
    PARTY(alice);
    struct waiting w;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    watch_name(&w, &bob, "job");
    start_waiting(&w);
    hf__proxy_cut(proxy, HF__RESET);
    hf__test_pause_ms(200);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    stop_waiting(&w);
    EXPECT(w.watch.has_fired);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
}

struct heard {
    uint64_t tag;
    int n;
};

static void hear(void *arg, uint64_t tag)
{
    struct heard *heard = arg;

    heard->tag = tag;
    heard->n++;
}

TEST(a_break_is_heard_of_and_a_release_is_not)
{
    PARTIES(alice, bob);
    struct heard heard = {0};
    struct hf__token token;

    EXPECT_IS(acquire(&alice, "given back"), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    token = claim_of(&alice, "job")->token;
    hf__test_pause_ms(150);
    EXPECT_IS(hf__conn_listen(&alice.conn, hear, &heard,
                              hf__after_ms(hf__now(), 300), &alice.error),
              HF_OK);
    EXPECT_IS(release(&alice, "given back"), HF_OK);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_IS(hf__conn_listen(&alice.conn, hear, &heard,
                              hf__after_ms(hf__now(), 5000), &alice.error),
              HF_OK);
    EXPECT_IS(heard.n, 1);
    EXPECT_IS(heard.tag, hf__token_tag(&token));
}
