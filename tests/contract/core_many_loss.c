/* SPDX-License-Identifier: MIT */
/*
 * Several names in one lock when something goes wrong: one is lost, held or
 * while another is waited for, the client closes, the process forks, a reply
 * does not come; and what is no wish for several names at all.
 */
#include "tests/contract/peer.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const char *const pair[] = {"b", "a"};

static hf_lock *acquire_pair(hf_client *client, int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(patience(10000), lease_ms);
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire_many(client, pair, 2, &opts, &lock, NULL), HF_OK);
    return lock;
}

/* An acquire of the two in a thread of its own. */
struct wait {
    hf_client *client;
    hf_acquire_opts opts;
    hf_lock *lock;
    struct hf__test_thread *thread;
};

static void wait_for_pair(void *arg)
{
    struct wait *w = arg;

    EXPECT_IS(hf_acquire_many(w->client, pair, 2, &w->opts, &w->lock, NULL),
              HF_OK);
}

/* Until the first of them is kept. */
static void start_wait_as(struct wait *w, hf_client *client,
                          const hf_acquire_opts *opts)
{
    *w = (struct wait){.client = client, .opts = *opts};
    w->thread = hf__test_start(wait_for_pair, w);
    UNTIL(presence(client, "a") == HF_HELD_BY);
}

static uint64_t fence_seen(hf_client *client, const char *name)
{
    AUTO_INFO *info = look_at(client, name);

    return hf_info_fence(info);
}

static void start_wait(struct wait *w, hf_client *client, int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(patience(15000), lease_ms);

    start_wait_as(w, client, &opts);
}

/* ---- while another is waited for */

TEST(what_is_kept_is_renewed_in_a_wait_longer_than_its_lease)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    int64_t lease_ms = patience(800);
    struct wait w;

    start_wait(&w, alice, lease_ms);
    uint64_t fence = fence_seen(bob, "a");
    EXPECT_IS(attempt(bob, "a", 3 * lease_ms), HF_TIMEDOUT);
    EXPECT_IS(hf_release(busy, NULL), HF_OK);
    hf__test_join(w.thread);
    expect_held(w.lock);
    EXPECT_IS(hf_fence_at(w.lock, 1), fence);
    EXPECT_IS(attempt(bob, "a", 2 * lease_ms), HF_TIMEDOUT);
    expect_held(w.lock);
    hf_free(w.lock);
}

/* Without auto_renew the library stops renewing when it has them all. */
TEST_IF(store_leases(), what_is_kept_is_the_callers_to_renew_when_all_are_held)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    int64_t lease_ms = patience(400);
    hf_acquire_opts opts = wanting(patience(15000), lease_ms);
    struct wait w;

    opts.auto_renew = 0;
    start_wait_as(&w, alice, &opts);
    EXPECT_IS(attempt(bob, "a", 2 * lease_ms), HF_TIMEDOUT);
    EXPECT_IS(hf_release(busy, NULL), HF_OK);
    hf__test_join(w.thread);
    EXPECT_IS(hf_held(w.lock), 1);
    EXPECT_IS(hf_wait_lost(w.lock, 2 * lease_ms), HF_LOST);
    expect_lost(w.lock, HF_REASON_EXPIRED);
    hf_free(w.lock);
}

TEST(what_is_kept_and_lost_in_a_wait_is_got_again)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    struct wait w;

    start_wait(&w, alice, patience(400));
    uint64_t fence = fence_seen(bob, "a");
    EXPECT_IS(hf_break(bob, "a", 0, NULL), HF_OK);
    {
        hf_acquire_opts opts = wanting(0, 30000);
        AUTO_LOCK *other = NULL;

        /* Where she is told at once, she may be faster. */
        if (hf_acquire(bob, "a", &opts, &other, NULL) == HF_OK) {
            hf__test_pause_ms(patience(300)); /* else when she renews */
            EXPECT_IS(hf_release(other, NULL), HF_OK);
        }
    }
    UNTIL(presence(bob, "a") == HF_HELD_BY); /* before the other is free */
    EXPECT_IS(hf_release(busy, NULL), HF_OK);
    hf__test_join(w.thread);
    expect_held(w.lock);
    EXPECT_IS(hf_count(w.lock), 2);
    EXPECT_SAFE_MORE(hf_fence_at(w.lock, 1) + !fence, fence);
    EXPECT_IS(try_once(bob, "a"), HF_BUSY);
    EXPECT_IS(try_once(bob, "b"), HF_BUSY);
    hf_free(w.lock);
}

TEST(max_hold_counts_from_when_all_are_held)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    hf_acquire_opts opts = wanting(patience(15000), patience(400));
    int64_t most_ms = patience(600);
    int64_t start;
    struct wait w;

    opts.max_hold_ms = most_ms;
    start_wait_as(&w, alice, &opts);
    EXPECT_SAFE_IS(attempt(bob, "a", 2 * most_ms), HF_TIMEDOUT);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(busy, NULL), HF_OK);
    hf__test_join(w.thread);
    EXPECT_MORE(hf_remaining_ms(w.lock), patience(100));
    EXPECT_IS(hf_wait_lost(w.lock, 3 * most_ms), HF_LOST);
    EXPECT_MORE(since(start), most_ms - 20);
    EXPECT_SOON(since(start), 2 * most_ms);
    hf_free(w.lock);
}

/* ---- while all are held */

TEST_IF(store_breaks_one(), one_that_is_lost_loses_the_whole_and_keeps_the_rest)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *lock = acquire_pair(alice, patience(400));
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_break(bob, "a", 0, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(lock, patience(5000)), HF_LOST);
    expect_lost(lock, HF_REASON_BROKEN);
    EXPECT_IS(hf_renew(lock, &err), HF_LOST);
    EXPECT_HAS(err.text, "\"a\"");
    EXPECT_IS(attempt(bob, "b", patience(800)), HF_TIMEDOUT);
    for (int i = 0; i < 2; i++) {
        EXPECT_IS(hf_release(lock, &err), HF_LOST);
        EXPECT_HAS(err.text, "\"a\" was lost");
        EXPECT_IS(try_once(bob, "b"), HF_OK);
    }
    expect_lost(lock, HF_REASON_BROKEN);
}

TEST(a_client_that_closes_loses_and_frees_all)
{
    hf_client *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    hf_lock *lock = acquire_pair(alice, HF_LEASE_DEFAULT_MS);

    hf_close(alice);
    expect_lost(lock, HF_REASON_SESSION);
    EXPECT_IS(hf_release(lock, NULL), HF_LOST);
    EXPECT_SOON(await_free(bob, "a", patience(5000)), patience(1000));
    EXPECT_SOON(await_free(bob, "b", patience(5000)), patience(1000));
    EXPECT_IS(hf_count(lock), 2);
    EXPECT_TEXT(hf_name_at(lock, 1), "a");
    hf_free(lock);
}

TEST(a_child_has_no_lock_of_many_names)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *lock = acquire_pair(alice, HF_LEASE_DEFAULT_MS);
    hf_lock *none = NULL;
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        EXPECT_IS(hf_held(lock), 0);
        EXPECT_IS(hf_state(lock), HF_STATE_LOST);
        EXPECT_IS(hf_release(lock, NULL), HF_EFORK);
        EXPECT_IS(hf_renew(lock, NULL), HF_EFORK);
        EXPECT_IS(hf_acquire_many(alice, pair, 2, NULL, &none, NULL), HF_EFORK);
        hf_free(lock);
        _exit(0);
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
    expect_held(lock);
}

/* ---- replies that do not come */

static int among_faults(const char *options)
{
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(0, patience(2000));
    hf_error err = HF_ERROR_INIT;
    AUTO_LOCK *lock = NULL;
    int r = hf_acquire_many(alice, pair, 2, &opts, &lock, &err);

    printf("%s %s\n", hf_strstatus(r), err.text);
    EXPECT_IS(lock != NULL, r == HF_OK);
    if (r != HF_OK) {
        EXPECT(strstr(err.text, "\"a\"") || strstr(err.text, "\"b\""));
    } else {
        EXPECT_IS(try_once(bob, "a"), HF_BUSY);
        EXPECT_IS(try_once(bob, "b"), HF_BUSY);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
    EXPECT_SOON(await_free(bob, "a", patience(9000)), patience(3000));
    EXPECT_SOON(await_free(bob, "b", patience(9000)), patience(3000));
    return r;
}

TEST(a_lost_reply_of_many_is_asked_for_again_by_token)
{
    EXPECT_IS(among_faults("fault=lose_reply:acquire:1"), HF_OK);
    EXPECT_IS(among_faults("fault=lose_reply:acquire:2"), HF_OK);
    EXPECT_IS(among_faults("fault=lose_request:acquire:1"), HF_OK);
}

TEST(a_failure_of_the_store_names_the_name)
{
    EXPECT_IS(among_faults("io_timeout=400ms&fault=die:acquire:*"),
              HF_EUNAVAIL);
    EXPECT_IS(among_faults("io_timeout=400ms&fault=lose_request:acquire:*"),
              HF_EUNKNOWN);
}

CASE(an_unknown_outcome_gives_up_all_and_names_it,
     EXPECT_IS(among_faults("io_timeout=400ms&fault=lose_reply:acquire:*"),
               HF_EUNKNOWN));

/* ---- no wish for several names */

static void expect_refused(hf_client *client, const hf_acquire_opts *opts,
                           int status, const char *word)
{
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire_many(client, pair, 2, opts, &lock, &err), status);
    EXPECT(!lock);
    EXPECT_HAS(err.text, word);
}

TEST(options_that_many_names_cannot_have_are_refused_by_name)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *lock = acquire_pair(alice, HF_LEASE_DEFAULT_MS);
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;

    opts.detached = 1;
    expect_refused(alice, &opts, HF_ENOTSUP, "detached");
    opts.detached = 0;
    opts.reentrant = 1;
    expect_refused(alice, &opts, HF_ENOTSUP, "reentrant");
    opts.reentrant = 0;
    opts.lease_ms = 1;
    expect_refused(alice, &opts, HF_EINVAL, "lease_ms");
    EXPECT_IS(hf_detach(lock, &err), HF_ENOTSUP);
    EXPECT_HAS(err.text, "several names");
    expect_held(lock);
}

TEST(names_that_are_none_or_twice_there_are_refused)
{
    const char *const twice[] = {"x", "y", "x"};
    const char *const empty[] = {"x", ""};
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire_many(alice, twice, 3, NULL, &lock, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "\"x\" is named twice");
    EXPECT_IS(hf_acquire_many(alice, empty, 2, NULL, &lock, &err), HF_EINVAL);
    EXPECT_IS(hf_acquire_many(alice, twice, 0, NULL, &lock, &err), HF_EINVAL);
    EXPECT_IS(hf_acquire_many(alice, twice, HF_MANY_MAX + 1, NULL, &lock, &err),
              HF_EINVAL);
    EXPECT_IS(hf_acquire_many(alice, NULL, 1, NULL, &lock, &err), HF_EINVAL);
    EXPECT_IS(hf_acquire_many(alice, twice, 2, NULL, NULL, &err), HF_EINVAL);
    EXPECT_IS(hf_acquire_many(NULL, twice, 2, NULL, &lock, &err), HF_EINVAL);
    EXPECT(!lock);
    EXPECT_IS(presence(alice, "x"), HF_FREE);
}

TEST(who_holds_one_of_many_is_told_instead_of_waiting)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *lock = acquire_pair(alice, HF_LEASE_DEFAULT_MS);
    hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;
    const char *const others[] = {"c", "b"};
    hf_lock *none = NULL;

    AUTO_LOCK *mine = must_acquire(alice, "c", &opts);
    EXPECT_IS(hf_acquire_many(alice, others, 2, &opts, &none, &err),
              HF_DEADLOCK);
    EXPECT_HAS(err.text, "\"c\"");
    EXPECT_IS(hf_release(mine, NULL), HF_OK);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(hf_acquire_many(alice, others, 2, &opts, &none, NULL), HF_OK);
    EXPECT_IS(hf_acquire(alice, "b", &opts, &mine, &err), HF_DEADLOCK);
    hf_free(none);
}

TEST_IF(store_can(HF_CAP_KEEP), once_counts_a_start_of_the_first_name_given)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    const char *const turned[] = {"a", "b"};
    hf_lock *lock = NULL;

    opts.once_ms = 60000;
    EXPECT_IS(hf_acquire_many(alice, pair, 2, &opts, &lock, NULL), HF_OK);
    hf_free(lock);
    lock = NULL;
    EXPECT_IS(hf_acquire_many(alice, pair, 2, &opts, &lock, NULL), HF_CONFLICT);
    EXPECT(!lock);
    EXPECT_IS(hf_acquire_many(alice, turned, 2, &opts, &lock, NULL), HF_OK);
    EXPECT_IS(hf_once_undo(lock, NULL), HF_OK);
    hf_free(lock);
    EXPECT_IS(hf_acquire_many(alice, turned, 2, &opts, &lock, NULL), HF_OK);
    hf_free(lock);
}

/* Not from when the session that renews was connected, for which it waits. */
TEST(the_first_acquire_of_several_waits_from_its_call_on)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:open:2:3s");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *held = acquire(bob, pair[1]);
    hf_acquire_opts opts = wanting(4000, HF_LEASE_DEFAULT_MS);
    hf_lock *none = NULL;
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf_acquire_many(alice, pair, 2, &opts, &none, NULL), HF_TIMEDOUT);
    EXPECT_SOON(since(start), 6000);
    EXPECT(!none);
    EXPECT_IS(hf_held(held), 1);
}
