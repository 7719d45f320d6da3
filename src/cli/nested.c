/* SPDX-License-Identifier: MIT */
/*
 * Decides whether the lock from the environment is still held, and what a run
 * inside of it does. A grant is known by its fence, which no other grant of the
 * name ever has, so one read of the store is enough, and nothing there changes.
 * A run is around us if a guardian is among our ancestors whose parent, the
 * wrapper, is the process that the store names as the holder: only that
 * guardian ends us when its lock is lost. Variables prove nothing, because they
 * are copied with the environment.
 * CMD then runs without a guardian of its own, in our process group, with our
 * terminal and environment, and gets the signals that were sent to us alone.
 * Signals from the keyboard or from the outer run's guardian went to the whole
 * group, and a second copy would count twice. Thread: main.
 */
#include "src/cli/nested.h"
#include "src/cli/channel.h"
#include "src/cli/child.h"
#include "src/cli/claim.h"
#include "src/cli/event.h"
#include "src/cli/file.h"
#include "src/cli/holder.h"
#include "src/cli/output.h"
#include "src/cli/text.h"
#include "src/cli/tree.h"
#include "src/cli/waiting.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* No process tree is deeper; the limit also ends a climb through a tree that
 * changes meanwhile. */
#define DEPTH_MAX 100000

/* *ret_parent is 0 if no parent is visible. */
static bool is_guardian(pid_t pid, pid_t *ret_parent)
{
    const struct cli_process process = {pid, -1};
    struct cli_process_stat stat = {0};
    bool is_seen = cli_process_look(&process, &stat);

    *ret_parent = is_seen ? stat.parent : 0;
    return is_seen && !strcmp(stat.name, "holdfast-guard");
}

/* Tell whether the run whose wrapper is `holder` has us in its tree, so that
 * its guardian ends us, too. Also false where /proc does not show it: in
 * another PID namespace, or to a user who may not see it. */
static bool enclosing_is(pid_t holder)
{
    pid_t pid = getppid();

    for (int depth = 0; pid > 0 && depth < DEPTH_MAX; depth++) {
        pid_t parent;

        if (is_guardian(pid, &parent) && parent > 0 && parent == holder) {
            return true;
        }
        pid = parent;
    }
    return false;
}

static void pass_on(const struct signalfd_siginfo *info, pid_t child)
{
    pid_t parent;

    if (info->ssi_code != SI_KERNEL &&
        !is_guardian((pid_t)info->ssi_pid, &parent)) {
        (void)kill(child, (int)info->ssi_signo);
    }
}

/* Pass on signals until the child ended; returns its status as of wait(). */
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

/* Run the command and wait for its end. */
static void nested_run(const struct cli_options *o, struct cli_result *result)
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
        cli_event(CLI_SAYS, "internal", NULL, "run: cannot start: %s",
                  strerror(errno));
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

#define HOST_SIZE 256

struct nested {
    const struct cli_options *options;
    const char *name;       /* the name that the outer run holds */
    struct cli_claim claim; /* the facts that waiting.c reports */
    uint64_t fence;         /* the outer grant's fence */
    struct cli_result result;
};

static bool read_fence(uint64_t *ret_fence)
{
    const char *text = getenv("HOLDFAST_FENCE");
    char *end;

    if (!text || *text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    *ret_fence = strtoull(text, &end, 10);
    return !errno && !*end;
}

/* Find which of our names the environment says is held around us. */
static const char *find_carried(const struct cli_options *o)
{
    const char *name = getenv("HOLDFAST_NAME");
    const char *token = getenv("HOLDFAST_TOKEN");

    if (!name || !token || !cli_token_is_one(token)) {
        return NULL;
    }
    for (int i = 0; i < cli_names_count(o); i++) {
        if (!strcmp(name, cli_names_at(o, i))) {
            return cli_names_at(o, i);
        }
    }
    return NULL;
}

/* Read the lock from the store. Returns 0, or a status that claim.err
 * explains. */
static int look(struct nested *n)
{
    struct cli_claim *claim = &n->claim;
    int r = cli_store_open(claim->store, &claim->client, &claim->err);

    claim->caps = (hf_caps_info)HF_CAPS_INFO_INIT;
    r = r ? r : hf_caps(claim->client, &claim->caps);
    return r ? r
             : hf_inspect(claim->client, n->name, &claim->info, &claim->err);
}

/* The outer grant among the present ones; NULL: it ended. */
static const hf_info *find_outer(const struct nested *n)
{
    return cli_holder_with(n->claim.info, n->fence);
}

/* A dead holder's lock does not count as held: anybody may take it. */
static bool is_held(const struct nested *n)
{
    const hf_info *outer = find_outer(n);

    return outer && hf_info_holder_lives(outer) != 0;
}

static void name_lost(struct nested *n)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    const hf_info *info = n->claim.info;

    n->result.outcome = "lost";
    n->result.status = (int)n->options->lost_exit;
    cli_text_clean(&line, n->name);
    cli_text_add(&line, " is no longer held by the enclosing run, ");
    if (hf_info_presence(info) == HF_HELD_BY && !find_outer(n)) {
        cli_text_add(&line, "but by ");
        cli_holder_line(&line, info);
    } else {
        cli_text_add(&line, "nor by anybody else");
    }
    cli_event(CLI_FAILS, "lost-exit", NULL,
              "%s; the command was not started; exit %d", line.data,
              n->result.status);
}

/* Read the host name in the same way as the library, which writes it to the
 * store. */
static void read_host(char ret_host[HOST_SIZE])
{
    memset(ret_host, 0, HOST_SIZE);
    (void)gethostname(ret_host, HOST_SIZE - 1);
}

/* Compare the host, because on another one the pid is another process's: in
 * containers it is 1. */
static bool is_of_here(const hf_info *outer)
{
    const char *host = hf_info_host(outer);
    char ours[HOST_SIZE];

    read_host(ours);
    return *ours && host && !strcmp(host, ours);
}

/* Tell whether a run renews the grant and ends us when it is lost. */
static bool is_guarded(const struct nested *n)
{
    const hf_info *outer = find_outer(n);

    return is_of_here(outer) && enclosing_is((pid_t)hf_info_pid(outer));
}

static void name_deadlock(struct nested *n)
{
    const char *enclosing =
        is_guarded(n) ? "the enclosing run, which waits for us"
                      : "the token in HOLDFAST_TOKEN; this would wait "
                        "for who has it";
    bool may_pass = is_guarded(n) && n->options->verb == CLI_RUN &&
                    !n->options->locks.count;

    n->result.outcome = cli_outcome_of(HF_DEADLOCK);
    n->result.status = (int)n->options->busy_exit;
    cli_event(CLI_FAILS, n->result.outcome, NULL, "%s is held by %s%s", n->name,
              enclosing,
              may_pass ? "; with --reentrant the command runs under that lock"
                       : "");
}

static void pass(struct nested *n)
{
    cli_event(CLI_QUIET, "reentered", NULL,
              "%s is held by the enclosing run, fence %" PRIu64
              "; the command runs under it",
              n->name, n->fence);
    /* No thread of the library may exist when the process forks. */
    hf_close(n->claim.client);
    n->claim.client = NULL;
    nested_run(n->options, &n->result);
}

static void say_unguarded(struct cli_text *line, const hf_info *outer)
{
    char ours[HOST_SIZE];

    if (is_of_here(outer)) {
        cli_text_add(line, ", but by no enclosing run, which would renew it "
                           "and end the command before it is lost");
        return;
    }
    read_host(ours);
    cli_text_add(line, " from the host \"");
    cli_text_clean(line, hf_info_host(outer) ? hf_info_host(outer) : "");
    cli_text_add(line, "\"; on this one, \"");
    cli_text_clean(line, ours);
    cli_text_add(line, "\", it cannot be told whether an enclosing run renews "
                       "it and ends the command before it is lost");
}

/* The grant exists, but no guardian would end the command when it is lost. */
static void name_unguarded(struct nested *n)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};

    n->result.outcome = cli_outcome_of(HF_EUNSAFE);
    n->result.status = CLI_EXIT_UNSAFE;
    say_unguarded(&line, find_outer(n));
    cli_event(
        CLI_FAILS, n->result.outcome, NULL,
        "%s is held by the token in HOLDFAST_TOKEN%s; lock %s by `holdfast "
        "run` alone, without `holdfast acquire` before it and without "
        "--reentrant",
        n->name, line.data, n->name);
}

/* Returns false if the lock does not concern this run. */
static bool decide(struct nested *n)
{
    bool is_reentrant = n->options->is_reentrant;
    int r = look(n);

    if (r && is_reentrant) {
        n->claim.status = r;
        cli_failure_name(n->options, &n->claim, &n->result);
    } else if (!r && is_reentrant) {
        if (!is_held(n)) {
            name_lost(n);
        } else if (!is_guarded(n)) {
            name_unguarded(n);
        } else {
            pass(n);
        }
    } else if (!r && is_held(n)) {
        name_deadlock(n);
        return true;
    }
    return is_reentrant;
}

/* The token came by another way than from a run, without its fence. */
static bool name_unknown(struct nested *n)
{
    n->result.outcome = "usage";
    n->result.status =
        cli_fail(CLI_EXIT_USAGE,
                 "run: --reentrant: without HOLDFAST_FENCE it cannot be told "
                 "whether HOLDFAST_TOKEN still holds %s; the command of a run "
                 "has both, pass on all HOLDFAST_ variables or none",
                 n->name);
    cli_result_tell(n->options, &n->result);
    return true;
}

bool cli_nested(const struct cli_options *o, const struct cli_store *store,
                int *ret_code)
{
    struct nested n = {
        .options = o,
        .name = find_carried(o),
        .claim = {.options = o, .store = store, .err = HF_ERROR_INIT},
        .result = {"internal", CLI_EXIT_INTERNAL, -1, 0},
    };
    bool is_done;

    if (!n.name) {
        return false;
    }
    if (!read_fence(&n.fence) || !n.fence) {
        *ret_code = CLI_EXIT_USAGE;
        return o->is_reentrant && name_unknown(&n);
    }
    is_done = decide(&n);
    hf_info_free(n.claim.info);
    hf_close(n.claim.client);
    if (is_done) {
        cli_result_tell(o, &n.result);
    }
    *ret_code = n.result.status;
    return is_done;
}
