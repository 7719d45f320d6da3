/* SPDX-License-Identifier: MIT */
/*
 * Decides in what state the command starts: its group, the caller's signal mask
 * and dispositions, no descriptor of ours. A pipe that closes at exec tells a
 * command that could not be started from one that ended with 127. The
 * foreground is given only while it is ours, and taken back only from the group
 * it was given to. The interrupt listener joins the command's group to hear
 * Ctrl-C. It counts only the terminal's own SIGINT, not one that a program
 * sends to its group; it is killed with the group and holds nothing that
 * outlives it.
 * The guardian takes the processor before every process that is not real-time,
 * where the user may (root, or by ulimit -r): among a thousand runnable
 * processes it would otherwise get a thousandth. A nice value is not enough,
 * because where the kernel groups sessions it counts within one session only.
 * Thread: as child.h.
 */
#include "src/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

void cli_priority_raise(struct cli_priority *ret_before)
{
    const struct sched_param lowest = {.sched_priority = 1};

    ret_before->policy = sched_getscheduler(0);
    ret_before->slack_ns = prctl(PR_GET_TIMERSLACK);
    ret_before->nice = getpriority(PRIO_PROCESS, 0);
    ret_before->is_raised =
        !sched_getparam(0, &ret_before->param) &&
        !ret_before->param.sched_priority && !prctl(PR_GET_SECCOMP) &&
        !sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

/* Restore the earlier priority, in a child. */
static void priority_restore(const struct cli_priority *before)
{
    if (before->is_raised) {
        (void)sched_setscheduler(0, before->policy, &before->param);
        (void)setpriority(PRIO_PROCESS, 0, before->nice);
        /* A real-time process has no timer slack, and its children inherit
         * none. */
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)before->slack_ns);
    }
}

static const int forwarded[] = {SIGTERM, SIGINT,   SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

/* While SIGCHLD is ignored a child's exit status is discarded. */
static bool stop_ignoring_children(void)
{
    struct sigaction now;
    struct sigaction plain = {.sa_handler = SIG_DFL};

    if (sigaction(SIGCHLD, NULL, &now) || now.sa_handler != SIG_IGN) {
        return false;
    }
    (void)sigaction(SIGCHLD, &plain, NULL);
    return true;
}

int cli_signals_setup(struct cli_signals *signals)
{
    sigset_t wanted;
    sigset_t blocked;

    signals->is_child_ignored = stop_ignoring_children();
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        struct sigaction now;

        if (!sigaction(forwarded[i], NULL, &now) && now.sa_handler != SIG_IGN) {
            (void)sigaddset(&wanted, forwarded[i]);
        }
    }
    blocked = wanted;
    /* Taking the terminal back from the background, or writing to a closed
     * stderr, must not stop or end the wrapper, which renews the lock. */
    (void)sigaddset(&blocked, SIGTTOU);
    (void)sigaddset(&blocked, SIGTTIN);
    (void)sigaddset(&blocked, SIGPIPE);
    if (sigprocmask(SIG_BLOCK, &blocked, &signals->before)) {
        return -1;
    }
    signals->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? -1 : 0;
}

int cli_signals_guard(struct cli_signals *signals)
{
    sigset_t all;
    sigset_t wanted;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)close(signals->fd);
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGCHLD);
    signals->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? -1 : 0;
}

void cli_signals_restore(const struct cli_signals *signals)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    if (signals->is_child_ignored) {
        (void)sigaction(SIGCHLD, &ignore, NULL);
    }
    (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

int cli_signals_take(const struct cli_signals *signals,
                     struct signalfd_siginfo *ret_info)
{
    ssize_t n = read(signals->fd, ret_info, sizeof *ret_info);

    return n == (ssize_t)sizeof *ret_info ? (int)ret_info->ssi_signo : 0;
}

int cli_signals_next(const struct cli_signals *signals)
{
    struct signalfd_siginfo info;

    return cli_signals_take(signals, &info);
}

void cli_terminal_open(struct cli_terminal *terminal)
{
    terminal->home = getpgrp();
    terminal->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool cli_terminal_is_of(const struct cli_terminal *terminal, pid_t group)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == group;
}

bool cli_terminal_is_ours(const struct cli_terminal *terminal)
{
    return cli_terminal_is_of(terminal, terminal->home);
}

bool cli_terminal_may_draw(int fd, pid_t group)
{
    pid_t job = tcgetpgrp(fd);

    return job < 0 || job == group;
}

void cli_terminal_give(const struct cli_terminal *terminal, pid_t group)
{
    if (terminal->fd >= 0) {
        (void)tcsetpgrp(terminal->fd, group);
    }
}

bool cli_terminal_take(const struct cli_terminal *terminal, pid_t group)
{
    pid_t now = terminal->fd >= 0 ? tcgetpgrp(terminal->fd) : -1;

    if (now < 0 || now == terminal->home) {
        return false;
    }
    return (now == group || (kill(-now, 0) && errno == ESRCH)) &&
           !tcsetpgrp(terminal->fd, terminal->home);
}

_Noreturn static void listen_for(pid_t parent, int fd)
{
    siginfo_t info;
    sigset_t wanted;
    char byte = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "holdfast-signal");
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGINT);
    while (getppid() == parent) {
        if (sigwaitinfo(&wanted, &info) == SIGINT &&
            info.si_code == SI_KERNEL && write(fd, &byte, 1) < 0 &&
            errno == EPIPE) {
            break;
        }
    }
    _exit(0);
}

void cli_interrupt_listener_start(struct cli_interrupt_listener *listener,
                                  pid_t group)
{
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        return;
    }
    listener->pid = fork();
    if (!listener->pid) {
        (void)setpgid(0, group);
        listen_for(parent, ends[1]);
    }
    (void)close(ends[1]);
    if (listener->pid < 0) {
        listener->pid = 0;
        (void)close(ends[0]);
        return;
    }
    (void)setpgid(listener->pid, group);
    listener->fd = ends[0];
}

int cli_interrupt_listener_count(const struct cli_interrupt_listener *listener)
{
    char bytes[16];
    ssize_t n = listener->fd < 0 ? 0 : read(listener->fd, bytes, sizeof bytes);

    return n > 0 ? (int)n : 0;
}

void cli_interrupt_listener_reaped(struct cli_interrupt_listener *listener,
                                   pid_t pid)
{
    if (listener->pid && listener->pid == pid) {
        (void)close(listener->fd);
        listener->pid = 0;
        listener->fd = -1;
    }
}

void cli_interrupt_listener_stop(struct cli_interrupt_listener *listener)
{
    if (listener->pid) {
        (void)kill(listener->pid, SIGKILL);
        (void)close(listener->fd);
    }
    listener->pid = 0;
    listener->fd = -1;
}

/* A command that lacks one of the variables is not started: it would take its
 * lock for another, or write without its fence. */
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
    /* The kernel kills the command whatever ends the guardian. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127);
    }
    if (plan->priority) {
        priority_restore(plan->priority);
    }
    cli_signals_restore(plan->signals);
    if (set_environment(plan)) {
        char shell[] = "sh";
        char option[] = "-c";
        char *words[] = {shell, option, plan->command[0], NULL};

        if (plan->is_shell) {
            (void)execv("/bin/sh", words);
        } else {
            (void)execvp(plan->command[0], plan->command);
        }
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
