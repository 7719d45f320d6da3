/* SPDX-License-Identifier: MIT */
/*
 * Which descriptors a test leaves open, of those that were not there when it
 * began. Called in the test's process.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <unistd.h>

enum { MAX_FD = 4096 };

static bool is_known[MAX_FD];

void hf__test_keep_fd(int fd)
{
    if (fd < MAX_FD) {
        is_known[fd] = true;
    }
}

static void note_fd(int fd, void *unused)
{
    (void)unused;
    hf__test_keep_fd(fd);
}

static void check_fd(int fd, void *unused)
{
    char link[64];
    char target[256] = "";

    (void)unused;
    if (fd >= MAX_FD || is_known[fd]) {
        return;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, target, sizeof target - 1) >= 0) {
        hf__test_conclude(HF__TEST_FAILED, "leaves descriptor %d open: %s", fd,
                          target);
    }
}

void hf__test_note_fds(void)
{
    hf__test_each_number("/proc/self/fd", note_fd, NULL);
}

void hf__test_check_fds(void)
{
    hf__test_each_number("/proc/self/fd", check_fd, NULL);
}
