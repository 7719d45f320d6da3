/* SPDX-License-Identifier: MIT */
/*
 * Has the contract suite teeth? Runs it, as a child, on each mutant, and
 * expects the test that was made for that mutant to fail. The program's
 * argument is the path of the suite.
 */
#include "tests/contract/mutants.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 4, MUTANTS_MAX = 100 };

static pid_t start_suite(const char *test, const char *scheme)
{
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execl(hf__test_args[0], hf__test_args[0], "--filter", test, scheme,
              (char *)NULL);
        _exit(127);
    }
    EXPECT_MORE(pid, 0);
    return pid;
}

/* Waits for one of them, whose place it gives, and its exit code. */
static int finish_suite(const pid_t *pids, int n, int *ret_code)
{
    int status = 0;
    pid_t pid = waitpid(-1, &status, 0);
    int i = 0;

    EXPECT_MORE(pid, 0);
    while (i < n && pids[i] != pid) {
        i++;
    }
    EXPECT_LESS(i, n);
    EXPECT_SAFE(WIFEXITED(status));
    *ret_code = WEXITSTATUS(status);
    return i;
}

TEST(the_suite_can_be_run_on_a_sound_store)
{
    EXPECT(hf__test_args[0] != NULL); /* usage: teeth SUITE */
    pid_t pid = start_suite("a_second_claim_is_busy", "memory");
    int code = -1;

    EXPECT_IS(finish_suite(&pid, 1, &code), 0);
    EXPECT_IS(code, 0);
    pid = start_suite("a_session_that_is_cut", "memory:session");
    EXPECT_IS(finish_suite(&pid, 1, &code), 0);
    EXPECT_IS(code, 0);
}

static pid_t start_mutant(int i)
{
    char scheme[80];

    snprintf(scheme, sizeof scheme, "%s" MUTANT_SUFFIX "%s", mutant_at(i),
             mutant_kind_at(i));
    return start_suite(mutant_test_at(i), scheme);
}

/* Each test waits for what does not come: some wait side by side. */
TEST_WITHIN(120, every_mutant_is_caught)
{
    pid_t pids[MUTANTS_MAX];
    int survivors = 0;
    int started = 0;

    EXPECT(hf__test_args[0] != NULL);
    for (int ended = 0; ended < started || mutant_at(started); ended++) {
        int code = -1;
        int i;

        while (mutant_at(started) && started < ended + AT_ONCE) {
            EXPECT_LESS(started, MUTANTS_MAX);
            pids[started] = start_mutant(started);
            started++;
        }
        i = finish_suite(pids, started, &code);
        pids[i] = -1;
        if (code != 1) {
            printf("%s survives %s\n", mutant_at(i), mutant_test_at(i));
            survivors++;
        }
    }
    EXPECT_IS(survivors, 0);
}
