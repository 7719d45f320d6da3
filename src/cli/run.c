/* SPDX-License-Identifier: MIT */
/*
 * `run`: decides the order of steps (check, choose the store, fork the
 * guardian, only then open the store) and the exit code: the command's own, or
 * one of ours with one line that says why. A loss wins over everything. Thread:
 * main.
 */
#include "src/cli/claim.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/holder.h"
#include "src/cli/nested.h"
#include "src/cli/output.h"
#include "src/cli/report.h"
#include "src/cli/text.h"
#include "src/cli/waiting.h"
#include "src/cli/wrapper.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int check(const struct cli_options *o)
{
    int r = cli_lock_options_check(o);

    if (r) {
        return r;
    }
    if (o->lease_ms < CLI_RUN_LEASE_MIN_MS) {
        return cli_fail(CLI_EXIT_USAGE,
                        "run: --lease is below 1s; ending a command in time "
                        "needs that much");
    }
    if (o->grace_ms > o->lease_ms / 3 && cli_option_given(o, "grace")) {
        return cli_fail(CLI_EXIT_USAGE,
                        "run: --grace is more than a third of --lease");
    }
    if (o->is_shell && o->command[1]) {
        return cli_fail(CLI_EXIT_USAGE,
                        "run: -c takes one word after --; quote the command: "
                        "-c -- 'CMD ARGS | …'");
    }
    return 0;
}

static void plan(struct cli_wrapper *w)
{
    w->plan = (struct cli_guard_plan){
        .options = w->options,
        .signals = &w->signals,
        .terminal = &w->terminal,
        .hook = -1,
    };
    cli_limits_init(&w->plan.limits, w->options, w->options->lease_ms);
}

static int start_hook(struct cli_wrapper *w)
{
    int r = cli_hook_start(w->options, &w->signals, &w->hook);

    w->plan.hook = w->hook.fd;
    return r;
}

/* Become a subreaper before there are children: the kernel stores the flag in a
 * bit next to one that it then sets in all descendants, and a child that
 * becomes a subreaper at the same moment may lose its own. A guardian that
 * adopts no orphans would take its command's daemon for gone. */
static int start_children(struct cli_wrapper *w)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L);
    return start_hook(w) || cli_guardian_start(&w->plan, &w->guardian);
}

/* Set up everything that must exist before the first thread. */
static int prepare(struct cli_wrapper *w)
{
    (void)prctl(PR_SET_NAME, "holdfast");
    cli_event_be_patient(false);
    cli_terminal_open(&w->terminal);
    if (cli_signals_setup(&w->signals) ||
        cli_job_start(&w->signals, &w->terminal, &w->job) ||
        start_children(w)) {
        int code = errno;

        cli_event_be_patient(true);
        return cli_fail(CLI_EXIT_INTERNAL, "run: cannot start: %s",
                        strerror(code));
    }
    w->claim.options = w->options;
    w->claim.store = &w->store;
    w->claim.wait_ms = cli_lock_options_wait_ms(w->options);
    if (cli_claim_start(&w->claim)) {
        cli_event_be_patient(true);
        return cli_fail(CLI_EXIT_MEMORY, "run: cannot start a thread");
    }
    return 0;
}

static void name_signal(const struct cli_wrapper *w, struct cli_result *result)
{
    *result = (struct cli_result){"interrupted",
                                  CLI_EXIT_SIGNAL + w->wait_signal, -1, 0};
    cli_event(CLI_SAYS, "interrupted", NULL,
              "the wait for %s was ended by signal %d (%s)", w->options->name,
              w->wait_signal, strsignal(w->wait_signal));
}

/* Report the loss. `err` comes from the release, which says which of several
 * names was lost. */
static void name_loss(struct cli_wrapper *w, const hf_error *err,
                      struct cli_result *result)
{
    hf_reason reason = hf_lost_reason(w->claim.lock);

    result->outcome = "lost";
    result->status = (int)w->options->lost_exit;
    cli_event(CLI_QUIET, "released", ",\"confirmed\":false",
              "nothing was left to release");
    if (reason == HF_REASON_NONE && w->is_lapsed) {
        reason = HF_REASON_EXPIRED;
    }
    w->lost_reason = reason;
    if (w->options->locks.count && err->status == HF_LOST) {
        cli_event(CLI_SAYS, "lost-exit", NULL, "%s; exit %d", err->text,
                  result->status);
        return;
    }
    cli_event(CLI_SAYS, "lost-exit", NULL,
              "%s was lost while the command ran (%s); exit %d",
              w->options->name, hf_strreason(reason), result->status);
}

static void name_unconfirmed(const struct cli_wrapper *w, const hf_error *err,
                             struct cli_result *result)
{
    bool is_ours = result->status == CLI_EXIT_DONE;

    result->outcome = "unconfirmed";
    result->status = is_ours ? CLI_EXIT_UNCONFIRMED : result->status;
    cli_event(CLI_SAYS, "unconfirmed", NULL,
              "the command ended, but the store did not confirm the release of "
              "%s, which may stay taken until its lease ends: %s",
              w->options->name, err->text);
}

/* How the run ended, for --once-per and --retry-failed. */
static enum cli_lock_options_end end_of(const struct cli_wrapper *w)
{
    bool is_fine = !w->is_overrun && w->is_child_done &&
                   WIFEXITED(w->child_status) && !WEXITSTATUS(w->child_status);

    return !w->child && !w->exec_errno ? CLI_OPTIONS_UNUSED
           : is_fine                   ? CLI_OPTIONS_USED
                                       : CLI_OPTIONS_FAILED;
}

static void release(struct cli_wrapper *w, struct cli_result *result)
{
    hf_error err = HF_ERROR_INIT;
    int r;

    *result = (struct cli_result){"exited", CLI_EXIT_DONE, -1, 0};
    w->ended_ns = cli_boot_ns();
    cli_lock_options_settle(w->options, w->claim.lock, end_of(w));
    r = hf_release(w->claim.lock, &err);
    cli_event_be_patient(true);
    if (!w->exec_errno && !w->is_child_done) {
        result->outcome = "internal";
        result->status = CLI_EXIT_INTERNAL;
    } else {
        cli_outcome_child(w->options, w->exec_errno, w->child_status, result);
    }
    if (w->is_overrun) {
        result->outcome = "max-run";
        result->status = CLI_EXIT_MAXRUN;
    }
    if (w->is_lost || w->is_lapsed || r == HF_LOST) {
        name_loss(w, &err, result);
    } else if (r) {
        name_unconfirmed(w, &err, result);
    } else {
        cli_event(CLI_QUIET, "released", ",\"confirmed\":true",
                  "%s is released", w->options->name);
    }
}

static void tell_acquired(const struct cli_wrapper *w)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    struct cli_text names CLI_AUTO(cli_text_fini) = {0};
    unsigned long long fence = hf_fence(w->claim.lock);

    cli_text_add(&fields, ",\"fence\":%llu,\"lease_ms\":%lld", fence,
                 (long long)cli_claim_lease_ms(&w->claim));
    cli_names_json(&fields, w->claim.lock);
    cli_text_add(&fields, ",");
    cli_caps_json(&fields, &w->claim.caps);
    cli_caps_line(&line, &w->claim.caps);
    cli_names_line(&names, w->options);
    cli_event(CLI_QUIET, "acquired", fields.data, "%s %s held, fence %llu; %s",
              names.data, hf_count(w->claim.lock) > 1 ? "are" : "is", fence,
              line.data);
}

static void end_held(struct cli_wrapper *w, struct cli_result *result)
{
    if (w->wait_signal) {
        hf_error err = HF_ERROR_INIT;

        name_signal(w, result);
        cli_lock_options_settle(w->options, w->claim.lock, CLI_OPTIONS_UNUSED);
        if (hf_release(w->claim.lock, &err) < 0) {
            cli_event(CLI_SAYS, "unconfirmed", NULL,
                      "the release was not confirmed: %s", err.text);
        }
        return;
    }
    tell_acquired(w);
    cli_claim_tell_takeover(&w->claim);
    /* Warn once, before it can matter. */
    if (w->plan.limits.on_lost == CLI_ON_LOST_IGNORE) {
        cli_event(CLI_SAYS, "warning", NULL,
                  "warning: with --on-lost ignore the command goes on when %s "
                  "is lost, beside the next holder; only a check of "
                  "HOLDFAST_FENCE keeps the two apart",
                  w->options->name);
    }
    cli_wrapper_serve(w);
    release(w, result);
}

static int run(struct cli_wrapper *w)
{
    struct cli_result result = {"internal", CLI_EXIT_INTERNAL, -1, 0};
    enum cli_claim_phase phase = cli_wrapper_wait(w);

    if (phase < CLI_CLAIM_HELD || phase == CLI_CLAIM_FAILED) {
        cli_event_be_patient(true);
    }
    if (phase == CLI_CLAIM_HELD || phase == CLI_CLAIM_ENDED) {
        end_held(w, &result);
        cli_event_be_patient(true);
    } else if (w->wait_signal) {
        name_signal(w, &result);
    } else if (phase == CLI_CLAIM_FAILED) {
        cli_failure_name(w->options, &w->claim, &result);
    } else {
        cli_event(CLI_SAYS, "internal", NULL, "the guardian process died");
    }
    (void)close(w->guardian.channel);
    if (!w->guardian.is_reaped) {
        (void)kill(w->guardian.pid, SIGCONT);
        while (waitpid(w->guardian.pid, NULL, 0) < 0 && errno == EINTR) {
            continue;
        }
    }
    cli_hook_finish(&w->hook);
    cli_result_tell(w->options, &result);
    cli_metrics_tell(w, &result);
    if (phase == CLI_CLAIM_OPENING) {
        /* The thread is still in hf_open() and holds nothing, so it need not be
         * waited for. */
        cli_worker_leave(w->claim.worker);
        _exit(result.status);
    }
    cli_waiting_finish(&w->waiting);
    cli_claim_finish(&w->claim);
    return result.status;
}

/* The command line is right, but no store could be chosen, or no process
 * started. The status file is written, so that an old one is not taken for
 * ours. */
static void tell_not_started(const struct cli_wrapper *w, int code)
{
    struct cli_result result = {"internal", code, -1, 0};

    result.outcome = code == CLI_EXIT_CONFIG   ? "configuration"
                     : code == CLI_EXIT_MEMORY ? "no-memory"
                                               : "internal";
    cli_result_tell(w->options, &result);
    cli_metrics_tell(w, &result);
}

/* The last part of the command's path, as the label; a percent sign is doubled,
 * so that it begins no field. */
static const char *label_of(const struct cli_options *o,
                            char to[HF_NOTE_MAX + 1])
{
    const char *command = o->is_shell ? "sh" : o->command[0];
    const char *slash = strrchr(command, '/');
    size_t n = 0;

    for (const char *c = slash ? slash + 1 : command;
         *c && n + (*c == '%') < HF_NOTE_MAX; c++) {
        if (*c == '%') {
            to[n++] = '%';
        }
        to[n++] = *c;
    }
    to[n] = '\0';
    return to;
}

int cli_run(const struct cli_options *given)
{
    struct cli_options options = *given;
    char label[HF_NOTE_MAX + 1];
    struct cli_wrapper w = {.options = &options, .kill_ns = INT64_MAX};
    int r = cli_event_setup(&options);

    r = r ? r : cli_result_check(&options);
    if (r) {
        return r;
    }
    r = check(&options);
    if (r) {
        cli_result_tell(&options, &(struct cli_result){"usage", r, -1, 0});
        return r;
    }
    w.started_ns = cli_boot_ns();
    r = cli_store_choose(&options, &w.store);
    if (r) {
        tell_not_started(&w, r);
        return r;
    }
    if (cli_nested(&options, &w.store, &r)) {
        cli_store_fini(&w.store);
        return r;
    }
    if (!options.owner) {
        options.owner = label_of(&options, label);
    }
    w.store.level = options.is_verbose ? HF_LOG_INFO : HF_LOG_WARN;
    plan(&w);
    r = prepare(&w);
    if (r) {
        tell_not_started(&w, r);
    }
    r = r ? r : run(&w);
    cli_store_fini(&w.store);
    return r;
}
