/* SPDX-License-Identifier: MIT */
/*
 * The harness lets a good test pass: what EXPECT_ accepts, what a test may
 * do to its surroundings without failing. What must fail is in
 * tests/unit/harness_must_fail.c.
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(numbers_compare_as_64_bit_signed)
{
    EXPECT_IS(3, 3);
    EXPECT_IS(INT64_MIN, INT64_MIN);
    EXPECT_NOT(INT64_C(1) << 32, 0);
    EXPECT_MORE(0, -1);
    EXPECT_MORE(INT64_MAX, INT64_MAX - 1);
    EXPECT_LESS(-1, 0);
    EXPECT_LESS(INT64_MIN, INT64_MAX);
}

TEST(texts_compare_by_content)
{
    char copy[] = "holdfast";

    EXPECT_TEXT(copy, "holdfast");
    EXPECT_TEXT("", "");
    EXPECT_HAS(copy, "fast");
    EXPECT_HAS(copy, "");
}

TEST(the_folder_is_one_and_private)
{
    const char *folder = hf__test_folder();
    struct stat st;

    EXPECT_IS(stat(folder, &st), 0);
    EXPECT(S_ISDIR(st.st_mode));
    EXPECT_IS(st.st_mode & 0777, 0700);
    EXPECT_IS(st.st_uid, geteuid());
    EXPECT_TEXT(hf__test_folder(), folder);
}

/* The next test looks for what these two leave. */
static void record_folder(const char *key)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "/tmp/holdfast-harness-%d-%s", (int)getppid(),
             key);
    f = fopen(path, "w");
    EXPECT(f);
    EXPECT_MORE(fprintf(f, "%s", hf__test_folder()), 0);
    EXPECT_IS(fclose(f), 0);
}

static void expect_folder_gone(const char *key)
{
    char path[256];
    char folder[512] = "";
    FILE *f;

    snprintf(path, sizeof path, "/tmp/holdfast-harness-%d-%s", (int)getppid(),
             key);
    f = fopen(path, "r");
    if (!f) {
        SKIP("needs the test before it");
    }
    EXPECT(fgets(folder, sizeof folder, f));
    EXPECT_IS(fclose(f), 0);
    EXPECT_IS(unlink(path), 0);
    EXPECT_IS(access(folder, F_OK), -1);
    EXPECT_IS(errno, ENOENT);
}

TEST(a_folder_may_be_left_full_and_read_only)
{
    int fd;

    record_folder("full");
    EXPECT_IS(chdir(hf__test_folder()), 0);
    EXPECT_IS(mkdir("deep", 0700), 0);
    fd = open("deep/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0400);
    EXPECT_IS(close(fd), 0);
    EXPECT_IS(symlink("/", "deep/link"), 0);
    EXPECT_IS(chmod("deep", 0500), 0);
}

CASE(that_folder_is_gone, expect_folder_gone("full"));

MUST_FAIL(a_crash_with_a_folder_fails)
{
    record_folder("crash");
    abort();
}

CASE(the_folder_of_the_crash_is_gone, expect_folder_gone("crash"));

TEST(output_does_not_disturb_the_runner)
{
    puts("not ok 1 - this is a comment");
    fputs("Bail out! So is this.", stderr);
}

CASE(standard_input_is_empty, EXPECT_IS(getchar(), EOF));

TEST(sigpipe_has_its_default_and_nothing_is_blocked)
{
    sigset_t blocked;
    struct sigaction action;

    EXPECT_IS(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);
    EXPECT_IS(sigismember(&blocked, SIGTERM), 0);
    EXPECT_IS(sigismember(&blocked, SIGCHLD), 0);
    EXPECT_IS(sigaction(SIGPIPE, NULL, &action), 0);
    EXPECT(action.sa_handler == SIG_DFL);
}

CASE(each_test_has_a_process_group, EXPECT_IS(getpgrp(), getpid()));

TEST(a_child_may_take_a_moment_to_end)
{
    if (fork() == 0) {
        hf__test_pause_ms(50);
        _exit(0);
    }
}

TEST_WITHIN_IF(30, hf__test_seed() > 0, what_applies_is_run)
{
    EXPECT(getppid() > 1);
}

TEST_WITHIN(30, a_limit_can_be_named)
{
    EXPECT_NOT(hf__test_seed(), 0);
    EXPECT(hf__test_args);
}
