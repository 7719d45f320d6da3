/* SPDX-License-Identifier: MIT */
/*
 * Every store: who asked to be told of a loss is told once, in hf_dispatch(),
 * and not after the lock was let go; and what a fork leaves of a loop.
 */
#include "tests/contract/loop.h"

#include <stdatomic.h>
#include <unistd.h>

static void ask(hf_lock *lock, struct outcome *o)
{
    EXPECT_IS(hf_on_lost(lock, note_loss, o), HF_OK);
}

TEST(a_break_is_told_in_dispatch_once)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    struct outcome loss = {0};

    ask(job, &loss);
    EXPECT(!is_ready(alice, 20));
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT(is_ready(alice, patience(2000)));
    EXPECT_IS(loss.calls, 0);
    (void)await(alice, &loss);
    EXPECT_IS(loss.reason, HF_REASON_BROKEN);
    loop_for(alice, 50);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
}

TEST(the_end_of_a_lease_is_told)
{
    AUTO_CLIENT *alice = open_store();
    int64_t lease_ms = patience(300);
    AUTO_LOCK *job = acquire_fixed(alice, "job", lease_ms);
    struct outcome loss = {0};

    ask(job, &loss);
    (void)await(alice, &loss);
    EXPECT_IS(loss.reason, HF_REASON_EXPIRED);
}

TEST(a_loss_before_the_question_is_told_too)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_fixed(alice, "job", patience(200));
    struct outcome loss = {0};

    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    hf__test_pause_ms(50);
    ask(job, &loss);
    EXPECT_IS(loss.calls, 0);
    (void)await(alice, &loss);
    EXPECT_IS(loss.reason, HF_REASON_EXPIRED);
    EXPECT(!is_ready(alice, 20));
}

TEST(a_released_lock_is_never_told_to_be_lost)
{
    CLIENTS(alice, bob);
    hf_lock *job = acquire_leased(alice, "job", patience(1500));
    AUTO_LOCK *other = acquire(alice, "other");
    AUTO_LOCK *third = acquire(alice, "third");
    struct outcome loss = {0};

    ask(job, &loss);
    ask(other, &loss);
    ask(third, &loss);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
    EXPECT_IS(hf_release_async(third, NULL, NULL, NULL), HF_OK);
    EXPECT_IS(hf_on_lost(other, note_loss, &loss), HF_EINVAL);
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT(is_ready(alice, patience(2000))); /* it is about to be told */
    hf_free(job);
    EXPECT(!is_ready(alice, 0));
    EXPECT_IS(dispatch(alice), 0);
    EXPECT_IS(loss.calls, 0);
}

TEST_IF(store_breaks_one(),
        a_later_question_replaces_the_first_and_null_takes_it_back)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    AUTO_LOCK *other = acquire_leased(alice, "other", patience(1500));
    struct outcome first = {0};
    struct outcome second = {0};

    ask(job, &first);
    ask(job, &second);
    ask(other, &first);
    EXPECT_IS(hf_on_lost(other, NULL, NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "other", 0, NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    (void)await(alice, &second);
    loop_for(alice, patience(600));
    EXPECT_IS(first.calls, 0);
}

TEST(closing_tells_that_held_locks_are_lost)
{
    hf_client *alice = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    struct outcome loss = {0};

    ask(job, &loss);
    close_loop(alice);
    EXPECT_IS(loss.calls, 1);
    EXPECT_IS(loss.reason, HF_REASON_SESSION);
}

static hf_lock *freed_in_callback;

static void free_it(struct outcome *o)
{
    (void)o;
    hf_free(freed_in_callback);
}

TEST(a_lost_lock_may_be_freed_in_its_callback)
{
    AUTO_CLIENT *alice = open_store();
    struct outcome loss = {.then = free_it};

    freed_in_callback = acquire_fixed(alice, "job", patience(200));
    ask(freed_in_callback, &loss);
    (void)await(alice, &loss);
    EXPECT(!is_ready(alice, 20));
}

static atomic_int slow_state;

static void be_slow(void *arg, hf_lock *lock, hf_reason reason)
{
    (void)arg;
    (void)lock;
    (void)reason;
    atomic_store(&slow_state, 1);
    hf__test_pause_ms(200);
    atomic_store(&slow_state, 2);
}

static void dispatch_one(void *arg)
{
    while (atomic_load(&slow_state) == 0) {
        (void)is_ready(arg, 50);
        EXPECT(hf_dispatch(arg, NULL) >= 0);
    }
}

TEST(letting_go_waits_for_a_callback_on_another_thread)
{
    AUTO_CLIENT *alice = open_store();
    hf_lock *job = acquire_fixed(alice, "job", patience(200));
    struct hf__test_thread *t;

    EXPECT_IS(hf_on_lost(job, be_slow, NULL), HF_OK);
    t = hf__test_start(dispatch_one, alice);
    UNTIL(atomic_load(&slow_state) != 0);
    hf_free(job);
    EXPECT_IS(atomic_load(&slow_state), 2);
    hf__test_join(t);
}

/* Each hold of a re-entrant grant has its own. */
TEST(each_hold_of_a_grant_hears_of_its_loss)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, patience(1500));
    struct outcome losses[3] = {{0}};

    opts.reentrant = 1;
    AUTO_LOCK *first = must_acquire(alice, "job", &opts);
    AUTO_LOCK *second = must_acquire(alice, "job", &opts);
    AUTO_LOCK *third = must_acquire(alice, "job", &opts);
    ask(first, &losses[0]);
    ask(second, &losses[1]);
    ask(third, &losses[2]);
    EXPECT_IS(hf_release(third, NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    await_all(alice, losses, 2);
    loop_for(alice, 50);
    EXPECT_IS(losses[2].calls, 0);
}

/* ---- fork */

static void expect_nothing_of_the_parents(hf_client *client, hf_lock *lock)
{
    struct outcome o = {0};
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_acquire_async(client, "x", NULL, note_acquire, &o, &err),
              HF_EFORK);
    EXPECT_IS(hf_release_async(lock, note_done, &o, &err), HF_EFORK);
    EXPECT_IS(hf_on_lost(lock, note_loss, &o), HF_EFORK);
    EXPECT_IS(hf_fd(client), HF_EFORK);
    EXPECT_IS(hf_dispatch(client, &err), HF_EFORK);
    hf_close(client);
}

TEST(a_child_leaves_its_parents_loop_alone)
{
    HELD(job, alice);
    AUTO_OUTCOME waits = {0};
    AUTO_OUTCOME ready = {0};
    int fd = hf_fd(alice);
    pid_t pid;

    begin(alice, "job", NULL, &waits);
    begin(alice, "free", NULL, &ready);
    EXPECT(is_ready(alice, patience(5000)));
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        uint64_t count = 0;

        EXPECT(read(fd, &count, sizeof count) < 0); /* it is closed here */
        expect_nothing_of_the_parents(alice, job);
        /* What the parent has is no leak of the child's, for memcheck. */
        (void)execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
    EXPECT(is_ready(alice, 0));
    EXPECT_IS(await(alice, &ready), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(await(alice, &waits), HF_OK);
}
