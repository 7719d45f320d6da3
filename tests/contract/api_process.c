/* SPDX-License-Identifier: MIT */
/*
 * Between processes: exclusion, death and pause of a holder or a waiter, and
 * no process left out. Stores that reach only their own process have nothing
 * to show here.
 */
#include "tests/contract/peer.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

TEST_IF(store_is_shared() && store_can(HF_CAP_FENCE),
        the_fence_rises_from_process_to_process)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    uint64_t last = 0;

    for (int i = 0; i < 5; i++) {
        AUTO_LOCK *job = NULL;

        EXPECT_IS(peer_acquire(bob, "job", 0, 20000), HF_OK);
        EXPECT_SAFE_MORE(peer_fence(bob), last);
        EXPECT_IS(peer_release(bob), HF_OK);
        job = acquire(alice, "job");
        EXPECT_SAFE_MORE(hf_fence(job), peer_fence(bob));
        last = hf_fence(job);
    }
    end_peer(bob);
}

TEST_IF(store_is_shared(), a_release_wakes_a_waiter_of_another_process)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    int64_t start;

    for (int i = 0; i < 3; i++) {
        AUTO_LOCK *job = acquire(alice, "job");

        peer_begin_acquire(bob, "job", HF_FOREVER, 20000);
        hf__test_pause_ms(100);
        start = hf__test_now_ms();
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        EXPECT_IS(peer_finish(bob), HF_OK);
        EXPECT_SOON(since(start), patience(500));
        EXPECT_IS(peer_release(bob), HF_OK);
    }
    end_peer(bob);
}

/* From the death of a holder to the next grant. */
static int64_t time_to_inherit(int64_t lease_ms)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    int64_t died;

    EXPECT_IS(peer_acquire(bob, "job", 0, lease_ms), HF_OK);
    EXPECT_IS(attempt(alice, "job", 100), HF_TIMEDOUT);
    died = hf__test_now_ms();
    kill_peer(bob);
    await_free(alice, "job", patience(10000));
    return since(died);
}

TEST_IF(store_is_shared(),
        the_lock_of_a_killed_holder_is_free_when_its_lease_ends)
{
    int64_t took = time_to_inherit(800);

    EXPECT_SOON(took, end_given(800) + patience(400));
    if (!store_can(HF_CAP_DEATH) &&
        (store_leases() || store_keeps_what_is_cut())) {
        /* It was renewed at most a third of the lease before. */
        EXPECT_MORE(took, 200);
    }
}

TEST_IF(store_is_shared() && store_can(HF_CAP_DEATH),
        where_a_death_is_seen_it_is_shown)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    AUTO_INFO *info = NULL;
    AUTO_INFO *later = NULL;

    EXPECT_IS(peer_acquire(bob, "job", 0, 20000), HF_OK);
    info = look_at(alice, "job");
    EXPECT_IS(hf_info_holder_lives(info), 1);
    kill_peer(bob);
    later = look_at(alice, "job");
    EXPECT(hf_info_presence(later) == HF_FREE ||
           hf_info_holder_lives(later) == 0);
}

TEST_IF(store_is_shared() && store_can(HF_CAP_DEATH),
        who_has_the_descriptors_keeps_the_lock_of_a_dead_holder)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    int fds[8];
    int n;

    EXPECT_IS(peer_acquire(bob, "job", 0, 20000), HF_OK);
    n = peer_lock_fds(bob, fds);
    EXPECT_MORE(n, 0);
    kill_peer(bob);
    EXPECT_IS(attempt(alice, "job", 300), HF_TIMEDOUT);
    for (int i = 0; i < n; i++) {
        close(fds[i]);
    }
    EXPECT_SOON(await_free(alice, "job", patience(10000)), patience(2000));
}

/* Volatile: what is never read is else not kept, and leaks. */
static hf_client *volatile client_at_exit;
static hf_lock *volatile lock_at_exit;

static void exit_with_lock(int number)
{
    client_at_exit = open_store();
    lock_at_exit = acquire_leased(client_at_exit, "job", 1000);
    exit(number);
}

TEST_IF(store_is_shared(), an_exit_without_release_does_not_hang)
{
    int64_t start = hf__test_now_ms();

    end_crew(start_crew(exit_with_lock, 0));
    EXPECT_SOON(since(start), patience(700));
    AUTO_CLIENT *alice = open_store();
    await_free(alice, "job", patience(10000));
    EXPECT_SOON(since(start), patience(1500) + end_given(patience(1000)));
}

TEST_IF(store_is_shared(), a_killed_waiter_holds_nobody_up)
{
    struct peer *bob = start_peer();
    struct peer *carol = start_peer();
    HELD(job, alice);
    int64_t start;

    peer_begin_acquire(bob, "job", HF_FOREVER, 20000);
    hf__test_pause_ms(100);
    peer_begin_acquire(carol, "job", HF_FOREVER, 20000);
    hf__test_pause_ms(100);
    kill_peer(bob);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(carol), HF_OK);
    EXPECT_SOON(since(start), wait_given(patience(1000)));
    end_peer(carol);
}

TEST_IF(store_is_shared(), a_stopped_waiter_holds_nobody_up)
{
    struct peer *bob = start_peer();
    struct peer *carol = start_peer();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1000));

    peer_begin_acquire(bob, "job", patience(10000), patience(1000));
    hf__test_pause_ms(100);
    stop_peer(bob);
    peer_begin_acquire(carol, "job", patience(10000), patience(1000));
    hf__test_pause_ms(100);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(carol), HF_OK);
    EXPECT_IS(peer_release(carol), HF_OK);
    continue_peer(bob);
    EXPECT_IS(peer_finish(bob), HF_OK);
    end_peer(bob);
    end_peer(carol);
}

TEST_IF(store_is_shared(),
        a_holder_stopped_past_its_lease_knows_when_it_goes_on)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(peer_acquire(bob, "job", 0, 500), HF_OK);
    stop_peer(bob);
    hf__test_pause_ms(1000);
    AUTO_LOCK *job = acquire(alice, "job");
    peer_begin_ask(bob);
    continue_peer(bob);
    EXPECT_SAFE(!peer_answer(bob));
    EXPECT_IS(peer_release(bob), HF_LOST);
    EXPECT_IS(peer_lost_reason(bob), HF_REASON_EXPIRED);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    expect_held(job);
    EXPECT_SAFE_MORE(hf_fence(job) + !store_can(HF_CAP_FENCE), peer_fence(bob));
    end_peer(bob);
}

TEST_IF(store_is_shared(), a_holder_stopped_for_less_than_its_lease_still_holds)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(peer_acquire(bob, "job", 0, patience(1500)), HF_OK);
    stop_peer(bob);
    hf__test_pause_ms(500);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    continue_peer(bob);
    hf__test_pause_ms(patience(1500));
    EXPECT(peer_holds(bob));
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(peer_release(bob), HF_OK);
    end_peer(bob);
}

TEST_IF(store_is_shared(), a_process_breaks_the_lock_of_another)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(peer_acquire(bob, "job", 0, patience(900)), HF_OK);
    EXPECT_IS(hf_break(alice, "job", peer_fence(bob), NULL), HF_OK);
    UNTIL_WITHIN(900, !peer_holds(bob));
    EXPECT_IS(peer_lost_reason(bob), HF_REASON_BROKEN);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    end_peer(bob);
}
