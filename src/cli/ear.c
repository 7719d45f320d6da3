/* SPDX-License-Identifier: MIT */
/*
 * Decides that only the terminal's own SIGINT counts, not one that a program
 * sends to its group. The ear is killed with the group and holds nothing
 * that outlives it. Thread: main of the guardian.
 */
#include "src/cli/ear.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

_Noreturn static void listen_for(pid_t parent, int fd)
{
    siginfo_t info;
    sigset_t wanted;
    char byte = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "holdfast-ear");
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

void cli_ear_start(struct cli_ear *ear, pid_t group)
{
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        return;
    }
    ear->pid = fork();
    if (!ear->pid) {
        (void)setpgid(0, group);
        listen_for(parent, ends[1]);
    }
    (void)close(ends[1]);
    if (ear->pid < 0) {
        ear->pid = 0;
        (void)close(ends[0]);
        return;
    }
    (void)setpgid(ear->pid, group);
    ear->fd = ends[0];
}

int cli_ear_count(const struct cli_ear *ear)
{
    char bytes[16];
    ssize_t n = ear->fd < 0 ? 0 : read(ear->fd, bytes, sizeof bytes);

    return n > 0 ? (int)n : 0;
}

void cli_ear_reaped(struct cli_ear *ear, pid_t pid)
{
    if (ear->pid && ear->pid == pid) {
        (void)close(ear->fd);
        ear->pid = 0;
        ear->fd = -1;
    }
}

void cli_ear_stop(struct cli_ear *ear)
{
    if (ear->pid) {
        (void)kill(ear->pid, SIGKILL);
        (void)close(ear->fd);
    }
    ear->pid = 0;
    ear->fd = -1;
}
