/* SPDX-License-Identifier: MIT */
/*
 * In which order descendants are visited: by the list of children that the
 * kernel keeps for each thread, so that unrelated processes cost nothing. Our
 * own list has the oldest first, and its pids are safe, because only we can
 * wait for those children; every other process is checked to be still the one
 * that was listed. Where the kernel lists no children, all processes are read
 * for their parents.
 * A signal reaches the process that was meant or none: an open /proc/PID refers
 * to its process, like a pidfd, and the kernel accepts it as one. Thread: as
 * tree.h; any for a single process.
 */
#include "src/cli/tree.h"
#include "src/cli/clock.h"
#include "src/cli/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Open /proc/PID. Returns false if the process is gone. */
static bool process_open(pid_t pid, struct cli_process *ret_process)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    *ret_process = (struct cli_process){
        pid, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return ret_process->folder >= 0;
}

static void process_close(struct cli_process *process)
{
    if (process->folder >= 0) {
        (void)close(process->folder);
    }
    process->folder = -1;
}

static bool read_stat(const struct cli_process *process, char *text,
                      size_t size)
{
    char path[40] = "stat";
    ssize_t n;
    int fd;

    if (process->folder < 0) {
        (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)process->pid);
    }
    fd = openat(process->folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    n = read(fd, text, size - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* The format is "pid (name) state parent …"; a name may hold blanks and
 * brackets, so the last bracket ends it. Field 22 is the start. */
bool cli_process_look(const struct cli_process *process,
                      struct cli_process_stat *ret_stat)
{
    char text[1024];
    char *name;
    char *end;
    long parent;
    unsigned long long started;

    if (!read_stat(process, text, sizeof text)) {
        return false;
    }
    name = strchr(text, '(');
    end = strrchr(text, ')');
    if (!name || !end || end < name) {
        return false;
    }
    *end = 0;
    (void)snprintf(ret_stat->name, sizeof ret_stat->name, "%.31s", name + 1);
    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes no number too large */
    if (sscanf(end + 1,
               " %c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
               "%*d %*d %ld %*d %llu",
               &ret_stat->state, &parent, &ret_stat->threads, &started) != 4) {
        return false;
    }
    ret_stat->parent = (pid_t)parent;
    ret_stat->started = started;
    return true;
}

/* Returns false if the process is gone; a zombie still exists. Needs an open
 * process. */
static bool process_is_there(const struct cli_process *process)
{
    return !faccessat(process->folder, "stat", F_OK, 0);
}

static bool is_known_to_work(void)
{
    static int fd = -2;

    fd = fd == -2 ? open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : fd;
    return fd >= 0 && !syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}

/* An old kernel, or a filter of system calls, cannot signal a descriptor; then
 * the pid, checked a moment ago, is used. Where signals to descriptors work,
 * EPERM is about the process itself; its pid must not be tried, since it may
 * belong to another process by now. */
bool cli_process_signal(const struct cli_process *process, int number)
{
    if (process->folder >= 0 &&
        (!syscall(SYS_pidfd_send_signal, process->folder, number, NULL, 0) ||
         errno == ESRCH)) {
        return true;
    }
    if (process->folder >= 0 && errno == EPERM && is_known_to_work()) {
        return false;
    }
    return !kill(process->pid, number) || errno != EPERM;
}

/* A process whose first thread ended has the state of a zombie, but goes on in
 * its other threads. */
bool cli_process_lives(const struct cli_process_stat *stat)
{
    return stat->state != 'X' && (stat->state != 'Z' || stat->threads > 1);
}

uint64_t cli_process_started(pid_t pid)
{
    const struct cli_process process = {pid, -1};
    struct cli_process_stat stat;

    return cli_process_look(&process, &stat) ? stat.started : 0;
}

struct found {
    pid_t pid;
    bool is_ours;
    struct cli_process_stat stat;
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

static void add_found(struct snapshot *all, pid_t pid)
{
    const struct cli_process process = {pid, -1};

    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 256;
        all->list = cli_resize(all->list, all->room * sizeof *all->list);
    }
    all->list[all->count] = (struct found){.pid = pid};
    all->count += cli_process_look(&process, &all->list[all->count].stat);
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
            add_found(all, pid);
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
    const struct found wanted = {.pid = process->stat.parent};
    const struct found *parent;

    if (wanted.pid == getpid()) {
        return true;
    }
    parent = bsearch(&wanted, all->list, all->count, sizeof wanted, by_pid);
    return parent && parent->is_ours;
}

/* A parent may have a higher pid than its child, so repeat until nothing new is
 * found. */
static void mark(struct snapshot *all, const struct cli_tree *tree,
                 int64_t until_ns)
{
    bool is_new = true;

    while (is_new && cli_boot_ns() < until_ns) {
        is_new = false;
        for (size_t i = 0; i < all->count; i++) {
            struct found *process = &all->list[i];

            if (!process->is_ours && process->pid != tree->except &&
                process->stat.started >= tree->since &&
                is_child_of_ours(all, process)) {
                process->is_ours = true;
                is_new = true;
            }
        }
    }
}

/* The pid may belong to another process by now, so the opened process is
 * compared with the found one. */
static void visit_found(const struct found *found, cli_tree_fn fn, void *arg)
{
    struct cli_process process = {found->pid, -1};
    struct cli_process_stat now;

    if (found->stat.parent == getpid()) {
        fn(arg, &process);
        return;
    }
    if (process_open(found->pid, &process)) {
        if (cli_process_look(&process, &now) &&
            now.started == found->stat.started) {
            fn(arg, &process);
        }
        process_close(&process);
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
            visit_found(&all.list[i], fn, arg);
        }
    }
    cli_free(all.list);
    return 0;
}

/* A round gives this time to our own list, and as much to the rest of the tree.
 * The next round begins at the root, because a tree may grow as fast as it is
 * walked. Of our own list, which grows by orphans, at least OWN_MIN are
 * visited: when they are dead and reaped, the next ones are first. */
#define ROUND_MS 100
#define OWN_MIN  256

/* A visited process whose children come next. */
struct listed {
    pid_t pid;
    uint64_t started; /* 0: a child of ours */
};

struct walk {
    const struct cli_tree *tree;
    cli_tree_fn fn;
    void *arg;
    pid_t self;
    int64_t until_ns;
    size_t least; /* visit so many in any case, even after until_ns */
    struct listed *listed_all;
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
        w->listed_all =
            cli_resize(w->listed_all, w->room * sizeof *w->listed_all);
    }
    w->listed_all[w->count++] = (struct listed){pid, started};
}

/* Check that `child` is still a child of `parent`: if the parent still exists,
 * it existed all the time, and its pid was its own. */
static bool is_of(const struct walk *w, const struct cli_process *parent,
                  const struct cli_process_stat *child)
{
    return child->parent == w->self ||
           (child->parent == parent->pid && process_is_there(parent));
}

static void visit_other(struct walk *w, const struct cli_process *parent,
                        pid_t pid)
{
    struct cli_process child;
    struct cli_process_stat stat;

    if (!process_open(pid, &child)) {
        return;
    }
    if (cli_process_look(&child, &stat) && is_of(w, parent, &stat)) {
        w->fn(w->arg, &child);
        add(w, pid, stat.started);
    }
    process_close(&child);
}

static void visit_one(struct walk *w, const struct cli_process *parent,
                      pid_t pid)
{
    if (!has_time(w)) {
        return;
    }
    if (parent->pid == w->self) {
        const struct cli_process child = {pid, -1};

        if (pid != w->tree->except &&
            (!w->tree->since || cli_process_started(pid) >= w->tree->since)) {
            w->fn(w->arg, &child);
            add(w, pid, 0);
        }
    } else {
        visit_other(w, parent, pid);
    }
}

/* Parse "12 345 6 ", which may be cut anywhere: `pid` keeps the digits read so
 * far. */
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

/* A dead child is skipped cheaply: a command that makes many orphans makes many
 * dead children, too. */
static bool is_dead(pid_t child)
{
    siginfo_t info = {0};

    return !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) &&
           info.si_pid;
}

static void go_on(struct walk *w, const struct listed *listed)
{
    struct cli_process process;
    struct cli_process_stat now;

    if ((!listed->started && is_dead(listed->pid)) ||
        !process_open(listed->pid, &process)) {
        return;
    }
    if (!listed->started ||
        (cli_process_look(&process, &now) && now.started == listed->started)) {
        descend(w, &process);
    }
    process_close(&process);
}

/* Check that /proc belongs to our PID namespace: in another one our pid would
 * be another process's. */
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

    if (!is_proc_ours(w.self) || !process_open(w.self, &self)) {
        return -1;
    }
    if (!lists_children(&self)) {
        process_close(&self);
        return cli_scan(tree, until_ns, fn, arg);
    }
    w.until_ns = is_round ? round_end_ns() : until_ns;
    w.least = is_round ? OWN_MIN : 0;
    descend(&w, &self);
    process_close(&self);
    w.until_ns = is_round ? round_end_ns() : until_ns;
    w.least = 0;
    for (size_t i = 0; i < w.count && has_time(&w); i++) {
        const struct listed listed = w.listed_all[i];

        go_on(&w, &listed);
    }
    cli_free(w.listed_all);
    return 0;
}
