/* SPDX-License-Identifier: MIT */
/*
 * Decides what of the shell's words reaches the wrapper: each signal but the
 * stop that the wrapper itself asked for. A shell knows only its own child;
 * were that the one who renews, Ctrl-Z would cost the lock. The wrapper dies
 * with the front, and the front ends with the wrapper's code. Thread: main
 * of the front.
 */
#include "src/cli/front.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What comes with the wrapper's SIGTSTP. */
enum { STOP_JOB = 1, STOP_ALL = 2 };

struct front {
    pid_t wrapper;
    const struct cli_signals *signals;
};

static void end_with(int status)
{
    _exit(WIFEXITED(status) ? WEXITSTATUS(status)
                            : CLI_EXIT_SIGNAL + WTERMSIG(status));
}

static void reap(const struct front *f)
{
    pid_t pid;
    int status;

    do {
        pid = waitpid(-1, &status, WNOHANG);
        if (pid == f->wrapper) {
            end_with(status);
        }
    } while (pid > 0 || (pid < 0 && errno == EINTR));
}

/* As the terminal would stop us, or all of our job. In a group that no shell
 * could continue the kernel ignores it. Gives whether we were stopped. */
static bool stop(pid_t who)
{
    sigset_t only;
    sigset_t pending;

    (void)sigemptyset(&only);
    (void)sigaddset(&only, SIGTSTP);
    (void)kill(who, SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    (void)sigprocmask(SIG_BLOCK, &only, NULL);
    (void)sigpending(&pending);
    return sigismember(&pending, SIGCONT) == 1;
}

/* A script or a pipeline that we are part of stops with us, by one signal to
 * all: a second one could come after the shell let us go on. */
static void handle_stop(const struct front *f, int what)
{
    if (what == STOP_ALL) {
        (void)kill(f->wrapper, SIGSTOP);
        (void)stop(getpid());
        (void)kill(f->wrapper, SIGCONT);
    } else if (!stop(0)) {
        cli_event("stopped", NULL,
                  "there is no shell to continue it: Ctrl-Z lets it go on, "
                  "Ctrl-C ends it");
    }
}

static void handle(const struct front *f, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (number == SIGCHLD) {
        reap(f);
    } else if (number == SIGTSTP && (pid_t)info->ssi_pid == f->wrapper) {
        handle_stop(f, info->ssi_code == SI_QUEUE ? info->ssi_int : 0);
    } else {
        (void)kill(f->wrapper, number);
    }
}

_Noreturn static void be_front(const struct front *f)
{
    struct pollfd change = {f->signals->fd, POLLIN, 0};
    struct signalfd_siginfo info;

    (void)prctl(PR_SET_NAME, "holdfast-front");
    for (;;) {
        (void)poll(&change, 1, -1);
        while (cli_signals_take(f->signals, &info)) {
            handle(f, &info);
        }
    }
}

int cli_front_start(const struct cli_signals *signals,
                    const struct cli_terminal *terminal, pid_t *ret_front)
{
    struct front f = {.signals = signals};
    pid_t front = getpid();

    *ret_front = 0;
    if (terminal->fd < 0) {
        return 0;
    }
    f.wrapper = fork();
    if (f.wrapper < 0) {
        return -1;
    }
    if (f.wrapper) {
        (void)setpgid(f.wrapper, f.wrapper);
        be_front(&f);
    }
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != front) {
        _exit(CLI_EXIT_INTERNAL);
    }
    *ret_front = front;
    return 0;
}

void cli_front_stop(pid_t front, const struct cli_terminal *terminal)
{
    if (front && terminal->home) {
        (void)sigqueue(front, SIGTSTP, (union sigval){.sival_int = STOP_JOB});
    }
}

void cli_front_stop_all(pid_t front)
{
    (void)sigqueue(front, SIGTSTP, (union sigval){.sival_int = STOP_ALL});
}
