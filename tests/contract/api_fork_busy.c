/* SPDX-License-Identifier: MIT */
/*
 * A child that was forked while threads of its parent used a store finds
 * nothing of the library's locked.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool is_over;

static void use_until_over(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        AUTO_CLIENT *alice = open_store();
        AUTO_CLIENT *bob = open_faulty("fault=lose_reply:renew:9");

        for (int i = 0; i < 50; i++) {
            EXPECT(try_once(alice, "mine") >= 0);
            EXPECT(try_once(bob, "theirs") >= 0);
        }
    }
}

/* Which ends as said, or by the alarm if something was left locked. By another
 * program, since what its parent's threads knew of is a leak of it to memcheck,
 * though nobody's fault. */
static bool can_child_use_it(void)
{
    int status = -1;
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        alarm((unsigned)(patience(10000) / 1000));
        AUTO_CLIENT *own = open_store();
        AUTO_CLIENT *other = open_faulty("fault=lose_reply:renew:9");

        /* Whatever threads of the parent held in its copy of the memory. */
        EXPECT_IS(try_once(own, "mine"), HF_OK);
        EXPECT_IS(try_once(other, "theirs"), HF_OK);
        (void)execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    EXPECT_IS(waitpid(pid, &status, 0), pid);
    return status == 0;
}

/* A store in memory, which has no other home than its process. */
TEST_WITHIN_IF(100, !store_is_shared() && hf__test_may_fork_beside_threads(),
               a_child_of_busy_threads_may_open_a_store_in_memory)
{
    struct hf__test_thread *threads[4];
    int failed = 0;

    hf__test_start_all(threads, 4, use_until_over, NULL);
    for (int i = 0; i < 100; i++) {
        failed += !can_child_use_it();
    }
    atomic_store(&is_over, true);
    hf__test_join_all(threads, 4);
    EXPECT_IS(failed, 0);
}
