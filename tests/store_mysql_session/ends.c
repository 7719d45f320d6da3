/* SPDX-License-Identifier: MIT */
/*
 * Connections that end, and their locks with them: by an administrator's KILL,
 * or because nothing was heard of them for as long as a session lives. Who had
 * a lock is told, and who waits is next. What ends a statement alone ends no
 * lock, and grants none.
 */
#include "tests/store_mysql_session/world.h"

#include <signal.h>

static int n_told;

/* Who looks late finds that another has it by now. */
static bool is_end(hf_reason reason)
{
    return reason == HF_REASON_SESSION || reason == HF_REASON_TAKEN;
}

static void count(void *arg, hf_lock *lock, hf_reason reason)
{
    (void)arg;
    (void)lock;
    n_told += is_end(reason);
}

/* ---- KILL CONNECTION */

/* Its lease would last for a minute. */
TEST(a_holder_whose_connection_is_killed_is_told_at_once)
{
    say_options("session_timeout=60s");
    HELD(job, alice);
    hf_client *bob = open_store();
    AUTO_LOCK *other = acquire(alice, "other");
    int64_t holder = holder_of("job");
    struct waiter w;
    int64_t start;

    EXPECT_MORE(holder, 0);
    EXPECT_IS(holder_of("other"), holder);
    EXPECT_IS(hf_on_lost(job, count, NULL), HF_OK);
    begin_to_wait(&w, bob, "job", patience(10000));
    await_queue(1);
    start = hf__test_now_ms();
    end_connection(holder);
    EXPECT_IS(hf_wait_lost(job, patience(10000)), HF_LOST);
    EXPECT_IS(hf_wait_lost(other, patience(10000)), HF_LOST);
    printf("told after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), patience(3000));
    EXPECT(is_end(hf_lost_reason(job)));
    expect_lost(job, hf_lost_reason(job));
    expect_lost(other, HF_REASON_SESSION);
    UNTIL(hf_dispatch(alice, NULL) >= 0 && n_told == 1);
    EXPECT_IS(end_waiting(&w), HF_OK);
    EXPECT_SAFE_MORE(hf_fence(w.lock), hf_fence(job));
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    EXPECT_IS(hf_release(other, NULL), HF_LOST);
    expect_held(w.lock);
    EXPECT_IS(hf_release(w.lock, NULL), HF_OK);
    hf_free(w.lock);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf_close(bob);
}

TEST(a_waiter_whose_connection_is_killed_waits_on_another)
{
    say_options("session_timeout=60s");
    HELD(job, alice);
    hf_client *bob = open_store();
    struct waiter w;
    int64_t waiting;

    begin_to_wait(&w, bob, "job", patience(20000));
    await_queue(1);
    waiting = first_in_queue();
    end_connection(waiting);
    UNTIL(first_in_queue() > waiting);
    expect_held(job);
    EXPECT_SAFE(!atomic_load(&w.is_done));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    finish_waiting(&w);
    hf_close(bob);
}

/* ---- KILL QUERY */

static void kill_waits(void)
{
    say_options("session_timeout=60s");
    HELD(job, alice);
    hf_client *bob = open_store();
    struct waiter w;
    int64_t waiting = 0;

    begin_to_wait(&w, bob, "job", patience(20000));
    for (int i = 0; i < 5; i++) {
        /* What was killed before may be on its way out of the queue. */
        UNTIL((waiting = first_in_queue()) != 0);
        end_query(waiting);
        EXPECT_SAFE(!atomic_load(&w.is_done));
    }
    expect_held(job);
    await_queue(1);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    finish_waiting(&w);
    hf_close(bob);
}

CASE(a_waiter_whose_statement_is_killed_is_not_granted, kill_waits());
/* There a waiter's turn is not looked at a second time. */
CASE(nor_is_one_that_is_killed_without_a_database, name_database(NULL);
     kill_waits());

/* Whatever it hits: a renewal, a claim, its fence, or nothing. */
TEST_WITHIN(60, a_holder_whose_statements_are_killed_keeps_its_locks)
{
    HELD(job, alice);
    int64_t holder = holder_of("job");
    int64_t start = hf__test_now_ms();
    int n = 0;

    while (since(start) < session_ms() * 3 / 2) {
        int r;

        for (int i = 0; i < 20; i++) {
            end_query(holder);
        }
        r = try_once(alice, "other");
        EXPECT_IS(r, HF_OK);
        n++;
    }
    printf("%d grants beside it\n", n);
    expect_held(job);
    EXPECT_IS(holder_of("job"), holder);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(holder_of("job"), 0);
}

/* ---- one that stands still */

TEST_WITHIN(60, a_stopped_holder_is_passed_by_and_knows_when_it_goes_on)
{
    struct peer *alice = start_peer();
    struct peer *bob = start_peer();
    int64_t start;

    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    peer_begin_acquire(bob, "job", patience(30000), HF_LEASE_DEFAULT_MS);
    await_queue(1);
    stop_peer(alice);
    peer_begin_ask(alice);
    start = hf__test_now_ms();
    EXPECT_IS(peer_finish(bob), HF_OK);
    printf("free after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), session_ms() + patience(1500));
    continue_peer(alice);
    EXPECT_SAFE(!peer_answer(alice));
    EXPECT_SAFE_MORE(peer_fence(bob), peer_fence(alice));
    EXPECT_IS(peer_release(alice), HF_LOST);
    EXPECT(peer_holds(bob));
    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_BUSY);
    EXPECT_IS(peer_release(bob), HF_OK);
    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    end_peer(alice);
    end_peer(bob);
}

/* The server gives it the lock all the same, and waits for a word of it. */
TEST_WITHIN(60, a_stopped_waiter_is_waited_for_as_long_as_a_session_lives)
{
    struct peer *alice = start_peer();
    struct peer *bob = start_peer();
    struct peer *carol = start_peer();
    int64_t bobs;
    int64_t start;

    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    peer_begin_acquire(bob, "job", HF_FOREVER, HF_LEASE_DEFAULT_MS);
    await_queue(1);
    bobs = first_in_queue();
    stop_peer(bob);
    peer_begin_acquire(carol, "job", patience(30000), HF_LEASE_DEFAULT_MS);
    await_queue(2);
    start = hf__test_now_ms();
    EXPECT_IS(peer_release(alice), HF_OK);
    UNTIL(holder_of("job") == bobs);
    EXPECT_IS(peer_finish(carol), HF_OK);
    printf("free after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), session_ms() + patience(2500));
    continue_peer(bob);
    EXPECT(peer_holds(carol));
    EXPECT_IS(peer_release(carol), HF_OK);
    EXPECT_IS(peer_finish(bob), HF_OK);
    EXPECT_SAFE_MORE(peer_fence(bob), peer_fence(carol));
    EXPECT_IS(peer_release(bob), HF_OK);
    end_peer(alice);
    end_peer(bob);
    end_peer(carol);
}

/* By SIGKILL. The server sees it by the socket, and gives the lock at once. */
TEST_WITHIN(60, a_killed_holder_is_passed_by_at_once)
{
    struct peer *alice;
    struct peer *bob;
    int64_t start;

    say_options("session_timeout=60s");
    alice = start_peer();
    bob = start_peer();
    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    peer_begin_acquire(bob, "job", patience(30000), HF_LEASE_DEFAULT_MS);
    await_queue(1);
    start = hf__test_now_ms();
    kill_peer(alice);
    EXPECT_IS(peer_finish(bob), HF_OK);
    EXPECT_SOON(since(start), patience(3000));
    EXPECT_IS(peer_release(bob), HF_OK);
    end_peer(bob);
}
