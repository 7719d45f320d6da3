/* SPDX-License-Identifier: MIT */
/*
 * Decides how hold and acquire come to their lock: with the claim, the live
 * line and the exit codes of run, but with no second process, because there
 * is no command to guard. A signal ends the wait; one that comes while the
 * grant does gives it back. Thread: main.
 */
#include "src/cli/grant.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"
#include "src/cli/failure.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/names.h"
#include "src/cli/nested.h"
#include "src/cli/output.h"
#include "src/cli/say.h"
#include "src/cli/terminal.h"
#include "src/cli/wish.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static void handle_signal(struct cli_grant *g, int number, int *ended_by)
{
    if (cli_waiting_hear(&g->claim, number, ended_by)) {
        (void)kill(getpid(), SIGSTOP);
    }
}

/* Until there is a lock or a reason why not; gives the phase. */
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
    cli_event_fail("interrupted", NULL,
                   "the wait for %s was ended by signal %d (%s)",
                   g->options->name, number, strsignal(number));
    return CLI_EXIT_SIGNAL + number;
}

static int fail(const struct cli_grant *g)
{
    struct cli_result result = {"internal", CLI_EXIT_INTERNAL, -1, 0};

    cli_failure_name(g->options, &g->claim, &result);
    return result.status;
}

/* stdout belongs to the answer, so that --json makes no events of what is
 * said on the way. */
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
    g->claim.wait_ms = cli_wish_wait_ms(g->options);
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
            cli_wish_settle(o, g->claim.lock, CLI_WISH_UNUSED);
        }
        r = fail_interrupted(g, ended_by);
    } else if (phase == CLI_CLAIM_FAILED) {
        r = fail(g);
    }
    if (phase == CLI_CLAIM_OPENING) {
        /* The thread is inside of hf_open() and holds nothing yet. */
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

/* The store could not be asked: what we know ourselves. */
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
    cli_event_quiet("acquired", NULL, "%s %s held, fence %" PRIu64 "; %s",
                    names.data, hf_count(lock) > 1 ? "are" : "is",
                    hf_fence(lock), line.data);
    cli_claim_tell_takeover(&g->claim);
}
