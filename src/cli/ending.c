/* SPDX-License-Identifier: MIT */
/*
 * Decides how a command is ended: its group at once, so that none of it
 * escapes by forking, and then by pid whoever left the group. Whom we may
 * not signal is named, once. When it is ended, guardian.c decides.
 * Thread: main of the guardian.
 */
#include "src/cli/ending.h"
#include "src/cli/event.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"

#include <signal.h>

/* More names than this help nobody. */
#define NAMED_MAX 8

static bool is_new(struct cli_reported *reported, pid_t pid)
{
    for (int i = 0; i < reported->count; i++) {
        if (reported->pids[i] == pid) {
            return false;
        }
    }
    if (reported->count < CLI_REPORTED_MAX) {
        reported->pids[reported->count++] = pid;
    }
    return true;
}

static void add_process(struct cli_text *fields,
                        const struct cli_process *process)
{
    cli_text_add(fields, ",\"pid\":%ld,\"process\":", (long)process->pid);
    cli_text_json(fields, process->name);
}

static void tell_denied(void *arg, const struct cli_process *process,
                        bool is_denied)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    if (!is_denied || !is_new(arg, process->pid)) {
        return;
    }
    add_process(&fields, process);
    cli_event("denied", fields.data,
              "%s (pid %ld) belongs to another user and may not be "
              "signalled; it still runs, end it by hand",
              process->name, (long)process->pid);
}

void cli_ending_ask(const struct cli_tree *tree, pid_t group,
                    struct cli_reported *reported)
{
    struct cli_tree others = *tree;

    (void)kill(-group, SIGTERM);
    (void)kill(-group, SIGCONT);
    others.passed = group;
    (void)cli_tree_signal(&others, SIGTERM, NULL, NULL);
    (void)cli_tree_signal(&others, SIGCONT, NULL, NULL);
    (void)cli_tree_signal(tree, 0, tell_denied, reported);
}

void cli_ending_kill(const struct cli_tree *tree, pid_t group,
                     struct cli_reported *reported)
{
    (void)kill(-group, SIGKILL);
    (void)cli_tree_signal(tree, SIGKILL, tell_denied, reported);
}

static void tell_left(void *arg, const struct cli_process *process,
                      bool is_denied)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    (void)is_denied;
    if (++*(int *)arg > NAMED_MAX) {
        return;
    }
    add_process(&fields, process);
    cli_event("left", fields.data,
              "the command ended and left %s (pid %ld) behind; it is ended, "
              "too, before the lock is let go",
              process->name, (long)process->pid);
}

int cli_ending_name_left(const struct cli_tree *tree)
{
    int count = 0;

    return cli_tree_signal(tree, 0, tell_left, &count);
}
