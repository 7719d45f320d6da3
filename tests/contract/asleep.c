/* SPDX-License-Identifier: MIT */
/*
 * What the kernel knows of this process: whether a thread, or a whole process,
 * has come to rest, for who is asleep has nothing under way but a wait; and how
 * many threads and descriptors there are. Called by any thread.
 */
#include "tests/contract/api.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Asleep, or gone. */
static bool is_asleep(int process, int thread)
{
    char path[64];
    char stat[256] = "";
    const char *end;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread);
    f = fopen(path, "re");
    if (!f) {
        return true;
    }
    end = fgets(stat, sizeof stat, f) ? strrchr(stat, ')') : NULL;
    fclose(f);
    return !end || strncmp(end, ") S", 3) == 0;
}

void await_sleep(const _Atomic int *thread)
{
    int64_t start = hf__test_now_ms();
    int times = 0;

    while (times < 4 && since(start) < patience(2000)) {
        int number = atomic_load(thread);

        times = number && is_asleep(getpid(), number) ? times + 1 : 0;
        hf__test_pause_ms(1);
    }
}

static bool are_asleep(int process)
{
    char path[64];
    struct dirent *entry;
    bool all = true;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/task", process);
    dir = opendir(path);
    EXPECT(dir);
    while ((entry = readdir(dir))) {
        int thread = (int)strtol(entry->d_name, NULL, 10);

        all = all && (thread == 0 || is_asleep(process, thread));
    }
    closedir(dir);
    return all;
}

void await_rest(int process)
{
    int64_t start = hf__test_now_ms();
    int times = 0;

    while (times < 4 && since(start) < patience(100)) {
        times = are_asleep(process) ? times + 1 : 0;
        hf__test_pause_ms(1);
    }
}

/* ---- what this process has */

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int n = 0;

    EXPECT(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        n += e->d_name[0] != '.';
    }
    closedir(folder);
    return n;
}

int count_threads(void)
{
    return count_entries("/proc/self/task");
}

int threads_after_ending(int n)
{
    int64_t start = hf__test_now_ms();

    /* A joined thread may be listed for a moment. */
    while (count_threads() > n && since(start) < patience(1000)) {
        hf__test_pause_ms(1);
    }
    return count_threads();
}

int count_fds(void)
{
    return count_entries("/proc/self/fd");
}

int thread_number(void)
{
    return (int)syscall(SYS_gettid);
}
