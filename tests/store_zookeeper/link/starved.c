/* SPDX-License-Identifier: MIT */
/*
 * Where the system gives no more threads, or no room for their stacks, the
 * library would end the process: it is asked for a session only when it can
 * have its two. Each try is a process of its own, with a limit.
 */
#include "tests/store_zookeeper/link/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* A user who has no other process. */
#define STRANGER ((uid_t)58317)
#define MB       ((rlim_t)1024 * 1024)

/* How a child ends. */
enum { MADE, REFUSED, OTHERWISE, UNABLE };

/* Threads and room of their own have those who look on. */
static bool is_watched(void)
{
    return getenv("HOLDFAST_TEST_SLOW") != NULL;
}

static _Noreturn void end_with_a_session(const struct hf__zookeeper *server)
{
    struct side s = {0};
    int r = meet(&s, server, 1);

    if (r == HF_ENOMEM) {
        EXPECT_HAS(s.error.text, "the system gives no two threads more");
    }
    part(&s);
    _exit(r == HF_OK ? MADE : r == HF_ENOMEM ? REFUSED : OTHERWISE);
}

static int meet_with_threads(rlim_t n)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    struct rlimit limit = {n + 1, n + 1};
    pid_t child = fork();

    if (child == 0) {
        /* Root is bound by no such limit. */
        if (setresuid(STRANGER, STRANGER, STRANGER) != 0 ||
            setrlimit(RLIMIT_NPROC, &limit) != 0) {
            _exit(UNABLE);
        }
        end_with_a_session(server);
    }
    return hf__test_exit_code(child);
}

TEST_IF(!is_watched(), where_no_thread_can_be_had_there_is_no_session)
{
    int with_none = meet_with_threads(0);

    if (with_none == UNABLE) {
        SKIP("needs root, to become another");
    }
    EXPECT_IS(with_none, REFUSED);
    EXPECT_IS(meet_with_threads(1), REFUSED);
    EXPECT_IS(meet_with_threads(2), MADE);
}

static rlim_t room_in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    EXPECT(file != NULL);
    EXPECT_IS(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int meet_with_room(rlim_t room)
{
    const struct hf__zookeeper *server = hf__zookeeper_shared();
    pid_t child = fork();

    if (child == 0) {
        rlim_t all = room_in_use() + room;

        EXPECT_IS(setrlimit(RLIMIT_AS, &(struct rlimit){all, all}), 0);
        end_with_a_session(server);
    }
    return hf__test_exit_code(child);
}

TEST_WITHIN_IF(60, !is_watched(), where_stacks_have_no_room_there_is_no_session)
{
    EXPECT_IS(meet_with_room(0), REFUSED);
    for (rlim_t room = MB; meet_with_room(room) != MADE; room += MB) {
        EXPECT_LESS(room, 1024 * MB);
    }
}
