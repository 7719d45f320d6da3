/* SPDX-License-Identifier: MIT */
/*
 * Decides the exit code and the outcome of a command that ended by itself or
 * could not be started; 126 and 127 are told as a shell does. Thread: main.
 */
#include "src/cli/outcome.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

void cli_outcome_child(const struct cli_options *o, int exec_errno, int status,
                       struct cli_result *result)
{
    if (exec_errno == ENOMEM) {
        result->outcome = "no-memory";
        result->status = CLI_EXIT_MEMORY;
        cli_event(result->outcome, NULL, "cannot run %s: out of memory",
                  o->is_shell ? "/bin/sh" : o->command[0]);
    } else if (exec_errno) {
        bool is_missing = exec_errno == ENOENT || exec_errno == ENOTDIR;

        result->outcome = is_missing ? "not-found" : "not-executable";
        result->status = is_missing ? CLI_EXIT_NOTFOUND : CLI_EXIT_NOEXEC;
        cli_event(result->outcome, NULL, "cannot run %s: %s",
                  o->is_shell ? "/bin/sh" : o->command[0],
                  strerror(exec_errno));
    } else if (WIFSIGNALED(status)) {
        result->outcome = "signaled";
        result->child_signal = WTERMSIG(status);
        result->status = CLI_EXIT_SIGNAL + result->child_signal;
    } else {
        result->outcome = "exited";
        result->child_exit = WEXITSTATUS(status);
        result->status = result->child_exit;
    }
}
