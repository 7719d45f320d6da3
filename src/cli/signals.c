/* SPDX-License-Identifier: MIT */
/*
 * Decides which signals the wrapper and the guardian see. What a signal does
 * is theirs. Thread: main of each process.
 */
#include "src/cli/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

static const int forwarded[] = {SIGTERM, SIGINT,   SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};

/* A child that nobody waits for would vanish without its status. */
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
    /* Taking the terminal back from behind, and a stderr that is gone, must
     * not stop or end who renews. */
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
