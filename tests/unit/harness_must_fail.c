/* SPDX-License-Identifier: MIT */
/*
 * The harness is proved by tests that must fail: each EXPECT_ that does not
 * hold, and every way in which a test can end, or leave something behind,
 * that must not pass for success.
 */
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t runner;

__attribute__((constructor)) static void note_runner(void)
{
    runner = getpid();
}

/* The runner asks; what it says of it is seen by tests/unit/marks.py. */
CASE_IF(getpid() != runner, what_does_not_apply_is_not_run, EXPECT(false));
MUST_FAIL_CASE(expect_of_false_fails, EXPECT(false));
MUST_FAIL_CASE(is_of_unequal_fails, EXPECT_IS(1, 2));
MUST_FAIL_CASE(is_sees_the_upper_32_bits, EXPECT_IS(INT64_C(1) << 32, 0));
MUST_FAIL_CASE(not_of_equal_fails, EXPECT_NOT(5, 5));
MUST_FAIL_CASE(more_of_equal_fails, EXPECT_MORE(5, 5));
MUST_FAIL_CASE(more_of_less_fails, EXPECT_MORE(-1, 0));
MUST_FAIL_CASE(less_of_equal_fails, EXPECT_LESS(5, 5));
MUST_FAIL_CASE(less_of_more_fails, EXPECT_LESS(0, -1));

/* How often the test that is late was run: each time in another process. */
static atomic_int *runs;

__attribute__((constructor)) static void share_runs(void)
{
    void *page = mmap(NULL, sizeof *runs, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    runs = page == MAP_FAILED ? NULL : page;
}

MUST_FAIL(what_is_late_three_times_fails)
{
    atomic_fetch_add(runs, 1);
    EXPECT_SOON(0, 0);
}

TEST(and_was_run_three_times)
{
    EXPECT_IS(atomic_load(runs), 3);
    atomic_store(runs, 0);
}

CASE(what_is_late_twice_may_pass,
     EXPECT_SOON(1 - atomic_fetch_add(runs, 1), 0));
MUST_FAIL_CASE(another_failure_is_not_run_again,
               EXPECT_IS(atomic_fetch_add(runs, 1), 0));
CASE(and_was_not, EXPECT_IS(atomic_load(runs), 4));

static void end_child(void (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        fn();
        _exit(0);
    }
    EXPECT_IS(waitpid(pid, NULL, 0), pid);
}

static void expect_no_delay(void)
{
    EXPECT_SOON(0, 0);
}

MUST_FAIL(what_is_late_and_then_unsafe_is_not_run_again)
{
    atomic_fetch_add(runs, 1);
    end_child(expect_no_delay);
    EXPECT_SAFE(false);
}

CASE(and_was_run_once, EXPECT_IS(atomic_load(runs), 5));
MUST_FAIL_CASE(safe_of_false_fails, EXPECT_SAFE(false));
MUST_FAIL_CASE(safe_is_of_unequal_fails, EXPECT_SAFE_IS(1, 2));
MUST_FAIL_CASE(safe_more_of_equal_fails, EXPECT_SAFE_MORE(5, 5));

static void expect_what_is_not(void)
{
    EXPECT(false);
}

MUST_FAIL(what_is_unsafe_after_an_ordinary_failure_fails)
{
    end_child(expect_what_is_not);
    EXPECT_SAFE_MORE(5, 5);
}

MUST_FAIL(a_sanitizer_that_ends_it_after_a_failure_fails)
{
    end_child(expect_what_is_not);
    _exit(66);
}

static void crash(void)
{
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit */
    raise(SIGSEGV);
}

MUST_FAIL(a_child_that_crashed_fails)
{
    pid_t pid = fork();

    if (pid == 0) {
        crash();
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
}

/* Nobody waits for it: the parent sees something else that is wrong. */
MUST_FAIL(a_failure_beside_a_child_that_aborted_fails)
{
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0) {
        abort();
    }
    EXPECT_IS(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    EXPECT(false);
}

static void orphan_one_that_crashes(void)
{
    if (fork() == 0) {
        hf__test_pause_ms(100);
        crash();
    }
}

MUST_FAIL(a_failure_before_an_orphan_crashes_fails)
{
    end_child(orphan_one_that_crashes);
    EXPECT(false);
}

MUST_FAIL(a_failure_in_a_child_and_then_a_hang_fails)
{
    end_child(expect_what_is_not);
    for (;;) {
        pause();
    }
}

MUST_FAIL(what_is_late_and_then_hangs_is_not_run_again)
{
    atomic_fetch_add(runs, 1);
    end_child(expect_no_delay);
    for (;;) {
        pause();
    }
}

CASE(and_was_run_just_once, EXPECT_IS(atomic_load(runs), 6));
MUST_FAIL_CASE(text_of_another_text_fails, EXPECT_TEXT("hold", "holdfast"));
MUST_FAIL_CASE(text_of_null_fails, EXPECT_TEXT(NULL, ""));
MUST_FAIL_CASE(has_without_the_needle_fails, EXPECT_HAS("hold", "fast"));
MUST_FAIL_CASE(has_of_null_fails, EXPECT_HAS(NULL, ""));
MUST_FAIL_CASE(an_abort_fails, abort());
MUST_FAIL_CASE(a_segmentation_fault_fails, raise(SIGSEGV));
MUST_FAIL_CASE(being_killed_fails, raise(SIGKILL));

MUST_FAIL(a_hang_fails)
{
    for (;;) {
        pause();
    }
}

MUST_FAIL_CASE(a_stopped_test_fails, raise(SIGSTOP));

MUST_FAIL(a_hang_that_ignores_signals_fails)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;) {
        hf__test_pause_ms(10);
    }
}

MUST_FAIL_CASE(exit_0_in_the_middle_fails, exit(0));
MUST_FAIL_CASE(underscore_exit_0_in_the_middle_fails, _exit(0));

static void exit_1(void)
{
    _exit(1);
}

MUST_FAIL_CASE(a_failure_after_the_last_line_fails,
               EXPECT_IS(atexit(exit_1), 0));

MUST_FAIL(a_descriptor_left_open_fails)
{
    EXPECT_MORE(open("/dev/null", O_RDONLY | O_CLOEXEC), 2);
}

MUST_FAIL(a_pipe_left_open_fails)
{
    int ends[2];

    EXPECT_IS(pipe(ends), 0);
    EXPECT_IS(close(ends[0]), 0);
}

MUST_FAIL(a_child_left_running_fails)
{
    if (fork() == 0) {
        for (;;) {
            pause();
        }
    }
}

MUST_FAIL(a_child_left_in_another_session_fails)
{
    if (fork() == 0) {
        setsid();
        for (;;) {
            pause();
        }
    }
}

MUST_FAIL(a_double_forked_daemon_left_fails)
{
    pid_t pid = fork();

    if (pid == 0) {
        setsid();
        if (fork() == 0) {
            hf__test_pause_ms(60000);
        }
        _exit(0);
    }
    EXPECT_IS(waitpid(pid, NULL, 0), pid);
}

MUST_FAIL(a_failure_in_a_forked_child_fails)
{
    pid_t pid = fork();

    if (pid == 0) {
        EXPECT(false);
    }
    EXPECT_IS(waitpid(pid, NULL, 0), pid);
}

MUST_FAIL(a_forked_child_that_returns_fails)
{
    pid_t pid = fork();

    if (pid > 0) {
        EXPECT_IS(waitpid(pid, NULL, 0), pid);
    }
}

static void expect_false(void *unused)
{
    (void)unused;
    EXPECT(false);
}

MUST_FAIL_CASE(a_failure_in_a_thread_fails,
               hf__test_join(hf__test_start(expect_false, NULL)));
