/* SPDX-License-Identifier: MIT */
/*
 * How a command is ended: its group first and at once, so that no member
 * escapes by forking and nothing delays it; then, by pid, each process that
 * left the group. A process that we may not signal is named, once; all get
 * their signal before any is named. guardian.c decides when to end the command.
 * The line of --lost-hook runs once, by /bin/sh -c, in a process group of its
 * own, with no input, its output on stderr, and for at most ten seconds; then
 * all its processes are killed. Its exit code is reported, and nothing depends
 * on it. The process that waits here ends when no process is left that could
 * start the hook. Thread: ending as tree.h, the hook main of its process.
 */
#include "src/cli/hook.h"
#include "src/cli/channel.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The most processes that one round names. */
#define NAMED_MAX 8
/* The longest round of TERM, during which no message is read. A process that it
 * misses in a larger tree still gets KILL. */
#define ASK_MS 500

struct named {
    pid_t pid;
    struct cli_process_stat stat;
};

/* One walk through the tree. */
struct round {
    struct cli_ending *ending;
    int number;
    pid_t passed; /* this group got its signal already; 0: none did */
    int left_max; /* how many live processes to name */
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

/* Returns false if the process is dead. */
static bool find_name(const struct cli_process *process, struct named *ret)
{
    ret->pid = process->pid;
    return cli_process_look(process, &ret->stat) &&
           cli_process_lives(&ret->stat);
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
        struct named *denied = &round->denied[round->denied_count];

        if (round->denied_count < CLI_REPORTED_MAX &&
            find_name(process, denied) && is_new(round->ending, process->pid)) {
            round->denied_count++;
        }
    }
    if (!is_passed && round->number == SIGTERM) {
        (void)cli_process_signal(process, SIGCONT);
    }
}

static void add_process(struct cli_text *fields, const struct named *named)
{
    cli_text_add(fields, ",\"pid\":%ld,\"process\":", (long)named->pid);
    cli_text_json(fields, named->stat.name);
}

static void tell_left(const struct named *left)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    add_process(&fields, left);
    cli_event(CLI_SAYS, "left", fields.data,
              "the command ended and left %s (pid %ld) behind; it is ended, "
              "too, before the lock is let go",
              left->stat.name, (long)left->pid);
}

static void tell_denied(const struct named *denied)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    add_process(&fields, denied);
    cli_event(CLI_SAYS, "denied", fields.data,
              "%s (pid %ld) belongs to another user and may not be "
              "signalled; it still runs, end it by hand",
              denied->stat.name, (long)denied->pid);
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

/* A group's number is ours while its leader is not reaped, or any child of ours
 * is in the group, alive or not. Otherwise it may belong to another process. */
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

#define LIMIT_MS 10000
/* The pause between two rounds of KILL, and the most rounds. */
#define SWEEP_MS 20
#define SWEEPS   100
/* The most children reaped before the time is checked. */
#define REAP_MAX 256

struct word {
    uint64_t fence;  /* 0: the message is a reason */
    char reason[24]; /* "": the message is a fence */
};

struct hook {
    const struct cli_options *options;
    const struct cli_signals *before; /* the caller's signal mask */
    struct cli_signals signals;
    struct cli_ending ending;
    struct word order;
    bool is_exited; /* the shell was reaped */
    int status;     /* wait status of the shell, once it was reaped */
    bool is_behind; /* more dead children are to be reaped */
};

static void tell(int fd, const struct word *word)
{
    ssize_t n;

    do {
        n = fd < 0 ? 0 : write(fd, word, sizeof *word);
    } while (n < 0 && errno == EINTR);
}

void cli_hook_arm(int fd, uint64_t fence)
{
    struct word word = {.fence = fence};

    tell(fd, &word);
}

void cli_hook_order(int fd, const char *reason)
{
    struct word word = {0};

    (void)snprintf(word.reason, sizeof word.reason, "%s", reason);
    tell(fd, &word);
}

/* Wait until the hook must run. Returns false if the wrapper and the guardian
 * both exited. */
static bool wait_for_order(struct hook *h, int fd)
{
    uint64_t fence = 0;
    ssize_t n;

    do {
        n = read(fd, &h->order, sizeof h->order);
        fence = n > 0 && h->order.fence ? h->order.fence : fence;
    } while ((n < 0 && errno == EINTR) || (n > 0 && !h->order.reason[0]));
    h->order.fence = fence;
    return n > 0;
}

/* Set the hook's variables, and remove those of an outer run, which describe
 * another lock. */
static void set_environment(const struct hook *h)
{
    char fence[24];

    (void)snprintf(fence, sizeof fence, "%" PRIu64, h->order.fence);
    (void)unsetenv("HOLDFAST_TOKEN");
    (void)unsetenv("HOLDFAST_FENCES");
    (void)unsetenv("HOLDFAST_SLOT");
    (void)unsetenv("HOLDFAST_STORE");
    (void)unsetenv("HOLDFAST_DEADLINE_MS");
    if (!h->options->is_pass_password) {
        (void)unsetenv(CLI_ENVIRONMENT_PASSWORD);
    }
    (void)setenv("HOLDFAST_NAME", h->options->name, 1);
    (void)setenv("HOLDFAST_FENCE", fence, 1);
    (void)setenv("HOLDFAST_LOST_REASON", h->order.reason, 1);
}

_Noreturn static void become_shell(const struct hook *h)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    set_environment(h);
    cli_signals_restore(h->before);
    (void)execl("/bin/sh", "sh", "-c", h->options->lost_hook, (char *)NULL);
    _exit(127);
}

/* Reap what ended; returns whether any process is left. An orphan may get the
 * shell's pid after the shell was reaped, so is_exited is checked. */
static bool reap(struct hook *h)
{
    int left = REAP_MAX;
    int status;
    pid_t pid;

    (void)cli_signals_next(&h->signals);
    do {
        pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0 && pid == h->ending.group && !h->is_exited) {
            h->is_exited = true;
            h->status = status;
        }
    } while ((pid > 0 && --left > 0) || (pid < 0 && errno == EINTR));
    h->is_behind = pid > 0;
    return pid >= 0;
}

/* Returns whether all its processes ended in time. */
static bool wait_for_end(struct hook *h)
{
    struct pollfd change = {h->signals.fd, POLLIN, 0};
    int64_t end_ns = cli_boot_ns() + LIMIT_MS * CLI_NS_PER_MS;
    int64_t left_ms = LIMIT_MS;

    while (reap(h)) {
        if (left_ms <= 0) {
            return false;
        }
        (void)poll(&change, 1, h->is_behind ? 0 : (int)left_ms);
        left_ms = (end_ns - cli_boot_ns()) / CLI_NS_PER_MS + 1;
    }
    return true;
}

static void tell_end(const struct hook *h, bool is_ended)
{
    char fields[64];
    bool is_exit = WIFEXITED(h->status);
    int number = is_exit ? WEXITSTATUS(h->status) : WTERMSIG(h->status);

    (void)snprintf(fields, sizeof fields, ",\"hook_%s\":%d",
                   is_exit ? "exit" : "signal", number);
    if (!is_ended) {
        cli_event(CLI_SAYS, "lost-hook", h->is_exited ? fields : NULL,
                  "--lost-hook did not end within %d s and was killed",
                  LIMIT_MS / 1000);
    } else if (is_exit && !number) {
        cli_event(CLI_QUIET, "lost-hook", fields, "--lost-hook is done");
    } else {
        cli_event(CLI_SAYS, "lost-hook", fields, "--lost-hook ended with %s %d",
                  is_exit ? "exit code" : "signal", number);
    }
}

static void perform(struct hook *h)
{
    pid_t pid = fork();
    bool is_ended;

    if (!pid) {
        become_shell(h);
    }
    if (pid < 0) {
        cli_event(CLI_SAYS, "lost-hook", NULL,
                  "--lost-hook could not be started");
        return;
    }
    (void)setpgid(pid, pid);
    h->ending.group = pid;
    is_ended = wait_for_end(h);
    if (!is_ended) {
        int sweeps = 0;

        do {
            (void)cli_ending_kill(&h->ending);
            (void)poll(NULL, 0, SWEEP_MS);
        } while (reap(h) && ++sweeps < SWEEPS);
    }
    tell_end(h, is_ended);
}

_Noreturn static void be_hook(const struct cli_options *o,
                              const struct cli_signals *before, int fd)
{
    struct hook h = {.options = o, .before = before, .signals = *before};

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_NAME, "holdfast-hook");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L);
    if (!cli_signals_guard(&h.signals) && wait_for_order(&h, fd)) {
        perform(&h);
    }
    _exit(0);
}

int cli_hook_start(const struct cli_options *o,
                   const struct cli_signals *signals, struct cli_hook *ret_hook)
{
    int ends[2];

    *ret_hook = (struct cli_hook){.fd = -1};
    if (!o->lost_hook) {
        return 0;
    }
    if (pipe2(ends, O_CLOEXEC)) {
        return -1;
    }
    ret_hook->pid = fork();
    if (!ret_hook->pid) {
        (void)close(ends[1]);
        be_hook(o, signals, ends[0]);
    }
    (void)close(ends[0]);
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    ret_hook->fd = ends[1];
    return ret_hook->pid < 0 ? -1 : 0;
}

void cli_hook_finish(struct cli_hook *hook)
{
    if (hook->fd < 0) {
        return;
    }
    (void)close(hook->fd);
    if (!hook->is_reaped) {
        (void)kill(hook->pid, SIGCONT);
        while (waitpid(hook->pid, NULL, 0) < 0 && errno == EINTR) {
            continue;
        }
    }
}
