/* SPDX-License-Identifier: MIT */
/*
 * Decides what CMD gets that runs inside of another run: our process group,
 * our terminal and our environment as they are, and those signals that were
 * sent to us alone. What came from the keyboard or from the guardian of the
 * outer run went to the whole group, and a second copy would count twice.
 * Thread: main.
 */
#include "src/cli/passage.h"
#include "src/cli/around.h"
#include "src/cli/child.h"
#include "src/cli/environment.h"
#include "src/cli/event.h"
#include "src/cli/memory.h"
#include "src/cli/outcome.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void pass_on(const struct signalfd_siginfo *info, pid_t child)
{
    if (info->ssi_code != SI_KERNEL &&
        !cli_around_is_guardian((pid_t)info->ssi_pid)) {
        (void)kill(child, (int)info->ssi_signo);
    }
}

/* Until it ended; gives its status as of wait(). */
static int serve(const struct cli_signals *signals, pid_t child)
{
    struct pollfd source = {signals->fd, POLLIN, 0};
    int status = 0;

    for (;;) {
        struct signalfd_siginfo info;
        pid_t pid = waitpid(child, &status, WNOHANG);

        if (pid == child || (pid < 0 && errno != EINTR)) {
            return status;
        }
        (void)poll(&source, 1, -1);
        while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info) {
            if (info.ssi_signo != SIGCHLD) {
                pass_on(&info, child);
            }
        }
    }
}

void cli_passage(const struct cli_options *o, struct cli_result *result)
{
    struct cli_text environment CLI_AUTO(cli_text_fini) = {0};
    struct cli_signals signals;
    struct cli_child_plan plan = {
        .command = o->command,
        .is_shell = o->is_shell,
        .is_of_us = true,
        .signals = &signals,
    };
    int status = 0;
    int report;
    pid_t child;
    int code;

    cli_environment_guard(&environment, o);
    plan.environment = environment.data;
    plan.length = environment.length;
    if (cli_signals_setup(&signals)) {
        cli_event("internal", NULL, "run: cannot start: %s", strerror(errno));
        return;
    }
    code = cli_child_start(&plan, &child, &report);
    if (!code) {
        status = serve(&signals, child);
        code = cli_child_report(report);
        (void)close(report);
    }
    cli_outcome_child(o, code > 0 ? code : 0, status, result);
    (void)close(signals.fd);
}
