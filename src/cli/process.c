/* SPDX-License-Identifier: MIT */
/*
 * Decides what /proc/PID/stat means, and how a signal reaches that process or
 * nobody: an open /proc/PID is bound to its process, as a pidfd is, and the
 * kernel takes it for one. Thread: any.
 */
#include "src/cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cli_process_open(pid_t pid, struct cli_process *ret_process)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    *ret_process = (struct cli_process){
        pid, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return ret_process->folder >= 0;
}

void cli_process_close(struct cli_process *process)
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

/* "pid (name) state parent …"; a name may hold blanks and brackets, so its
 * end is the last one. Field 22 is the start. */
bool cli_process_look(const struct cli_process *process,
                      struct cli_facts *ret_facts)
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
    (void)snprintf(ret_facts->name, sizeof ret_facts->name, "%.31s", name + 1);
    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes no number too large */
    if (sscanf(end + 1,
               " %c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
               "%*d %*d %ld %*d %llu",
               &ret_facts->state, &parent, &ret_facts->threads,
               &started) != 4) {
        return false;
    }
    ret_facts->parent = (pid_t)parent;
    ret_facts->started = started;
    return true;
}

bool cli_process_is_there(const struct cli_process *process)
{
    return !faccessat(process->folder, "stat", F_OK, 0);
}

static bool is_known_to_work(void)
{
    static int fd = -2;

    fd = fd == -2 ? open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : fd;
    return fd >= 0 && !syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}

/* An old kernel, or a filter of system calls, knows no signal to a
 * descriptor; then the number, which was checked a moment ago, must do. Where
 * it does, EPERM is the process's own: its number may be another's by now. */
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

/* A process whose first thread ended is a zombie by its state, and goes on in
 * its other threads. */
bool cli_process_lives(const struct cli_facts *facts)
{
    return facts->state != 'X' && (facts->state != 'Z' || facts->threads > 1);
}

uint64_t cli_process_started(pid_t pid)
{
    const struct cli_process process = {pid, -1};
    struct cli_facts facts;

    return cli_process_look(&process, &facts) ? facts.started : 0;
}
