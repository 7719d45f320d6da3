/* SPDX-License-Identifier: MIT */
/*
 * Why a lock alone is not enough, and what its fence is for: the first holder
 * is stopped for longer than its lease, a second one gets the lock and writes,
 * then the first continues and writes what it had computed. hf_guard_file()
 * refuses that. guard.c does the same with a table, guard_redis.sh with a key
 * of Redis. It needs nothing else; exit 0 only if all went like this.
 */
#include "examples/stopped.h"

#include <fcntl.h>
#include <holdfast-guard.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int save(void *path, uint64_t fence, const char *text)
{
    hf_error err = HF_ERROR_INIT;
    int r = hf_guard_file(path, fence, text, strlen(text), &err);

    if (r != HF_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    return r;
}

static bool has(const char *path, const char *wanted)
{
    char text[100] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = fd >= 0 && read(fd, text, sizeof text - 1) >= 0;

    if (fd >= 0) {
        close(fd);
    }
    printf("main    the file has: %s\n", text);
    return is_read && strcmp(text, wanted) == 0;
}

int main(void)
{
    char path[600];
    bool is_fine;

    snprintf(path, sizeof path, "%s/report", make_folder());
    is_fine = stop_one_who_writes(save, path) && has(path, SECOND);
    remove_folder();
    return !is_fine;
}
