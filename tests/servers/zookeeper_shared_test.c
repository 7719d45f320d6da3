/* SPDX-License-Identifier: MIT */
/*
 * The server and the ensemble that all tests of a program share: each test
 * finds a node of its own, the same one in each of its processes and threads,
 * and what the test before left is gone, also what a client of it still has.
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSION_MS = 60000, PATH = 128 };

static void share_both(void)
{
    hf__zookeeper_share();
    hf__zookeeper_share_ensemble();
}

__attribute__((constructor)) static void register_servers(void)
{
    hf__test_prepare(share_both);
}

static void see_same(void *arg)
{
    const char *const *urls = arg;
    char own[HF__ZOOKEEPER_URL];

    hf__zookeeper_test_url(own, sizeof own);
    EXPECT_TEXT(own, urls[0]);
    hf__zookeeper_ensemble_test_url(own, sizeof own);
    EXPECT_TEXT(own, urls[1]);
    EXPECT_IS(hf__zookeeper_count(hf__zookeeper_shared(),
                                  hf__zookeeper_test_chroot()),
              1);
}

TEST_WITHIN(60, each_process_and_thread_of_a_test_has_the_same_node)
{
    char single[HF__ZOOKEEPER_URL];
    char several[HF__ZOOKEEPER_URL];
    char path[PATH];
    const char *urls[] = {single, several};
    struct hf__test_thread *threads[4];
    pid_t pid;

    hf__zookeeper_test_url(single, sizeof single);
    hf__zookeeper_ensemble_test_url(several, sizeof several);
    printf("%s %s\n", single, several);
    snprintf(path, sizeof path, "%s/k", hf__zookeeper_test_chroot());
    hf__zookeeper_put(hf__zookeeper_shared(), path, "");
    pid = fork();
    if (pid == 0) {
        see_same(urls);
        _exit(0);
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
    for (int i = 0; i < 4; i++) {
        threads[i] = hf__test_start(see_same, urls);
    }
    for (int i = 0; i < 4; i++) {
        hf__test_join(threads[i]);
    }
}

/* Processes that ask first all at once, as those of a crowd do. */
TEST_WITHIN(60, processes_that_begin_together_agree)
{
    pid_t pids[6];
    char path[PATH];

    hf__zookeeper_need();
    for (int i = 0; i < 6; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            snprintf(path, sizeof path, "%s/%d",
                     hf__zookeeper_ensemble_test_chroot(), i);
            hf__zookeeper_put(
                hf__zookeeper_member(hf__zookeeper_shared_ensemble(), i % 3),
                path, "");
            _exit(0);
        }
    }
    for (int i = 0; i < 6; i++) {
        EXPECT_IS(hf__test_exit_code(pids[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        EXPECT_TEXT(hf__zookeeper_list(hf__zookeeper_member(
                                           hf__zookeeper_shared_ensemble(), i),
                                       hf__zookeeper_ensemble_test_chroot()),
                    "0\n1\n2\n3\n4\n5");
    }
}

static void leave_something(const struct hf__zookeeper *s, const char *chroot)
{
    struct hf__zookeeper_client *c =
        hf__zookeeper_dial(hf__zookeeper_port(s), SESSION_MS);
    char path[PATH];

    EXPECT(c);
    EXPECT_TEXT(hf__zookeeper_list(s, chroot), "");
    EXPECT_IS(hf__zookeeper_count(s, "/tests"), 1);
    snprintf(path, sizeof path, "%s/a/b", chroot);
    hf__zookeeper_put(s, path, "");
    hf__zookeeper_set_acl(s, path, "digest:nobody:x:r");
    snprintf(path, sizeof path, "%s/a/e", chroot);
    EXPECT_IS(hf__zookeeper_create(c, path, "", HF__ZOOKEEPER_EPHEMERAL, NULL),
              0);
    EXPECT_IS(hf__zookeeper_count(s, chroot), 1);
    hf__zookeeper_drop(c);
}

/* Two of them, so that each sees what the other left. */
static void see_nothing_and_leave_something(void)
{
    const struct hf__zookeeper_ensemble *e = hf__zookeeper_shared_ensemble();

    leave_something(hf__zookeeper_shared(), hf__zookeeper_test_chroot());
    leave_something(hf__zookeeper_member(e, 1),
                    hf__zookeeper_ensemble_test_chroot());
}

TEST_WITHIN(60, a_test_begins_with_nothing)
{
    see_nothing_and_leave_something();
}

TEST_WITHIN(60, the_next_test_does_too)
{
    see_nothing_and_leave_something();
}
