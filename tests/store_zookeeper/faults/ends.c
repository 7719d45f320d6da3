/* SPDX-License-Identifier: MIT */
/*
 * Sessions that end under a holder, claims that are taken away by hand, and
 * holders and waiters that stand still or die: who is told, when, and who is
 * next. Each by both recipes, where both have it.
 */
#include "tests/store_zookeeper/faults/world.h"

enum { SESSION_MS = 3000, LONG_MS = 20000 };

static const char *const recipes[] = {"fair", "simple"};

/* Options of a store of that recipe, whose sessions live so long; till the next
 * call. */
static const char *living(int64_t ms, int recipe)
{
    static char options[100];

    snprintf(options, sizeof options, "session_timeout=%lldms&recipe=%s",
             (long long)patience(ms), recipes[recipe]);
    return options;
}

static void expect_gone(const struct hf__zookeeper *s, const char *name)
{
    await_claims(s, name, 0);
}

/* ---- a session that the server ends */

/* Waits for what bob has, by the client whose session is about to end. */
static void expire_it(const struct hf__zookeeper *s)
{
    HELD(job, alice, bob);
    AUTO_LOCK *other = acquire(bob, "other");
    AUTO_LOCK *next = NULL;
    int64_t session = session_of(s, "job", 0);
    struct waiter w;
    int64_t start;

    begin_to_wait(&w, alice, "other", patience(30000));
    hf__test_pause_ms(200);
    start = hf__test_now_ms();
    EXPECT(hf__zookeeper_expire(s, session));
    EXPECT_IS(hf_wait_lost(job, patience(12000)), HF_LOST);
    printf("told after %lld ms: %s\n", (long long)since(start),
           hf_strreason(hf_lost_reason(job)));
    EXPECT_SOON(since(start), patience(lease_of_session(LONG_MS)) * 2 / 3);
    expect_lost(job, HF_REASON_SESSION);
    next = acquire(alice, "job");
    EXPECT_NOT(session_of(s, "job", 0), session);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    expect_held(next);
    expect_held(other);
    EXPECT_SAFE(!atomic_load(&w.is_done));
    EXPECT_IS(hf_release(other, NULL), HF_OK);
    EXPECT_IS(end_waiting(&w), HF_OK);
    EXPECT_IS(w.released, HF_OK);
    EXPECT_SAFE_MORE(w.fence, hf_fence(other));
    EXPECT_IS(hf_release(next, NULL), HF_OK);
    expect_gone(s, "job");
    expect_gone(s, "other");
}

TEST_WITHIN(60, a_session_that_the_server_ends_is_told_and_made_anew)
{
    AUTO_SERVER *s = start_server("");

    for (int i = 0; i < 2; i++) {
        say_options(living(LONG_MS, i));
        expire_it(s);
    }
}

/* ---- a holder that stands still for longer than its session lives */

static void stop_holder(const struct hf__zookeeper *s)
{
    struct peer *alice = start_peer();
    struct peer *bob = start_peer();
    int64_t session;

    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    session = session_of(s, "job", 0);
    peer_begin_acquire(bob, "job", patience(30000), HF_LEASE_DEFAULT_MS);
    stop_peer(alice);
    peer_begin_ask(alice);
    EXPECT_IS(peer_finish(bob), HF_OK);
    continue_peer(alice);
    EXPECT_SAFE(!peer_answer(alice));
    EXPECT_SAFE_MORE(peer_fence(bob), peer_fence(alice));
    EXPECT_IS(peer_lost_reason(alice), HF_REASON_EXPIRED);
    EXPECT_IS(peer_release(alice), HF_LOST);
    EXPECT(peer_holds(bob));
    for (int i = claims_of(s, "job"); i-- > 0;) {
        EXPECT_NOT(session_of(s, "job", i), session);
    }
    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_BUSY);
    EXPECT_IS(peer_release(bob), HF_OK);
    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    end_peer(alice);
    end_peer(bob);
    expect_gone(s, "job");
}

TEST_WITHIN(90, a_holder_stopped_past_its_session_knows_when_it_goes_on)
{
    AUTO_SERVER *s = start_server("");

    for (int i = 0; i < 2; i++) {
        say_options(living(SESSION_MS, i));
        stop_holder(s);
    }
}

/* ---- one between the holder and the last in line */

/* By SIGKILL: nothing tells the server but the time. */
TEST_WITHIN(90, a_waiter_killed_in_the_middle_lets_nobody_past_the_holder)
{
    AUTO_SERVER *s = start_server("");
    struct peer *alice;
    struct peer *bob;
    struct peer *carol;

    say_options(living(SESSION_MS, 0));
    alice = start_peer();
    bob = start_peer();
    carol = start_peer();
    EXPECT_IS(peer_acquire(alice, "job", 0, HF_LEASE_DEFAULT_MS), HF_OK);
    peer_begin_acquire(bob, "job", HF_FOREVER, HF_LEASE_DEFAULT_MS);
    await_claims(s, "job", 2);
    peer_begin_acquire(carol, "job", HF_FOREVER, HF_LEASE_DEFAULT_MS);
    await_claims(s, "job", 3);
    kill_peer(bob);
    await_claims(s, "job", 2);
    hf__test_pause_ms(500);
    EXPECT_SAFE(peer_holds(alice));
    EXPECT_SAFE_IS(claims_of(s, "job"), 2);
    EXPECT_IS(peer_release(alice), HF_OK);
    EXPECT_IS(peer_finish(carol), HF_OK);
    EXPECT_SAFE_MORE(peer_fence(carol), peer_fence(alice));
    EXPECT_IS(peer_release(carol), HF_OK);
    end_peer(alice);
    end_peer(carol);
    expect_gone(s, "job");
}

/* ---- a folder that is taken away by hand */

enum { WAITERS = 4 };

/* The holder is told; those who wait have it one after the other. It is not
 * deleted at once: who enters meanwhile is broken, too. */
static void remove_by_hand(const struct hf__zookeeper *s, const char *path)
{
    HELD(job, alice);
    hf_client *clients[WAITERS];
    struct waiter w[WAITERS];
    int64_t start;

    for (int i = 0; i < WAITERS; i++) {
        clients[i] = open_store();
        begin_to_wait(&w[i], clients[i], "job", patience(30000));
    }
    hf__test_pause_ms(300);
    EXPECT_SAFE(!atomic_load(&w[0].is_done));
    start = hf__test_now_ms();
    EXPECT(hf__zookeeper_remove(s, path));
    EXPECT_IS(hf_wait_lost(job, patience(10000)), HF_LOST);
    printf("told after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), patience(3000));
    expect_lost(job, HF_REASON_BROKEN);
    for (int i = 0; i < WAITERS; i++) {
        EXPECT_IS(end_waiting(&w[i]), HF_OK);
        EXPECT(w[i].released == HF_OK || w[i].released == HF_LOST);
        hf_close(clients[i]);
    }
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    expect_gone(s, "job");
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

TEST_WITHIN(90, a_folder_deleted_by_hand_breaks_the_grant_and_no_wait)
{
    AUTO_SERVER *s = start_server("");

    for (int i = 0; i < 2; i++) {
        say_options(living(LONG_MS, i));
        remove_by_hand(s, folder_of("job"));
        remove_by_hand(s, "/holdfast");
    }
}
