/* SPDX-License-Identifier: MIT */
/*
 * The library's descriptors are not inherited by what the application runs,
 * whoever else opens some meanwhile and however many there are; and those of
 * the application are left as they are.
 */
#include "tests/store_zookeeper/link/side.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_inherited(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

static int count_inherited(void)
{
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");

    EXPECT(folder != NULL);
    for (struct dirent *it = readdir(folder); it != NULL;
         it = readdir(folder)) {
        long fd = strtol(it->d_name, NULL, 10);

        if (it->d_name[0] != '.' && is_inherited((int)fd)) {
            n++;
        }
    }
    closedir(folder);
    return n;
}

/* A socket is known once its connection is: on a thread of the library's. */
static void expect_inherited(int expected)
{
    UNTIL(count_inherited() == expected);
}

TEST(nothing_of_the_library_s_is_inherited_by_what_is_run)
{
    SIDE(s);
    int before = count_inherited();

    EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
    EXPECT_IS(count_inherited(), before);
}

static void meet_alone(void *arg)
{
    EXPECT_IS(meet(arg, hf__zookeeper_shared(), (uint64_t)(uintptr_t)arg),
              HF_OK);
}

TEST_WITHIN(60, nor_of_links_that_open_side_by_side)
{
    enum { N = 8 };
    static struct side sides[N];
    struct hf__test_thread *threads[N];
    int before = count_inherited();

    for (int i = 0; i < N; i++) {
        threads[i] = hf__test_start(meet_alone, &sides[i]);
    }
    hf__test_join_all(threads, N);
    expect_inherited(before);
    for (int i = 0; i < N; i++) {
        part(&sides[i]);
    }
}

static void come_and_go(void *arg)
{
    atomic_bool *is_over = arg;
    int fds[8];

    while (!atomic_load(is_over)) {
        for (int i = 0; i < 8; i++) {
            fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        }
        hf__test_pause_ms(1);
        for (int i = 0; i < 8; i++) {
            close(fds[i]);
        }
    }
}

/* Their numbers are the library's a moment later. */
TEST_WITHIN(60, nor_while_other_descriptors_come_and_go)
{
    static atomic_bool is_over;
    int before = count_inherited();
    struct hf__test_thread *thread = hf__test_start(come_and_go, &is_over);

    for (int i = 0; i < 40; i++) {
        SIDE(s);

        EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
        expect_inherited(before);
    }
    atomic_store(&is_over, true);
    hf__test_join(thread);
}

TEST_WITHIN(60, nor_above_thousands_of_other_descriptors)
{
    enum { OTHERS = 4200 };
    static int others[OTHERS];
    SIDE(s);
    int before = count_inherited();
    struct rlimit usual;

    EXPECT_IS(getrlimit(RLIMIT_NOFILE, &usual), 0);
    EXPECT(usual.rlim_max >= OTHERS + 200);
    struct rlimit many = {OTHERS + 200, usual.rlim_max};
    EXPECT_IS(setrlimit(RLIMIT_NOFILE, &many), 0);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        EXPECT(others[i] >= 0);
    }
    EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
    expect_inherited(before);
    for (int i = 0; i < OTHERS; i++) {
        close(others[i]);
    }
    part(&s);
    EXPECT_IS(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

TEST(what_the_application_opened_is_left_as_it_is)
{
    SIDE(s);
    int ends[2];

    EXPECT_IS(pipe2(ends, O_NONBLOCK), 0);
    int before = count_inherited();
    EXPECT_IS(meet(&s, hf__zookeeper_shared(), 1), HF_OK);
    EXPECT_IS(count_inherited(), before);
    EXPECT(is_inherited(ends[0]) && is_inherited(ends[1]));
    close(ends[0]);
    close(ends[1]);
}
