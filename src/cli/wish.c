/* SPDX-License-Identifier: MIT */
/*
 * Decides which wishes contradict each other, and how options of the command
 * become options of the library. How the lock is then got is claim.c's.
 * Thread: main checks; any thread may fill.
 */
#include "src/cli/wish.h"
#include "src/cli/duration.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"
#include "src/cli/names.h"
#include "src/cli/say.h"

#include <stdio.h>

/* 0: starts are not counted. */
static int64_t once_ms(const struct cli_options *o)
{
    return o->once_ms > 0 ? o->once_ms : o->once_key ? HF_FOREVER : 0;
}

int cli_wish_check(const struct cli_options *o)
{
    int r = cli_names_check(o);

    if (r) {
        return r;
    }
    if (o->is_reentrant && o->locks.count) {
        return cli_fail(CLI_EXIT_USAGE,
                        "run: --reentrant is for one name, without --lock");
    }
    if (o->is_try && o->wait_ms && cli_option_given(o, "wait")) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: --try and --wait exclude each other",
                        cli_verb_table[o->verb].word);
    }
    if (o->is_shared && o->slots > 0) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: --shared and --slots exclude each other: shared "
                        "has no limit, slots are one",
                        cli_verb_table[o->verb].word);
    }
    if (o->min_hold_ms && (o->is_shared || o->slots > 0)) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: --min-hold is for a lock that one holds alone: "
                        "leave out --%s, or --min-hold",
                        cli_verb_table[o->verb].word,
                        o->is_shared ? "shared" : "slots");
    }
    if (o->is_retry_failed && !once_ms(o)) {
        return cli_fail(CLI_EXIT_USAGE,
                        "run: --retry-failed takes back the mark of a start, "
                        "so it needs --once-per DUR or --once-key KEY");
    }
    return 0;
}

/* Whom it keeps out ends with us, and nobody else comes. */
static bool is_vain(const struct cli_options *o, const hf_caps_info *caps)
{
    return caps->reach == HF_REACH_PROCESS &&
           (!o->reach || o->verb == CLI_ACQUIRE);
}

static int refuse_vain(const struct cli_options *o, hf_error *err)
{
    (void)snprintf(err->text, sizeof err->text,
                   "a lock in this store ends with this process and excludes "
                   "no other; use another store%s",
                   o->verb == CLI_ACQUIRE ? ""
                                          : ", or for a test --reach process");
    err->status = HF_EUNSAFE;
    return HF_EUNSAFE;
}

int cli_wish_fits(const struct cli_options *o, const hf_caps_info *caps,
                  hf_error *err)
{
    char lease[CLI_DURATION_SIZE];
    const char *what = NULL;
    int status = HF_EINVAL;

    if (is_vain(o, caps)) {
        return refuse_vain(o, err);
    }
    if (!caps->lease_ms || o->verb == CLI_ACQUIRE) {
        return HF_OK; /* what it is refused for, the library says */
    }
    if (cli_option_given(o, "lease") && o->lease_ms != caps->lease_ms) {
        what = "leave out --lease, or set session_timeout= in the URL";
        status = HF_ENOTSUP;
    } else if (o->verb == CLI_RUN && caps->lease_ms < CLI_RUN_LEASE_MIN_MS) {
        what = "ending a command in time needs 1s, so set a longer "
               "session_timeout= in the URL";
    } else if (o->verb == CLI_RUN && cli_option_given(o, "grace") &&
               o->grace_ms > caps->lease_ms / 3) {
        what = "--grace can be a third of that at most";
    } else {
        return HF_OK;
    }
    (void)snprintf(err->text, sizeof err->text,
                   "this store's locks live with the session, which is a lease "
                   "of %s; %s",
                   cli_duration(caps->lease_ms, lease), what);
    err->status = status;
    return status;
}

int64_t cli_wish_wait_ms(const struct cli_options *o)
{
    return o->is_try ? 0 : o->wait_ms;
}

void cli_wish_fill(const struct cli_options *o, hf_acquire_opts *ret_opts)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.lease_ms = o->lease_ms;
    opts.owner = o->owner;
    opts.note = o->note;
    opts.min_hold_ms = o->min_hold_ms;
    opts.once_ms = once_ms(o);
    opts.once_key = o->once_key;
    opts.fair = o->is_fair != 0;
    opts.shared = o->is_shared != 0;
    opts.slots = o->slots > 0 ? (int)o->slots : 0;
    opts.detached = o->verb == CLI_ACQUIRE;
    opts.auto_renew = !opts.detached;
    *ret_opts = opts;
}

void cli_wish_settle(const struct cli_options *o, hf_lock *lock,
                     enum cli_wish_end end)
{
    hf_error err = HF_ERROR_INIT;
    bool must_undo = end == CLI_WISH_UNUSED ||
                     (end == CLI_WISH_FAILED && o->is_retry_failed);

    if (!once_ms(o) || !must_undo) {
        return;
    }
    if (hf_once_undo(lock, &err)) {
        cli_event("once-kept", NULL,
                  "this start of %s counts though it failed: the mark could "
                  "not be taken back: %s",
                  o->name, err.text);
    } else {
        cli_event_quiet("once-undone", NULL, "this start of %s does not count",
                        o->name);
    }
}
