/* SPDX-License-Identifier: MIT */
/*
 * Decides in which order descendants are come to: from the list of children
 * that the kernel keeps of each thread, so that strangers cost nothing. In our
 * own list the oldest come first, and its numbers are safe, for nobody but us
 * can wait for those in it; of all others it is made sure that they are still
 * who was listed. Thread: as tree.h.
 */
#include "src/cli/tree.h"
#include "src/cli/clock.h"
#include "src/cli/memory.h"
#include "src/cli/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A tree that grows as fast as it is walked is begun again at its root; so is
 * our own list, which grows by orphans, after its first OWN_MIN at least:
 * when they are dead and waited for, the next ones are first. */
#define ROUND_MS 100
#define OWN_MIN  256

/* Where the walk goes on. */
struct place {
    pid_t pid;
    uint64_t started; /* 0: a child of ours */
};

struct walk {
    const struct cli_tree *tree;
    cli_tree_fn fn;
    void *arg;
    pid_t self;
    int64_t until_ns;
    size_t least; /* so many are come to whatever the time is */
    struct place *places;
    size_t count;
    size_t room;
};

static bool has_time(const struct walk *w)
{
    return w->count < w->least || cli_boot_ns() < w->until_ns;
}

static void add(struct walk *w, pid_t pid, uint64_t started)
{
    if (w->count == w->room) {
        w->room = w->room ? w->room * 2 : 64;
        w->places = cli_resize(w->places, w->room * sizeof *w->places);
    }
    w->places[w->count++] = (struct place){pid, started};
}

static void visit_own(struct walk *w, pid_t pid)
{
    const struct cli_process child = {pid, -1};

    if (pid != w->tree->except &&
        (!w->tree->since || cli_process_started(pid) >= w->tree->since)) {
        w->fn(w->arg, &child);
        add(w, pid, 0);
    }
}

/* If its parent is there now, it was all the time, and its number its own. */
static bool is_of(const struct walk *w, const struct cli_process *parent,
                  const struct cli_facts *child)
{
    return child->parent == w->self ||
           (child->parent == parent->pid && cli_process_is_there(parent));
}

static void visit_other(struct walk *w, const struct cli_process *parent,
                        pid_t pid)
{
    struct cli_process child;
    struct cli_facts facts;

    if (!cli_process_open(pid, &child)) {
        return;
    }
    if (cli_process_look(&child, &facts) && is_of(w, parent, &facts)) {
        w->fn(w->arg, &child);
        add(w, pid, facts.started);
    }
    cli_process_close(&child);
}

static void visit_one(struct walk *w, const struct cli_process *parent,
                      pid_t pid)
{
    if (!has_time(w)) {
        return;
    }
    if (parent->pid == w->self) {
        visit_own(w, pid);
    } else {
        visit_other(w, parent, pid);
    }
}

/* "12 345 6 ", which may be cut anywhere: `pid` is what was read of one. */
static void visit_listed(struct walk *w, const struct cli_process *parent,
                         const char *text, ssize_t length, pid_t *pid)
{
    for (ssize_t i = 0; i < length; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            *pid = *pid * 10 + (text[i] - '0');
        } else if (*pid) {
            visit_one(w, parent, *pid);
            *pid = 0;
        }
    }
}

static void visit_children(struct walk *w, const struct cli_process *parent,
                           const char *thread)
{
    char path[64];
    char text[4096];
    pid_t pid = 0;
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, "task/%.20s/children", thread);
    fd = openat(parent->folder, path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && has_time(w) && (n = read(fd, text, sizeof text)) > 0) {
        visit_listed(w, parent, text, n, &pid);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void descend(struct walk *w, const struct cli_process *parent)
{
    int fd = openat(parent->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *threads = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!threads) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return;
    }
    while (has_time(w) && (entry = readdir(threads))) {
        if (entry->d_name[0] != '.') {
            visit_children(w, parent, entry->d_name);
        }
    }
    (void)closedir(threads);
}

/* Who has many orphans made has many dead children, too. */
static bool is_dead(pid_t child)
{
    siginfo_t info = {0};

    return !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) &&
           info.si_pid;
}

static void go_on(struct walk *w, const struct place *place)
{
    struct cli_process process;
    struct cli_facts now;

    if ((!place->started && is_dead(place->pid)) ||
        !cli_process_open(place->pid, &process)) {
        return;
    }
    if (!place->started ||
        (cli_process_look(&process, &now) && now.started == place->started)) {
        descend(w, &process);
    }
    cli_process_close(&process);
}

/* In a /proc of other numbers ours would be a stranger's. */
static bool is_proc_ours(pid_t self)
{
    char text[24];
    ssize_t n = readlink("/proc/self", text, sizeof text - 1);

    text[n > 0 ? n : 0] = 0;
    return strtol(text, NULL, 10) == self;
}

static bool lists_children(const struct cli_process *self)
{
    char path[64];

    (void)snprintf(path, sizeof path, "task/%ld/children", (long)self->pid);
    return !faccessat(self->folder, path, F_OK, 0);
}

static int64_t round_end_ns(void)
{
    return cli_boot_ns() + ROUND_MS * CLI_NS_PER_MS;
}

int cli_tree_walk(const struct cli_tree *tree, int64_t until_ns, cli_tree_fn fn,
                  void *arg)
{
    bool is_round = until_ns == INT64_MAX;
    struct walk w = {tree, fn, arg, .self = getpid(), .until_ns = until_ns};
    struct cli_process self;

    if (!is_proc_ours(w.self) || !cli_process_open(w.self, &self)) {
        return -1;
    }
    if (!lists_children(&self)) {
        cli_process_close(&self);
        return cli_scan(tree, until_ns, fn, arg);
    }
    w.until_ns = is_round ? round_end_ns() : until_ns;
    w.least = is_round ? OWN_MIN : 0;
    descend(&w, &self);
    cli_process_close(&self);
    w.until_ns = is_round ? round_end_ns() : until_ns;
    w.least = 0;
    for (size_t i = 0; i < w.count && has_time(&w); i++) {
        const struct place place = w.places[i];

        go_on(&w, &place);
    }
    cli_free(w.places);
    return 0;
}
