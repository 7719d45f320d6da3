/* SPDX-License-Identifier: MIT */
/*
 * What the library does to its process: after a fork the locks are the
 * parent's alone, nothing is inherited by another program, and neither
 * descriptors, threads nor signals are left changed.
 */
#include "tests/contract/peer.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hf_client *client_before;
static hf_lock *lock_before;

static int ignore_item(void *arg, const hf_check_item *item)
{
    (void)arg;
    (void)item;
    return 0;
}

static void expect_foreign_lock(void)
{
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_held(lock_before), 0);
    EXPECT_IS(hf_remaining_ms(lock_before), 0);
    EXPECT_IS(hf_renew(lock_before, &err), HF_EFORK);
    EXPECT_IS(hf_release(lock_before, &err), HF_EFORK);
    EXPECT_IS(hf_wait_lost(lock_before, 100), HF_EFORK);
    EXPECT_IS(err.status, HF_EFORK);
    EXPECT_NOT(err.text[0], 0);
}

static void expect_foreign_client(void)
{
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_info *info = NULL;
    hf_lock *lock = NULL;

    EXPECT_IS(hf_acquire(client_before, "x", NULL, &lock, NULL), HF_EFORK);
    EXPECT_IS(hf_inspect(client_before, "x", &info, NULL), HF_EFORK);
    EXPECT_IS(hf_break(client_before, "job", 0, NULL), HF_EFORK);
    EXPECT_IS(hf_ping(client_before, NULL), HF_EFORK);
    EXPECT_IS(hf_caps(client_before, &caps), HF_EFORK);
    EXPECT_IS(hf_check(client_before, ignore_item, NULL, NULL), HF_EFORK);
    EXPECT(!lock && !info);
}

static void in_child(void (*fn)(void))
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        fn();
        _exit(0);
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
}

static void expect_foreign(void)
{
    expect_foreign_lock();
    expect_foreign_client();
}

static void take_job(void)
{
    client_before = open_store();
    lock_before = acquire(client_before, "job");
}

static void free_all(void)
{
    hf_free(lock_before);
    hf_close(client_before);
}

TEST(a_child_has_none_of_its_parents_locks)
{
    take_job();
    in_child(expect_foreign);
    expect_held(lock_before);
    EXPECT_IS(hf_renew(lock_before, NULL), HF_OK);
    EXPECT_IS(hf_release(lock_before, NULL), HF_OK);
    free_all();
}

static void do_nothing(void)
{
}

TEST(a_child_that_frees_everything_disturbs_nobody)
{
    AUTO_CLIENT *bob = open_store();
    int64_t lease_ms = patience(1200);

    client_before = open_store();
    lock_before = acquire_leased(client_before, "job", lease_ms);
    in_child(free_all);
    in_child(do_nothing);
    EXPECT_IS(hf_wait_lost(lock_before, 2 * lease_ms), HF_TIMEDOUT);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(try_once(client_before, "other"), HF_OK);
    EXPECT_IS(hf_release(lock_before, NULL), HF_OK);
    free_all();
}

/* In memory it is a store of its own, which has no lock of the parent's. */
static void exclude_each_other(void)
{
    AUTO_CLIENT *own = open_store();

    EXPECT_IS(try_once(own, "job"), store_is_shared() ? HF_BUSY : HF_OK);
    EXPECT_IS(try_once(own, "other"), HF_OK);
}

static void let_the_heap_rest(void)
{
    if (hf__test_has_asan() && store_breaks_one()) {
        await_listening(client_before);
    } else if (hf__test_has_asan()) {
        await_rest(getpid());
    }
}

TEST_IF(!hf__test_has_tsan(), a_child_may_open_the_store_for_itself)
{
    take_job();
    let_the_heap_rest();
    in_child(exclude_each_other);
    expect_held(lock_before);
    free_all();
}

TEST(a_child_forked_twice_is_no_nearer)
{
    pid_t pid;

    take_job();
    pid = fork();
    if (pid == 0) {
        in_child(expect_foreign);
        expect_foreign();
        _exit(0);
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
    expect_held(lock_before);
    free_all();
}

/* The holder dies, a child of it lives on: its lock must not. */
static void expect_free_without(pid_t (*make_orphan)(struct peer *))
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    int64_t died;
    pid_t orphan;

    EXPECT_IS(peer_acquire(bob, "job", 0, 30000), HF_OK);
    orphan = make_orphan(bob);
    died = hf__test_now_ms();
    kill_peer(bob);
    await_free(alice, "job", patience(10000));
    EXPECT_SOON(since(died), patience(2000));
    EXPECT_IS(kill(orphan, SIGKILL), 0);
}

CASE_IF(store_is_shared() && store_can(HF_CAP_DEATH),
        another_program_does_not_keep_the_lock_of_its_dead_parent,
        expect_free_without(peer_spawns_program));
CASE_IF(store_is_shared() && store_can(HF_CAP_DEATH),
        a_copy_does_not_keep_the_lock_of_its_dead_parent,
        expect_free_without(peer_forks));

enum { FDS = 256 };

/* What an exec would close is not open for a program that is started now. */
static void note_inherited(bool is_inherited[FDS])
{
    for (int fd = 0; fd < FDS; fd++) {
        int flags = fcntl(fd, F_GETFD);

        is_inherited[fd] = flags >= 0 && !(flags & FD_CLOEXEC);
    }
}

TEST(no_descriptor_is_inherited_by_another_program)
{
    bool before[FDS];
    bool now[FDS];
    int fds[8];

    note_inherited(before);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    EXPECT_IS(attempt(bob, "job", 150), HF_TIMEDOUT);
    note_inherited(now);
    EXPECT_IS(memcmp(before, now, sizeof now), 0);
    EXPECT(hf_lock_fds(job, fds, 8) >= 0);
}

static void use_once(void)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));

    EXPECT_IS(attempt(bob, "job", 150), HF_TIMEDOUT);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_IS(hf_ping(bob, NULL), HF_OK);
}

static void nothing(void *arg)
{
    (void)arg;
}

TEST(descriptors_and_threads_come_back_to_where_they_were)
{
    int threads;
    int fds;

    /* The first of everything may bring what belongs to the process. */
    hf__test_join(hf__test_start(nothing, NULL));
    use_once();
    threads = threads_after_ending(1);
    fds = count_fds();
    for (int i = 0; i < 5; i++) {
        use_once();
        EXPECT_IS(threads_after_ending(threads), threads);
        EXPECT_IS(count_fds(), fds);
    }
}

TEST(a_client_that_closes_under_a_lost_lock_leaves_no_thread)
{
    hf_client *alice;
    int threads;

    hf__test_join(hf__test_start(nothing, NULL));
    threads = threads_after_ending(1);
    alice = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    hf_close(alice);
    EXPECT_IS(threads_after_ending(threads), threads);
    expect_lost(job, HF_REASON_SESSION);
}

static void note_handlers(void (*handlers[NSIG])(int))
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        bool has_one = sigaction(number, NULL, &action) == 0;

        handlers[number] = has_one ? action.sa_handler : NULL;
    }
}

TEST(signals_are_left_as_they_were)
{
    static void (*handlers_before[NSIG])(int);
    static void (*handlers_after[NSIG])(int);
    sigset_t before;
    sigset_t after;

    note_handlers(handlers_before);
    EXPECT_IS(sigprocmask(SIG_BLOCK, NULL, &before), 0);
    use_once();
    EXPECT_IS(sigprocmask(SIG_BLOCK, NULL, &after), 0);
    note_handlers(handlers_after);
    for (int number = 1; number < NSIG; number++) {
        EXPECT_IS(sigismember(&before, number), sigismember(&after, number));
        EXPECT(handlers_before[number] == handlers_after[number]);
    }
}

TEST(the_librarys_threads_take_no_signals)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(3000));
    sigset_t usr1;
    sigset_t pending;

    /* Blocked here, it stays pending unless another thread takes it, which
     * would end the process. */
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    EXPECT_IS(sigprocmask(SIG_BLOCK, &usr1, NULL), 0);
    hf__test_pause_ms(100);
    EXPECT_IS(kill(getpid(), SIGUSR1), 0);
    hf__test_pause_ms(20);
    EXPECT_IS(sigpending(&pending), 0);
    EXPECT_IS(sigismember(&pending, SIGUSR1), 1);
    EXPECT_IS(hf_held(job), 1);
}
