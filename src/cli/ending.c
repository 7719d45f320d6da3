/* SPDX-License-Identifier: MIT */
/*
 * Decides how a command is ended: its group at once, so that none of it
 * escapes by forking, and then by pid whoever left the group. Whom we may
 * not signal is named, once. When it is ended, guardian.c decides.
 * Thread: main of the guardian, or of the wrapper.
 */
#include "src/cli/ending.h"
#include "src/cli/event.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"

#include <signal.h>

/* More names than this help nobody. */
#define NAMED_MAX 8

static bool is_new(struct cli_ending *ending, pid_t pid)
{
    for (int i = 0; i < ending->reported_count; i++) {
        if (ending->reported[i] == pid) {
            return false;
        }
    }
    if (ending->reported_count == CLI_REPORTED_MAX) {
        return false;
    }
    ending->reported[ending->reported_count++] = pid;
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

struct membership {
    pid_t group;
    bool is_there;
};

static void find_member(void *arg, const struct cli_process *process,
                        bool is_denied)
{
    struct membership *wanted = arg;

    (void)is_denied;
    wanted->is_there |= process->group == wanted->group;
}

/* While its leader was not reaped, or a descendant of ours is in it, nobody
 * else can have the number. Where there is no /proc to see that, ending what
 * is left matters more. */
static bool is_group_ours(const struct cli_ending *ending)
{
    struct membership wanted = {ending->group, !ending->is_reaped};

    if (!wanted.is_there) {
        wanted.is_there |=
            cli_tree_signal(&ending->tree, 0, find_member, &wanted) < 0;
    }
    return ending->group && wanted.is_there;
}

void cli_ending_pass(const struct cli_ending *ending, int number)
{
    if (is_group_ours(ending)) {
        (void)kill(-ending->group, number);
    }
}

void cli_ending_ask(struct cli_ending *ending)
{
    struct cli_tree others = ending->tree;

    if (is_group_ours(ending)) {
        (void)kill(-ending->group, SIGTERM);
        (void)kill(-ending->group, SIGCONT);
        others.passed = ending->group;
    }
    (void)cli_tree_signal(&others, SIGTERM, NULL, NULL);
    (void)cli_tree_signal(&others, SIGCONT, NULL, NULL);
    (void)cli_tree_signal(&ending->tree, 0, tell_denied, ending);
}

void cli_ending_kill(struct cli_ending *ending)
{
    cli_ending_pass(ending, SIGKILL);
    (void)cli_tree_signal(&ending->tree, SIGKILL, tell_denied, ending);
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

void cli_ending_name_left(const struct cli_ending *ending)
{
    int count = 0;

    (void)cli_tree_signal(&ending->tree, 0, tell_left, &count);
}
