/* SPDX-License-Identifier: MIT */
/*
 * `hold NAME`, for shells: decides when the hold ends. Stdin ends it: its input
 * is dropped, and at its end, or when the process at the other end dies, the
 * lock is released. Where stdin cannot end it (it is closed, or is /dev/null as
 * in a script's background) a signal does. One line on stdout says that the
 * lock is held.
 * hold and acquire get their lock with the claim, the live line and the exit
 * codes of run, but without a second process, because there is no command to
 * guard. A signal ends the wait; if the grant comes at the same time, it is
 * given back. Thread: main.
 */
#include "src/cli/hold.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/holder.h"
#include "src/cli/nested.h"
#include "src/cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void handle_signal(struct cli_grant *g, int number, int *ended_by)
{
    if (cli_waiting_hear(&g->claim, number, ended_by)) {
        (void)kill(getpid(), SIGSTOP);
    }
}

/* Wait until the claim holds the lock or failed; returns the phase. */
static enum cli_claim_phase wait_for_it(struct cli_grant *g, int *ended_by)
{
    struct pollfd fds[] = {{g->signals.fd, POLLIN, 0},
                           {g->claim.event_fd, POLLIN, 0}};
    enum cli_claim_phase phase;
    int timeout_ms = -1;

    for (;;) {
        int number;

        phase = cli_claim_look(&g->claim);
        if (phase >= CLI_CLAIM_HELD ||
            (phase == CLI_CLAIM_OPENING && *ended_by)) {
            break;
        }
        if (phase == CLI_CLAIM_WAITING) {
            cli_waiting_start(&g->waiting, &g->claim);
            timeout_ms = cli_waiting_show(
                &g->waiting, cli_terminal_may_draw(STDERR_FILENO, getpgrp()));
        }
        (void)poll(fds, sizeof fds / sizeof *fds, timeout_ms);
        while ((number = cli_signals_next(&g->signals))) {
            handle_signal(g, number, ended_by);
        }
    }
    cli_waiting_stop(&g->waiting);
    return phase;
}

static int fail_interrupted(const struct cli_grant *g, int number)
{
    cli_event(CLI_FAILS, "interrupted", NULL,
              "the wait for %s was ended by signal %d (%s)", g->options->name,
              number, strsignal(number));
    return CLI_EXIT_SIGNAL + number;
}

static int fail(const struct cli_grant *g)
{
    struct cli_result result = {"internal", CLI_EXIT_INTERNAL, -1, 0};

    cli_failure_name(g->options, &g->claim, &result);
    return result.status;
}

/* stdout belongs to the answer, so --json must not turn the messages on the way
 * into events. */
static void set_up_events(const struct cli_options *o)
{
    struct cli_options plain = *o;

    plain.is_json = 0;
    (void)cli_event_setup(&plain);
}

static int start(struct cli_grant *g)
{
    g->claim.options = g->options;
    g->claim.store = &g->store;
    g->claim.wait_ms = cli_lock_options_wait_ms(g->options);
    if (cli_signals_setup(&g->signals)) {
        return cli_fail(CLI_EXIT_INTERNAL, "cannot start: %s", strerror(errno));
    }
    if (cli_claim_start(&g->claim)) {
        return cli_fail(CLI_EXIT_MEMORY, "cannot start a thread");
    }
    g->is_started = true;
    return 0;
}

int cli_grant_get(const struct cli_options *o, struct cli_grant *ret_grant)
{
    struct cli_grant *g = ret_grant;
    enum cli_claim_phase phase;
    int ended_by = 0;
    int r;

    *g = (struct cli_grant){.options = o};
    set_up_events(o);
    r = cli_store_choose(o, &g->store);
    if (r || cli_nested(o, &g->store, &r)) {
        return r;
    }
    g->store.level = o->is_verbose ? HF_LOG_INFO : HF_LOG_WARN;
    r = start(g);
    if (r) {
        return r;
    }
    phase = wait_for_it(g, &ended_by);
    if (ended_by) {
        if (phase == CLI_CLAIM_HELD || phase == CLI_CLAIM_ENDED) {
            cli_lock_options_settle(o, g->claim.lock, CLI_OPTIONS_UNUSED);
        }
        r = fail_interrupted(g, ended_by);
    } else if (phase == CLI_CLAIM_FAILED) {
        r = fail(g);
    }
    if (phase == CLI_CLAIM_OPENING) {
        /* The thread is still in hf_open() and holds nothing, so it need not be
         * waited for. */
        _exit(cli_output_end(r));
    }
    return r;
}

void cli_grant_finish(struct cli_grant *g)
{
    if (g->is_started) {
        cli_waiting_finish(&g->waiting);
        cli_claim_finish(&g->claim);
        (void)close(g->signals.fd);
    }
    cli_store_fini(&g->store);
}

/* Add what we know ourselves, because the store did not show our grant. */
static void add_known(struct cli_text *text, const struct cli_grant *g)
{
    cli_text_add(text, "\"name\":");
    cli_text_json(text, g->options->name);
    cli_text_add(text, ",\"state\":\"held\",\"owner\":null,\"note\":");
    cli_text_json(text, g->options->note);
    cli_text_add(text, ",\"mode\":null,\"slots\":null,\"slot\":null");
    cli_text_add(text,
                 ",\"fence\":%" PRIu64 ",\"acquired_at\":null,"
                 "\"remaining_ms\":%" PRId64
                 ",\"holders\":null,\"waiters\":null",
                 hf_fence(g->claim.lock), hf_remaining_ms(g->claim.lock));
}

void cli_grant_json(struct cli_text *text, const struct cli_grant *g,
                    const char *token)
{
    hf_info *info CLI_AUTO(cli_info_auto) = NULL;
    int r = hf_inspect(g->claim.client, g->options->name, &info, NULL);

    const hf_info *ours = NULL;

    ours = r ? NULL : cli_holder_with(info, hf_fence(g->claim.lock));
    if (ours) {
        cli_holder_json(text, hf_info_holders(info) > 1 ? ours : info);
    } else {
        add_known(text, g);
    }
    cli_text_add(text, ",");
    cli_caps_json(text, &g->claim.caps);
    cli_text_add(text, ",\"token\":");
    cli_text_json(text, token);
    cli_names_json(text, g->claim.lock);
}

void cli_grant_tell(const struct cli_grant *g)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    struct cli_text names CLI_AUTO(cli_text_fini) = {0};
    const hf_lock *lock = g->claim.lock;

    cli_caps_line(&line, &g->claim.caps);
    cli_names_line(&names, g->options);
    cli_event(CLI_QUIET, "acquired", NULL, "%s %s held, fence %" PRIu64 "; %s",
              names.data, hf_count(lock) > 1 ? "are" : "is", hf_fence(lock),
              line.data);
    cli_claim_tell_takeover(&g->claim);
}

/* In the background of a terminal nothing can be read; this is the pause before
 * the next try. */
#define BACKGROUND_MS 500

struct hold {
    struct cli_grant grant;
    int leash; /* descriptor whose end ends the hold; -1: none */
    bool is_background;
    bool is_done;
};

/* main() opens /dev/null where stdin is closed. */
static int find_leash(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) ||
        (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))) {
        return -1;
    }
    return STDIN_FILENO;
}

static void handle_signals(struct hold *h)
{
    int number;

    while ((number = cli_signals_next(&h->grant.signals))) {
        switch (number) {
        case SIGTERM:
        case SIGINT:
        case SIGHUP:
        case SIGQUIT:
            h->is_done = true;
            break;
        case SIGTSTP:
            /* The process that renews must not be stopped. */
            cli_event(CLI_SAYS, "stopped", NULL,
                      "%s stays held; Ctrl-D or Ctrl-C lets it go",
                      h->grant.options->name);
            break;
        default:
            break;
        }
    }
}

static void handle_leash(struct hold *h)
{
    char bytes[4096];
    ssize_t n = read(h->leash, bytes, sizeof bytes);

    h->is_background = false;
    if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) {
        return;
    }
    /* SIGTTIN is blocked, so a read in the background fails with EIO: the input
     * belongs to the foreground. */
    h->is_background = n < 0 && errno == EIO && isatty(h->leash) &&
                       tcgetpgrp(h->leash) != getpgrp();
    h->is_done |= !h->is_background;
}

/* Wait until the hold is over; true if the lock was lost. */
static bool serve(struct hold *h)
{
    struct cli_claim *claim = &h->grant.claim;
    struct pollfd fds[] = {{h->grant.signals.fd, POLLIN, 0},
                           {claim->event_fd, POLLIN, 0},
                           {-1, POLLIN, 0}};

    for (;;) {
        fds[2].fd = h->is_background ? -1 : h->leash;
        fds[2].revents = 0;
        (void)poll(fds, sizeof fds / sizeof *fds,
                   h->is_background ? BACKGROUND_MS : -1);
        if (cli_claim_look(claim) == CLI_CLAIM_ENDED) {
            return true;
        }
        handle_signals(h);
        if (fds[2].revents || h->is_background) {
            handle_leash(h);
        }
        if (h->is_done) {
            return false;
        }
    }
}

static int tell_held(const struct hold *h)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    const struct cli_grant *g = &h->grant;
    const hf_lock *lock = g->claim.lock;

    if (g->options->is_json) {
        cli_text_add(&text, "{");
        cli_grant_json(&text, g, hf_token(lock));
        cli_text_add(&text, "}\n");
    } else {
        cli_text_add(&text, "held ");
        cli_text_clean(&text, g->options->name);
        cli_text_add(&text, " fence=%" PRIu64 " lease_ms=%" PRId64 " pid=%ld",
                     hf_fence(lock), cli_claim_lease_ms(&g->claim),
                     (long)getpid());
        for (int i = 0; i < hf_count(lock) && hf_count(lock) > 1; i++) {
            cli_text_add(&text, "%s%" PRIu64,
                         i ? "," : " fences=", hf_fence_at(lock, i));
        }
        cli_text_add(&text, "\n");
    }
    cli_grant_tell(g);
    return cli_output_held(&text, INT64_MAX);
}

static int end_lost(const struct hold *h)
{
    int code = (int)h->grant.options->lost_exit;
    hf_reason reason = hf_lost_reason(h->grant.claim.lock);
    hf_error err = HF_ERROR_INIT;

    /* hf_release() says which of several names was lost. */
    if (h->grant.options->locks.count &&
        hf_release(h->grant.claim.lock, &err) == HF_LOST) {
        cli_event(CLI_SAYS, "lost", NULL, "%s; exit %d", err.text, code);
        return code;
    }
    cli_event(CLI_SAYS, "lost", NULL,
              "%s was lost while it was held (%s); exit %d",
              h->grant.options->name, hf_strreason(reason), code);
    return code;
}

static int end_released(const struct hold *h)
{
    const char *name = h->grant.options->name;
    hf_error err = HF_ERROR_INIT;
    int r = hf_release(h->grant.claim.lock, &err);

    if (r == HF_LOST) {
        return end_lost(h);
    }
    if (r) {
        cli_event(CLI_SAYS, "unconfirmed", NULL,
                  "the store did not confirm the release of %s, which may "
                  "stay taken until its lease ends: %s",
                  name, err.text);
        return CLI_EXIT_UNCONFIRMED;
    }
    cli_event(CLI_QUIET, "released", NULL, "%s is released", name);
    return CLI_EXIT_DONE;
}

static int hold(struct hold *h)
{
    int r = tell_held(h);

    if (r) {
        cli_lock_options_settle(h->grant.options, h->grant.claim.lock,
                                CLI_OPTIONS_UNUSED);
        return r;
    }
    return serve(h) ? end_lost(h) : end_released(h);
}

int cli_hold(const struct cli_options *o)
{
    struct hold h = {.leash = find_leash()};
    int r = cli_lock_options_check(o);

    if (r) {
        return r;
    }
    r = cli_grant_get(o, &h.grant);
    r = r ? r : hold(&h);
    cli_grant_finish(&h.grant);
    return r;
}
