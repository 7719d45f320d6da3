/* SPDX-License-Identifier: MIT */
/*
 * Decides who descends from the root and how each is signalled without ever
 * hitting a stranger who got the same pid: by a pidfd that was opened first
 * and checked to be the same process afterwards. Thread: main.
 */
#include "src/cli/tree.h"
#include "src/cli/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct snapshot {
    struct cli_process *list;
    size_t count;
    size_t room;
};

static bool read_stat(pid_t pid, char *text, size_t size)
{
    char path[40];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, text, size - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* "pid (name) state parent …"; a name may hold blanks and brackets, so its
 * end is the last one. Field 22 is the start. */
static bool look(pid_t pid, struct cli_process *ret)
{
    char text[1024];
    char *name;
    char *end;
    long parent;
    long group;
    unsigned long long started;

    if (!read_stat(pid, text, sizeof text)) {
        return false;
    }
    name = strchr(text, '(');
    end = strrchr(text, ')');
    if (!name || !end || end < name) {
        return false;
    }
    *end = 0;
    *ret = (struct cli_process){.pid = pid};
    (void)snprintf(ret->name, sizeof ret->name, "%.31s", name + 1);
    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes no number too large */
    if (sscanf(end + 1,
               " %c %ld %ld %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
               "%*d %*d %ld %*d %llu",
               &ret->state, &parent, &group, &ret->threads, &started) != 5) {
        return false;
    }
    ret->parent = (pid_t)parent;
    ret->group = (pid_t)group;
    ret->started = started;
    return true;
}

/* A process whose first thread ended is a zombie by its state, and goes on in
 * its other threads. */
static bool lives(const struct cli_process *process)
{
    return process->state != 'X' &&
           (process->state != 'Z' || process->threads > 1);
}

uint64_t cli_tree_started(pid_t pid)
{
    struct cli_process process;

    return look(pid, &process) ? process.started : 0;
}

static int by_pid(const void *a, const void *b)
{
    const struct cli_process *one = a;
    const struct cli_process *other = b;

    return (one->pid > other->pid) - (one->pid < other->pid);
}

static bool take_snapshot(struct snapshot *all)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;

    if (!folder) {
        return false;
    }
    while ((entry = readdir(folder))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid <= 0) {
            continue;
        }
        if (all->count == all->room) {
            all->room = all->room ? all->room * 2 : 256;
            all->list = cli_resize(all->list, all->room * sizeof *all->list);
        }
        all->count += look(pid, &all->list[all->count]);
    }
    (void)closedir(folder);
    if (all->count) {
        qsort(all->list, all->count, sizeof *all->list, by_pid);
    }
    return true;
}

static bool is_child_of_ours(const struct snapshot *all, pid_t root,
                             const struct cli_process *process)
{
    const struct cli_process wanted = {.pid = process->parent};
    const struct cli_process *parent;

    if (process->parent == root) {
        return true;
    }
    parent = bsearch(&wanted, all->list, all->count, sizeof wanted, by_pid);
    return parent && parent->is_ours;
}

/* A parent may have a higher pid than its child: repeat until nothing new. */
static void mark(struct snapshot *all, const struct cli_tree *tree)
{
    bool is_new = true;

    while (is_new) {
        is_new = false;
        for (size_t i = 0; i < all->count; i++) {
            struct cli_process *process = &all->list[i];

            if (!process->is_ours && process->pid != tree->except &&
                process->started >= tree->since &&
                is_child_of_ours(all, tree->root, process)) {
                process->is_ours = true;
                is_new = true;
            }
        }
    }
}

/* False: it may not be signalled. Gone is as good as signalled. */
static bool signal_one(const struct cli_process *process, int number)
{
    int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    bool is_denied = false;

    if (fd < 0 && errno == ESRCH) {
        return true;
    }
    if (fd < 0) {
        return !kill(process->pid, number) || errno != EPERM;
    }
    if (cli_tree_started(process->pid) == process->started) {
        is_denied = syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0 &&
                    errno == EPERM;
    }
    (void)close(fd);
    return !is_denied;
}

int cli_tree_signal(const struct cli_tree *tree, int number, cli_tree_fn fn,
                    void *arg)
{
    struct snapshot all = {0};
    int count = 0;

    if (!take_snapshot(&all)) {
        return -1;
    }
    mark(&all, tree);
    for (size_t i = 0; i < all.count; i++) {
        const struct cli_process *process = &all.list[i];
        bool is_denied;

        if (!process->is_ours || !lives(process) ||
            process->group == tree->passed) {
            continue;
        }
        is_denied = !signal_one(process, number);
        count++;
        if (fn) {
            fn(arg, process, is_denied);
        }
    }
    cli_free(all.list);
    return count;
}
