/* SPDX-License-Identifier: MIT */
/*
 * Decides who counts as around us: a guardian among our ancestors whose
 * parent, the wrapper, is the process that the store names as the holder.
 * Only that guardian ends us when its lock is lost; variables prove nothing,
 * for they go wherever an environment is copied. Thread: main.
 */
#include "src/cli/around.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* No tree is deeper; one that changes while we climb ends here. */
#define DEPTH_MAX 100000

struct ancestor {
    pid_t parent; /* 0: none that we can see */
    bool is_guardian;
};

/* "PID (NAME) STATE PARENT …", and the name may have any character. */
static struct ancestor look(pid_t pid)
{
    struct ancestor found = {0};
    char path[40];
    char line[512] = "";
    const char *end;
    long parent = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    file = fopen(path, "re");
    if (!file) {
        return found;
    }
    end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    (void)fclose(file);
    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes a number there */
    if (end && sscanf(end, ") %*c %ld", &parent) == 1) {
        found.parent = (pid_t)parent;
        found.is_guardian = strstr(line, " (holdfast-guard) ") != NULL;
    }
    return found;
}

bool cli_around_is_guardian(pid_t pid)
{
    return look(pid).is_guardian;
}

bool cli_around_is(pid_t holder)
{
    pid_t pid = getppid();

    for (int depth = 0; pid > 0 && depth < DEPTH_MAX; depth++) {
        struct ancestor one = look(pid);

        if (one.is_guardian && one.parent > 0 && one.parent == holder) {
            return true;
        }
        pid = one.parent;
    }
    return false;
}
