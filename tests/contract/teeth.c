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

/* The exit code of the suite, of which it shows nothing. */
static int run_suite(const char *test, const char *scheme)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execl(hf__test_args[0], hf__test_args[0], "--filter", test, scheme,
              (char *)NULL);
        _exit(127);
    }
    EXPECT_IS(waitpid(pid, &status, 0), pid);
    EXPECT(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(the_suite_can_be_run_on_a_sound_store)
{
    EXPECT(hf__test_args[0] != NULL); /* usage: teeth SUITE */
    EXPECT_IS(run_suite("a_second_claim_is_busy", "memory"), 0);
}

TEST_WITHIN(120, every_mutant_is_caught)
{
    char scheme[80];
    int survivors = 0;

    EXPECT(hf__test_args[0] != NULL);
    for (int i = 0; mutant_at(i) != NULL; i++) {
        snprintf(scheme, sizeof scheme, "%s" MUTANT_SUFFIX, mutant_at(i));
        if (run_suite(mutant_test_at(i), scheme) != 1) {
            printf("%s survives %s\n", mutant_at(i), mutant_test_at(i));
            survivors++;
        }
    }
    EXPECT_IS(survivors, 0);
}
