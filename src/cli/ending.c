/* SPDX-License-Identifier: MIT */
/*
 * Decides how a command is ended: its group at once and first, so that none of
 * it escapes by forking and nothing delays it, and then by pid whoever left
 * the group. Whom we may not signal is named, once; all get their signal
 * before anybody is named. When it is ended, guardian.c decides.
 * Thread: as tree.h.
 */
#include "src/cli/ending.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* More names than this help nobody. */
#define NAMED_MAX 8
/* So long nothing else is heard. Who is left out of a tree as large gets
 * KILL, if nothing more. */
#define ASK_MS 500

struct named {
    pid_t pid;
    struct cli_facts facts;
};

/* One walk through the tree. */
struct round {
    struct cli_ending *ending;
    int number;
    pid_t passed; /* this group has its signal; 0: none has */
    int left_max; /* of those who live so many are named */
    int count;
    int left_count;
    int denied_count;
    struct named left[NAMED_MAX];
    struct named denied[CLI_REPORTED_MAX];
};

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

/* False: it does not live. */
static bool find_name(const struct cli_process *process, struct named *ret)
{
    ret->pid = process->pid;
    return cli_process_look(process, &ret->facts) &&
           cli_process_lives(&ret->facts);
}

static void note_denied(struct round *round, const struct cli_process *process)
{
    struct named *denied = &round->denied[round->denied_count];

    if (round->denied_count < CLI_REPORTED_MAX && find_name(process, denied) &&
        is_new(round->ending, process->pid)) {
        round->denied_count++;
    }
}

static void visit(void *arg, const struct cli_process *process)
{
    struct round *round = arg;
    bool is_passed = round->passed && getpgid(process->pid) == round->passed;

    round->count++;
    if (round->left_count < round->left_max) {
        round->left_count +=
            find_name(process, &round->left[round->left_count]);
    }
    if (!cli_process_signal(process, is_passed ? 0 : round->number)) {
        note_denied(round, process);
    }
    if (!is_passed && round->number == SIGTERM) {
        (void)cli_process_signal(process, SIGCONT);
    }
}

static void add_process(struct cli_text *fields, const struct named *named)
{
    cli_text_add(fields, ",\"pid\":%ld,\"process\":", (long)named->pid);
    cli_text_json(fields, named->facts.name);
}

static void tell_left(const struct named *left)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    add_process(&fields, left);
    cli_event("left", fields.data,
              "the command ended and left %s (pid %ld) behind; it is ended, "
              "too, before the lock is let go",
              left->facts.name, (long)left->pid);
}

static void tell_denied(const struct named *denied)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    add_process(&fields, denied);
    cli_event("denied", fields.data,
              "%s (pid %ld) belongs to another user and may not be "
              "signalled; it still runs, end it by hand",
              denied->facts.name, (long)denied->pid);
}

static void run(struct round *round, int64_t until_ns)
{
    (void)cli_tree_walk(&round->ending->tree, until_ns, visit, round);
    for (int i = 0; i < round->left_count; i++) {
        tell_left(&round->left[i]);
    }
    for (int i = 0; i < round->denied_count; i++) {
        tell_denied(&round->denied[i]);
    }
}

/* Its leader, or a child of ours in the group, alive or not, holds its number
 * until we wait for it. Is there none, the number may be a stranger's. */
static bool is_group_ours(const struct cli_ending *ending)
{
    siginfo_t info;

    return ending->group &&
           (ending->is_led || !waitid(P_PGID, (id_t)ending->group, &info,
                                      WEXITED | WNOHANG | WNOWAIT | __WALL));
}

void cli_ending_pass(const struct cli_ending *ending, int number)
{
    if (is_group_ours(ending)) {
        (void)kill(-ending->group, number);
    }
}

void cli_ending_ask(struct cli_ending *ending, int64_t until_ns, bool is_naming)
{
    struct round round = {.ending = ending,
                          .number = SIGTERM,
                          .left_max = is_naming ? NAMED_MAX : 0};
    int64_t limit_ns = cli_boot_ns() + ASK_MS * CLI_NS_PER_MS;

    if (is_group_ours(ending)) {
        (void)kill(-ending->group, SIGTERM);
        (void)kill(-ending->group, SIGCONT);
        round.passed = ending->group;
    }
    run(&round, until_ns < limit_ns ? until_ns : limit_ns);
}

int cli_ending_kill(struct cli_ending *ending)
{
    struct round round = {.ending = ending, .number = SIGKILL};

    cli_ending_pass(ending, SIGKILL);
    run(&round, INT64_MAX);
    return round.count;
}
