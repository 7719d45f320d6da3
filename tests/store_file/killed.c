/* SPDX-License-Identifier: MIT */
/*
 * Processes that are killed at any moment of what they do: whatever they
 * leave is a whole record, a free lock, and no more than a file aside.
 */
#include "tests/store_file/files.h"

#include "src/base/rand.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void work(struct stage *stage, int index)
{
    PEER(me);
    char name[16];

    for (int i = 0;; i++) {
        (void)snprintf(name, sizeof name, "n%d", i % 3);
        if (acquire_within(&me, name, 1000) == HF_OK) {
            (void)renew(&me, name, 60000);
            (void)raise_to(&me, name, me.fence + 3);
            (void)release(&me, name);
        }
        begin_anew(&me);
        atomic_fetch_add(&stage->count[index], 1);
        if (i % 8 == 0) {
            char path[700];

            /* So that files are made anew, too. */
            (void)snprintf(path, sizeof path, "%s/test:n%d", path_of(""),
                           i / 8 % 3);
            (void)unlink(path);
        }
    }
}

TEST_WITHIN(60, a_writer_killed_at_any_moment_leaves_a_whole_record)
{
    struct stage *stage = stage_new();
    uint64_t fences[3] = {0, 0, 0};
    PEER(me);

    for (int i = 0; i < 150; i++) {
        pid_t pid = start(work, stage, 0);
        long long before = atomic_load(&stage->count[0]);

        UNTIL(atomic_load(&stage->count[0]) != before);
        for (int64_t end = now_us() + hf__random_between(0, 3000);
             now_us() < end;) {
            (void)sched_yield();
        }
        kill_now(pid);
        for (int k = 0; k < 3; k++) {
            char name[16];

            (void)snprintf(name, sizeof name, "n%d", k);
            EXPECT_IS(acquire(&me, name, 60000), HF_OK);
            EXPECT_SAFE_MORE(me.fence, fences[k]);
            fences[k] = me.fence;
            EXPECT_IS(release(&me, name), HF_OK);
        }
        begin_anew(&me);
    }
    printf("%lld rounds in 150 lives\n", atomic_load(&stage->count[0]));
}

static int count_aside(void)
{
    DIR *dir = opendir(path_of(""));
    struct dirent *entry;
    int count = 0;

    EXPECT(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        count += strncmp(entry->d_name, ".new-", 5) == 0;
    }
    (void)closedir(dir);
    return count;
}

/* What a killed process left aside is removed once it is old. */
TEST(cleaning_removes_what_was_left_aside)
{
    PEER(me);
    struct hf__gc gc = {.idle_us = 0};
    struct timespec old[2] = {{time(NULL) - 3600, 0}, {time(NULL) - 3600, 0}};

    write_bytes(file_of(".new-0123456789abcdef"), "x", 1);
    write_bytes(file_of(".new-fedcba9876543210"), "x", 1);
    EXPECT_IS(utimensat(-1, file_of(".new-0123456789abcdef"), old, 0), 0);
    EXPECT_IS(hf__conn_gc(&me.conn, &(struct hf__key){"test:", 5, 5}, &gc,
                          hf__after_ms(hf__now(), 5000), &me.error),
              HF_OK);
    EXPECT_IS(count_aside(), 1);
    EXPECT_IS(access(file_of(".holdfast"), F_OK), 0);
}
