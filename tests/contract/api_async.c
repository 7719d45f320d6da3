/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the asynchronous calls: each answers once, in
 * hf_dispatch() alone, and says what the call that waits would have said.
 */
#include "tests/contract/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MANY 256

TEST(an_asynchronous_acquire_answers_in_dispatch_alone)
{
    CLIENTS(alice, bob);
    AUTO_OUTCOME job = {0};
    struct outcome done = {0};

    begin(alice, "job", NULL, &job);
    EXPECT(is_ready(alice, patience(5000)));
    EXPECT_IS(job.calls, 0);
    EXPECT_IS(dispatch(alice), 1);
    EXPECT_IS(job.status, HF_OK);
    expect_held(job.lock);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    begin_release(&job, &done);
    EXPECT_IS(done.calls, 0);
    EXPECT_IS(await(alice, &done), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST(the_descriptor_is_readable_exactly_while_a_callback_is_ready)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_OUTCOME job = {0};
    AUTO_OUTCOME other = {0};
    int fd = hf_fd(alice);

    EXPECT_IS(hf_fd(alice), fd);
    EXPECT((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    EXPECT(!is_ready(alice, 20));
    EXPECT_IS(dispatch(alice), 0);
    begin(alice, "job", NULL, &job);
    EXPECT(is_ready(alice, patience(5000)));
    EXPECT(is_ready(alice, 0)); /* still */
    EXPECT_IS(dispatch(alice), 1);
    EXPECT(!is_ready(alice, 20));
    begin(alice, "other", NULL, &other);
    EXPECT(is_ready(alice, patience(5000)));
    EXPECT_IS(dispatch(alice), 1);
    EXPECT(!is_ready(alice, 0));
}

TEST(a_descriptor_asked_for_late_shows_what_was_ready_before)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_OUTCOME job = {0};

    begin(alice, "job", NULL, &job);
    UNTIL(stats_of(alice).acquired != 0);
    hf__test_pause_ms(patience(20)); /* counted just before it is ready */
    EXPECT(is_ready(alice, patience(1000)));
    EXPECT_IS(dispatch(alice), 1);
}

static int refused(hf_client *client, const char *name,
                   const hf_acquire_opts *opts, const char *word)
{
    hf_error err = HF_ERROR_INIT;
    int r = hf_acquire_async(client, name, opts, note_acquire, NULL, &err);

    EXPECT_HAS(err.text, word);
    EXPECT_IS(err.status, r);
    return r;
}

TEST(bad_arguments_of_asynchronous_calls_are_refused_at_once)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    EXPECT_IS(refused(NULL, "job", NULL, "NULL"), HF_EINVAL);
    EXPECT_IS(refused(alice, NULL, NULL, "name"), HF_EINVAL);
    EXPECT_IS(refused(alice, "", NULL, "name"), HF_EINVAL);
    opts.lease_ms = 1;
    EXPECT_IS(refused(alice, "job", &opts, "lease_ms"), HF_EINVAL);
    opts = wanting(0, HF_LEASE_DEFAULT_MS);
    opts.reentrant = 1;
    opts.owner_id = 0;
    EXPECT_IS(refused(alice, "job", &opts, "owner_id"), HF_EINVAL);
    EXPECT_IS(hf_acquire_async(alice, "job", NULL, NULL, NULL, NULL),
              HF_EINVAL);
    EXPECT_IS(hf_release_async(NULL, note_done, NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_on_lost(NULL, note_loss, NULL), HF_EINVAL);
    EXPECT_IS(hf_fd(NULL), HF_EINVAL);
    EXPECT_IS(hf_dispatch(NULL, NULL), HF_EINVAL);
    EXPECT(!is_ready(alice, 20));
}

TEST(an_asynchronous_acquire_says_what_one_that_waits_says)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire(bob, "job");
    hf_acquire_opts once = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_acquire_opts soon = wanting(100, HF_LEASE_DEFAULT_MS);
    AUTO_OUTCOME tries = {0};
    AUTO_OUTCOME waits = {0};
    int64_t start = hf__test_now_ms();

    begin(alice, "job", &once, &tries);
    begin(alice, "job", &soon, &waits);
    EXPECT_IS(await(alice, &tries), HF_BUSY);
    EXPECT_HAS(tries.err.text, "held by");
    EXPECT_IS(await(alice, &waits), HF_TIMEDOUT);
    EXPECT_MORE(waits.at_ms - start, 99);
    expect_held(job);
}

TEST(an_asynchronous_acquire_waits_for_another_clients_release)
{
    CLIENTS(alice, bob);
    hf_lock *job = acquire(bob, "job");
    AUTO_OUTCOME next = {0};

    begin(alice, "job", NULL, &next);
    loop_for(alice, 100);
    EXPECT_IS(next.calls, 0);
    hf_free(job);
    EXPECT_IS(await(alice, &next), HF_OK);
}

static void pass_on(struct outcome *o)
{
    EXPECT_IS(o->status, HF_OK);
    EXPECT(hf_held(o->lock));
    EXPECT_IS(hf_release_async(o->lock, NULL, NULL, NULL), HF_OK);
    hf_free(o->lock);
    o->lock = NULL;
}

TEST_WITHIN(60, of_many_on_one_name_each_gets_its_turn_in_order)
{
    AUTO_CLIENT *alice = open_store();
    static struct outcome jobs[MANY];

    for (int i = 0; i < MANY; i++) {
        jobs[i].then = pass_on;
        begin(alice, "job", &(hf_acquire_opts)HF_ACQUIRE_OPTS_INIT, &jobs[i]);
    }
    await_all(alice, jobs, MANY);
    for (int i = 1; i < MANY; i++) {
        EXPECT(jobs[i].at_ms >= jobs[i - 1].at_ms);
    }
    EXPECT_IS(stats_of(alice).acquired, MANY);
    EXPECT_IS(stats_of(alice).waiting, 0);
}

TEST_WITHIN_IF(60, store_has_room(), many_names_are_acquired_at_once)
{
    AUTO_CLIENT *alice = open_store();
    static struct outcome jobs[MANY];
    static struct outcome done[MANY];
    char name[16];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "job%d", i);
        begin(alice, name, NULL, &jobs[i]);
    }
    await_all(alice, jobs, MANY);
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(jobs[i].status, HF_OK);
        EXPECT(hf_held(jobs[i].lock));
        begin_release(&jobs[i], &done[i]);
    }
    await_all(alice, done, MANY);
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(done[i].status, HF_OK);
        free_outcome(&jobs[i]);
    }
    EXPECT_LESS(stats_of(alice).batches, 2 * MANY); /* and not one by one */
}

/* ---- letting go */

TEST_IF(store_breaks_one(), an_asynchronous_release_answers_as_one_that_waits)
{
    HELD(job, alice, bob);
    AUTO_LOCK *lost = acquire(alice, "lost");
    struct outcome done[4] = {{0}};

    EXPECT_IS(hf_break(bob, "lost", 0, NULL), HF_OK);
    EXPECT_IS(hf_release_async(job, note_done, &done[0], NULL), HF_OK);
    EXPECT_IS(hf_release_async(job, note_done, &done[1], NULL), HF_OK);
    EXPECT_IS(hf_release_async(lost, note_done, &done[2], NULL), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    await_all(alice, done, 3);
    EXPECT_IS(done[0].status, HF_OK);
    EXPECT_IS(done[1].status, HF_OK);
    EXPECT_IS(done[2].status, HF_LOST);
    EXPECT_IS(hf_lost_reason(lost), HF_REASON_BROKEN);
    EXPECT_IS(hf_release_async(lost, note_done, &done[3], NULL), HF_OK);
    EXPECT_IS(await(alice, &done[3]), HF_LOST);
}

TEST(a_lock_may_be_freed_while_its_release_is_under_way)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:release:1:1s");
    AUTO_CLIENT *bob = open_store();
    hf_lock *job = acquire(alice, "job");
    struct outcome done = {0};

    EXPECT_IS(hf_release_async(job, note_done, &done, NULL), HF_OK);
    hf_free(job);
    EXPECT(!is_ready(alice, 0)); /* still under way */
    EXPECT_IS(await(alice, &done), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST(a_release_that_gets_no_answer_is_tried_again)
{
    AUTO_CLIENT *alice =
        open_faulty("fault=lose_reply:release:1,lose_request:release:2");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *next = acquire(alice, "next");
    struct outcome done[2] = {{0}};

    EXPECT_IS(hf_release_async(job, note_done, &done[0], NULL), HF_OK);
    EXPECT_IS(await(alice, &done[0]), HF_OK);
    EXPECT_IS(hf_release_async(next, note_done, &done[1], NULL), HF_OK);
    EXPECT_IS(await(alice, &done[1]), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_IS(try_once(bob, "next"), HF_OK);
}

TEST(a_release_that_hangs_is_given_up_in_time)
{
    AUTO_CLIENT *alice =
        open_faulty(io_timeout(500, "fault=delay:release:1-9:5s"));
    AUTO_LOCK *job = acquire(alice, "job");
    struct outcome done = {0};

    /* It would have succeeded after five seconds. */
    EXPECT_IS(hf_release_async(job, note_done, &done, NULL), HF_OK);
    EXPECT_IS(await(alice, &done), HF_EUNKNOWN);
}

/* ---- trouble */

TEST(an_acquire_whose_reply_is_lost_is_granted_once_and_told_once)
{
    AUTO_CLIENT *alice = open_faulty("fault=lose_reply:acquire:1");
    AUTO_OUTCOME job = {0};

    begin(alice, "job", NULL, &job);
    EXPECT_IS(await(alice, &job), HF_OK);
    expect_held(job.lock);
    EXPECT(!is_ready(alice, 50));
}

TEST(an_acquire_that_hangs_is_given_up_and_given_back)
{
    AUTO_CLIENT *alice =
        open_faulty(io_timeout(400, "fault=late_reply:acquire:1:3s"));
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    AUTO_OUTCOME job = {0};

    begin(alice, "job", &opts, &job);
    EXPECT(await(alice, &job) < 0); /* not what came after three seconds */
    (void)await_free(bob, "job", patience(10000));
}

/* ---- callbacks that use the library */

static struct outcome again;
static struct outcome nested;

static void use_all(struct outcome *o)
{
    AUTO_LOCK *other = acquire(o->client, "other");

    expect_held(o->lock);
    EXPECT_IS(hf_renew(o->lock, NULL), HF_OK);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
    begin(o->client, "again", NULL, &again);
    EXPECT_IS(await(o->client, &again), HF_OK); /* dispatches in dispatch */
    EXPECT_IS(hf_release_async(again.lock, note_done, &nested, NULL), HF_OK);
    free_outcome(&again);
    free_outcome(o);
}

TEST(a_callback_may_call_the_library_and_dispatch)
{
    CLIENTS(alice, bob);
    AUTO_OUTCOME job = {.then = use_all};

    begin(alice, "job", NULL, &job);
    EXPECT_IS(await(alice, &job), HF_OK);
    EXPECT_IS(await(alice, &nested), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_IS(try_once(bob, "again"), HF_OK);
}

struct crowd {
    hf_client *client;
    struct outcome *jobs;
    atomic_int told;
};

static void count_call(void *arg, int status, hf_lock *lock,
                       const hf_error *err)
{
    (void)err;
    EXPECT_IS(status, HF_OK);
    EXPECT_IS(hf_release_async(lock, NULL, NULL, NULL), HF_OK);
    hf_free(lock);
    EXPECT_LESS(atomic_fetch_add((atomic_int *)arg, 1), MANY);
}

static void dispatch_along(void *arg)
{
    struct crowd *c = arg;
    int64_t start = hf__test_now_ms();

    while (atomic_load(&c->told) < MANY) {
        EXPECT_LESS(since(start), patience(15000));
        (void)is_ready(c->client, 20);
        EXPECT(hf_dispatch(c->client, NULL) >= 0);
    }
}

TEST_WITHIN(60, several_threads_dispatch_each_callback_once)
{
    AUTO_CLIENT *alice = open_store();
    struct crowd c = {.client = alice};
    struct hf__test_thread *threads[3];
    char name[16];

    hf__test_start_all(threads, 3, dispatch_along, &c);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "job%d", i % 50);
        EXPECT_IS(
            hf_acquire_async(alice, name, NULL, count_call, &c.told, NULL),
            HF_OK);
    }
    hf__test_join_all(threads, 3);
    EXPECT_IS(atomic_load(&c.told), MANY);
}
