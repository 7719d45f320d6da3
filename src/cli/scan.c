/* SPDX-License-Identifier: MIT */
/*
 * Decides who descends from us by what all processes say of their parents.
 * Thread: as tree.h.
 */
#include "src/cli/scan.h"
#include "src/cli/clock.h"
#include "src/cli/memory.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

struct found {
    pid_t pid;
    bool is_ours;
    struct cli_facts facts;
};

struct snapshot {
    struct found *list;
    size_t count;
    size_t room;
};

static int by_pid(const void *a, const void *b)
{
    const struct found *one = a;
    const struct found *other = b;

    return (one->pid > other->pid) - (one->pid < other->pid);
}

static void add(struct snapshot *all, pid_t pid)
{
    const struct cli_process process = {pid, -1};

    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 256;
        all->list = cli_resize(all->list, all->room * sizeof *all->list);
    }
    all->list[all->count] = (struct found){.pid = pid};
    all->count += cli_process_look(&process, &all->list[all->count].facts);
}

static bool take_snapshot(struct snapshot *all, int64_t until_ns)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;

    if (!folder) {
        return false;
    }
    while (cli_boot_ns() < until_ns && (entry = readdir(folder))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 0) {
            add(all, pid);
        }
    }
    (void)closedir(folder);
    if (all->count) {
        qsort(all->list, all->count, sizeof *all->list, by_pid);
    }
    return true;
}

static bool is_child_of_ours(const struct snapshot *all,
                             const struct found *process)
{
    const struct found wanted = {.pid = process->facts.parent};
    const struct found *parent;

    if (wanted.pid == getpid()) {
        return true;
    }
    parent = bsearch(&wanted, all->list, all->count, sizeof wanted, by_pid);
    return parent && parent->is_ours;
}

/* A parent may have a higher pid than its child: repeat until nothing new. */
static void mark(struct snapshot *all, const struct cli_tree *tree,
                 int64_t until_ns)
{
    bool is_new = true;

    while (is_new && cli_boot_ns() < until_ns) {
        is_new = false;
        for (size_t i = 0; i < all->count; i++) {
            struct found *process = &all->list[i];

            if (!process->is_ours && process->pid != tree->except &&
                process->facts.started >= tree->since &&
                is_child_of_ours(all, process)) {
                process->is_ours = true;
                is_new = true;
            }
        }
    }
}

/* The number may be another's by now: what was opened is looked at again. */
static void visit(const struct found *found, cli_tree_fn fn, void *arg)
{
    struct cli_process process = {found->pid, -1};
    struct cli_facts now;

    if (found->facts.parent == getpid()) {
        fn(arg, &process);
        return;
    }
    if (cli_process_open(found->pid, &process)) {
        if (cli_process_look(&process, &now) &&
            now.started == found->facts.started) {
            fn(arg, &process);
        }
        cli_process_close(&process);
    }
}

int cli_scan(const struct cli_tree *tree, int64_t until_ns, cli_tree_fn fn,
             void *arg)
{
    struct snapshot all = {0};

    if (!take_snapshot(&all, until_ns)) {
        return -1;
    }
    mark(&all, tree, until_ns);
    for (size_t i = 0; i < all.count && cli_boot_ns() < until_ns; i++) {
        if (all.list[i].is_ours) {
            visit(&all.list[i], fn, arg);
        }
    }
    cli_free(all.list);
    return 0;
}
