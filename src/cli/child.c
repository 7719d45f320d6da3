/* SPDX-License-Identifier: MIT */
/*
 * Decides in what state the command is born: its group, the caller's signal
 * mask and dispositions, no descriptor of ours. A pipe that closes at exec
 * tells a command that could not be started from one that ended with 127.
 * Thread: main of the guardian.
 */
#include "src/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A command that misses one of them is not started: it would take the lock
 * for another, or write without its fence. */
static bool set_environment(const struct cli_child_plan *plan)
{
    char *entry = plan->environment;
    const char *end = entry + plan->length;

    for (; entry < end; entry += strlen(entry) + 1) {
        if (strchr(entry, '=') ? putenv(entry) : unsetenv(entry)) {
            return false;
        }
    }
    return true;
}

static void execute(const struct cli_child_plan *plan)
{
    char shell[] = "sh";
    char option[] = "-c";
    char *words[] = {shell, option, plan->command[0], NULL};

    if (plan->is_shell) {
        (void)execv("/bin/sh", words);
    } else {
        (void)execvp(plan->command[0], plan->command);
    }
}

_Noreturn static void become(const struct cli_child_plan *plan, pid_t parent,
                             int report)
{
    int code;

    if (!plan->is_of_us) {
        (void)setpgid(0, 0);
    }
    if (plan->is_foreground) {
        cli_terminal_give(plan->terminal, getpid());
    }
    /* The last rope: whatever ends the guardian ends the command. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127);
    }
    if (plan->priority) {
        cli_priority_restore(plan->priority);
    }
    cli_signals_restore(plan->signals);
    if (set_environment(plan)) {
        execute(plan);
    }
    code = errno;
    while (write(report, &code, sizeof code) < 0 && errno == EINTR) {
        continue;
    }
    _exit(127);
}

int cli_child_report(int report)
{
    int code = 0;
    ssize_t n;

    do {
        n = read(report, &code, sizeof code);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        return -1;
    }
    return n == (ssize_t)sizeof code ? code : 0;
}

int cli_child_start(const struct cli_child_plan *plan, pid_t *ret_pid,
                    int *ret_report)
{
    pid_t parent = getpid();
    int report[2];
    pid_t pid;

    if (pipe2(report, O_CLOEXEC | O_NONBLOCK)) {
        return errno;
    }
    pid = fork();
    if (!pid) {
        become(plan, parent, report[1]);
    }
    (void)close(report[1]);
    if (pid < 0) {
        int code = errno;

        (void)close(report[0]);
        return code;
    }
    if (!plan->is_of_us) {
        (void)setpgid(pid, pid);
    }
    *ret_pid = pid;
    *ret_report = report[0];
    return 0;
}
