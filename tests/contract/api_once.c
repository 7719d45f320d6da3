/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: work that is started once in a while, or
 * once for each key, whatever becomes of who started it.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"
#include <string.h>

static hf_acquire_opts once(int64_t once_ms, const char *key)
{
    hf_acquire_opts opts = wanting(patience(5000), HF_LEASE_DEFAULT_MS);

    opts.once_ms = once_ms;
    opts.once_key = key;
    return opts;
}

/* Starts and ends the work, if it may; what the acquire gave. */
static int start(hf_client *client, const char *name, int64_t once_ms,
                 const char *key)
{
    hf_acquire_opts opts = once(once_ms, key);

    return attempt_with(client, name, &opts);
}

TEST_IF(store_can(HF_CAP_KEEP),
        what_has_started_does_not_start_again_for_a_while)
{
    CLIENTS(alice, bob);
    int64_t began = hf__test_now_ms();

    EXPECT_IS(start(alice, "job", patience(500), NULL), HF_OK);
    EXPECT_IS(start(alice, "job", patience(500), NULL), HF_CONFLICT);
    EXPECT_IS(start(bob, "job", patience(500), NULL), HF_CONFLICT);
    UNTIL_WITHIN(3000, start(bob, "job", 60000, NULL) == HF_OK);
    EXPECT_MORE(since(began), patience(500) - 5);
    EXPECT_IS(start(alice, "job", 60000, NULL), HF_CONFLICT);
}

TEST_IF(store_can(HF_CAP_KEEP), a_conflict_is_told_at_once_and_says_until_when)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = once(60000, NULL);
    hf_acquire_opts always = once(HF_FOREVER, "k");
    int64_t began = hf__test_now_ms();
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);

    /* Though it is held, and there is patience to wait for it. */
    expect_no_grant(bob, "job", &opts, HF_CONFLICT, "\"job\"");
    expect_no_grant(bob, "job", &opts, HF_CONFLICT, "again in");
    EXPECT_IS(attempt_with(bob, "other", &always), HF_OK);
    expect_no_grant(bob, "other", &always, HF_CONFLICT, "once is enough");
    EXPECT_SOON(since(began), patience(2000));
    expect_held(job);
}

TEST_IF(store_can(HF_CAP_KEEP), the_lock_itself_is_not_kept_closed)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(start(alice, "job", 60000, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    EXPECT_IS(presence(alice, "job"), HF_FREE);
    EXPECT_IS(start(alice, "job", 60000, NULL), HF_CONFLICT);
}

TEST_IF(store_can(HF_CAP_KEEP), each_key_is_started_once)
{
    CLIENTS(alice, bob);

    EXPECT_IS(start(alice, "job", HF_FOREVER, "monday"), HF_OK);
    EXPECT_IS(start(bob, "job", HF_FOREVER, "tuesday"), HF_OK);
    EXPECT_IS(start(bob, "job", HF_FOREVER, "monday"), HF_CONFLICT);
    EXPECT_IS(start(bob, "job", 60000, NULL), HF_OK);
    EXPECT_IS(start(bob, "other", HF_FOREVER, "monday"), HF_OK);
}

/* Nor is the mark of one pair that of another which reads the same. */
TEST_IF(store_can(HF_CAP_KEEP), name_and_key_do_not_run_together)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(start(alice, "a", HF_FOREVER, "b:c"), HF_OK);
    EXPECT_IS(start(alice, "a:b", HF_FOREVER, "c"), HF_OK);
    EXPECT_IS(start(alice, "a:b:c", HF_FOREVER, NULL), HF_OK);
    EXPECT_IS(start(alice, "a", HF_FOREVER, "b:c"), HF_CONFLICT);
}

/* Nor longer than it was told to, however short that is. */
TEST_IF(store_can(HF_CAP_KEEP), a_start_may_count_for_milliseconds)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(start(alice, "job", 1, NULL), HF_OK);
    hf__test_pause_ms(3);
    EXPECT_IS(start(alice, "job", 20, NULL), HF_OK);
    hf__test_pause_ms(25);
    EXPECT_IS(start(alice, "job", 1, NULL), HF_OK);
}

TEST_IF(store_can(HF_CAP_KEEP), a_mark_is_no_lock)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(start(alice, "job", 60000, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "3:job:"), HF_OK);
    EXPECT_IS(presence(alice, "3:job:"), HF_FREE);
}

TEST_IF(store_is_shared() && store_can(HF_CAP_KEEP),
        the_mark_outlives_a_killed_holder_and_a_takeover)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = once(60000, NULL);

    set_lease(&opts, patience(300));
    EXPECT_IS(peer_acquire_as(bob, "job", &opts), HF_OK);
    kill_peer(bob);
    await_free(alice, "job", patience(5000));
    EXPECT_IS(start(alice, "job", 60000, NULL), HF_CONFLICT);
}

TEST_IF(store_can(HF_CAP_KEEP), the_mark_outlives_a_break)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = once(60000, NULL);

    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_break(alice, "job", 0, NULL), HF_OK);
    EXPECT_IS(start(alice, "job", 60000, NULL), HF_CONFLICT);
}

/* False: the store has nothing to clean. */
static bool cleans(hf_client *client, hf_gc_info *ret_gone)
{
    int r = hf_gc(client, 0, ret_gone, NULL);

    EXPECT(r == HF_OK || r == HF_ENOTSUP);
    return r == HF_OK;
}

TEST_IF(store_can(HF_CAP_KEEP), the_mark_outlives_cleaning)
{
    AUTO_CLIENT *alice = open_store();
    hf_gc_info gone = HF_GC_INFO_INIT;

    EXPECT_IS(start(alice, "job", 60000, NULL), HF_OK);
    hf__test_pause_ms(150);
    if (cleans(alice, &gone)) {
        EXPECT_IS(gone.removed, 1); /* the lock's own record */
    }
    EXPECT_IS(start(alice, "job", 60000, NULL), HF_CONFLICT);
}

TEST_IF(store_can(HF_CAP_KEEP), a_mark_that_is_over_is_cleaned_up)
{
    AUTO_CLIENT *alice = open_store();
    hf_gc_info gone = HF_GC_INFO_INIT;

    EXPECT_IS(start(alice, "job", 100, NULL), HF_OK);
    hf__test_pause_ms(200);
    if (cleans(alice, &gone)) {
        EXPECT_IS(gone.removed, 2);
        EXPECT_IS(gone.marks, 1);
        EXPECT_IS(gone.expired, 0); /* a mark's lease is never given back */
    }
}

TEST_IF(store_can(HF_CAP_KEEP), a_failed_start_can_be_taken_back)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = once(60000, NULL);

    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    hf__test_pause_ms(150); /* longer than the mark's own lease */
    EXPECT_IS(hf_once_undo(job, NULL), HF_OK);
    EXPECT_IS(hf_once_undo(job, NULL), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(start(bob, "job", 60000, NULL), HF_OK);
    /* Not the start of somebody else. */
    EXPECT_IS(hf_once_undo(job, NULL), HF_OK);
    EXPECT_IS(start(alice, "job", 60000, NULL), HF_CONFLICT);
}

TEST(without_a_start_there_is_nothing_to_take_back)
{
    HELD(job, alice);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_once_undo(job, &err), HF_EINVAL);
    EXPECT(strstr(err.text, "once_ms"));
    EXPECT_IS(hf_once_undo(NULL, NULL), HF_EINVAL);
}

TEST_IF(store_can(HF_CAP_KEEP), a_busy_lock_leaves_no_mark)
{
    HELD(job, alice, bob);
    hf_acquire_opts opts = once(60000, NULL);

    opts.wait_ms = 0;
    EXPECT_IS(attempt_with(bob, "job", &opts), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(start(bob, "job", 60000, NULL), HF_OK);
}

/* The mark's answer is lost, or it is never sent: it is asked for again. */
TEST_IF(store_can(HF_CAP_KEEP), a_lost_answer_makes_no_second_start)
{
    static const char *const faults[] = {
        "fault=lose_reply:acquire:2", "fault=lose_request:acquire:2",
        "fault=die:acquire:2", "fault=again:acquire:2", "fault=die:inspect:1"};

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        AUTO_CLIENT *alice = open_faulty(faults[i]);
        AUTO_CLIENT *bob = open_store();
        char name[16];
        int r;

        snprintf(name, sizeof name, "job-%zu", i);
        r = start(alice, name, 60000, NULL);
        EXPECT(r == HF_OK || r == HF_EUNAVAIL);
        EXPECT_IS(start(bob, name, 60000, NULL),
                  r == HF_OK ? HF_CONFLICT : HF_OK);
    }
}

TEST_IF(store_can(HF_CAP_KEEP), a_mark_that_cannot_be_set_starts_nothing)
{
    AUTO_CLIENT *alice = open_faulty(io_timeout(200, "fault=die:acquire:2-"));
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = once(60000, NULL);
    AUTO_LOCK *none = NULL;
    int r;

    r = hf_acquire(alice, "job", &opts, &none, NULL);
    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN); /* slow is unknown */
    EXPECT(!none);
    await_free(bob, "job", patience(3000));
    EXPECT_IS(start(bob, "job", 60000, NULL), HF_OK);
}

/* Of many who would start at the same time, one does. */
struct rush {
    hf_client *client;
    atomic_int starts;
};

static void rush_in(void *arg)
{
    struct rush *rush = arg;
    int r = start(rush->client, "job", 60000, NULL);

    EXPECT(r == HF_OK || r == HF_CONFLICT);
    atomic_fetch_add(&rush->starts, r == HF_OK);
}

TEST_IF(store_can(HF_CAP_KEEP), of_many_at_once_one_starts)
{
    CLIENTS(alice, bob);
    struct rush rushes[2] = {{alice, 0}, {bob, 0}};
    struct hf__test_thread *threads[8];

    for (int i = 0; i < 8; i++) {
        threads[i] = hf__test_start(rush_in, &rushes[i % 2]);
    }
    hf__test_join_all(threads, 8);
    EXPECT_IS(atomic_load(&rushes[0].starts) + atomic_load(&rushes[1].starts),
              1);
}

TEST_IF(store_can(HF_CAP_KEEP), once_that_makes_no_sense_is_refused)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = once(-2, NULL);

    expect_no_grant(alice, "job", &opts, HF_EINVAL, "once_ms");
    opts = once(0, "key");
    expect_no_grant(alice, "job", &opts, HF_EINVAL, "once_key");
    opts = once(1000, "\xff");
    expect_no_grant(alice, "job", &opts, HF_EINVAL, "UTF-8");
}

TEST_IF(store_can(HF_CAP_KEEP), a_name_and_its_key_have_250_bytes_together)
{
    AUTO_CLIENT *alice = open_store();
    char name[201] = "";
    char key[52] = "";
    hf_acquire_opts opts = once(1000, key);

    memset(name, 'n', 200);
    memset(key, 'k', 51);
    expect_no_grant(alice, name, &opts, HF_EINVAL, "250");
    key[50] = '\0';
    EXPECT_IS(attempt_with(alice, name, &opts), HF_OK);
}

/* The least hold is for who starts: one that came too late has held nothing. */
TEST_IF(store_can(HF_CAP_KEEP), who_may_not_start_keeps_nothing_closed)
{
    CLIENTS(alice, bob);
    struct waiter first = {.opts = once(HF_FOREVER, NULL)};
    struct waiter late = {.opts = once(HF_FOREVER, NULL)};
    AUTO_LOCK *job = acquire(alice, "job");

    late.opts.min_hold_ms = 20000;
    start_sleeper(&first, alice, "job");
    start_sleeper(&late, alice, "job");
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&first), HF_OK);
    EXPECT_IS(end_waiter(&late), HF_CONFLICT);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}
