/* SPDX-License-Identifier: MIT */
/*
 * Decides how the lock is got: one attempt first, whose failures are final
 * (the store is down, the name is wrong), and then, when somebody holds it,
 * a wait that outlives an outage of the store. Thread: main starts and looks,
 * the claim's own thread does the rest.
 */
#include "src/cli/claim.h"
#include "src/cli/clock.h"
#include "src/cli/duration.h"
#include "src/cli/event.h"
#include "src/cli/log.h"
#include "src/cli/memory.h"
#include "src/cli/names.h"
#include "src/cli/wish.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Between two attempts while the store does not answer. */
#define OUTAGE_PAUSE_MS 1000

static void enter(struct cli_claim *claim, enum cli_claim_phase phase)
{
    uint64_t one = 1;
    ssize_t n;

    atomic_store(&claim->phase, phase);
    n = write(claim->event_fd, &one, sizeof one);
    (void)n;
}

/* What is left of the patience; HF_FOREVER stays. */
static int64_t left_ms(const struct cli_claim *claim)
{
    int64_t spent_ms = (cli_boot_ns() - claim->started_ns) / CLI_NS_PER_MS;

    if (claim->wait_ms < 0) {
        return HF_FOREVER;
    }
    return spent_ms < claim->wait_ms ? claim->wait_ms - spent_ms : 0;
}

static int attempt(struct cli_claim *claim, int64_t wait_ms)
{
    hf_acquire_opts opts;

    cli_wish_fill(claim->options, &opts);
    opts.wait_ms = wait_ms;
    opts.cancel = claim->cancel;
    claim->err = (hf_error)HF_ERROR_INIT;
    claim->attempts++;
    return cli_names_acquire(claim->options, claim->client, &opts, &claim->lock,
                             &claim->err);
}

static int wait_for_it(struct cli_claim *claim)
{
    for (;;) {
        int64_t patience_ms = left_ms(claim);
        int r = attempt(claim, patience_ms);

        if (r != HF_EUNAVAIL && r != HF_EUNKNOWN) {
            return r == HF_BUSY ? HF_TIMEDOUT : r;
        }
        if (!left_ms(claim)) {
            return r;
        }
        cli_log_outage(claim->err.text);
        /* A cancel makes the next attempt end at once. */
        (void)poll(NULL, 0, OUTAGE_PAUSE_MS);
    }
}

static int acquire(struct cli_claim *claim)
{
    int r;

    claim->started_ns = cli_boot_ns();
    claim->started_us = cli_wall_us();
    enter(claim, CLI_CLAIM_TRYING);
    r = attempt(claim, 0);
    if (r == HF_BUSY && claim->wait_ms) {
        enter(claim, CLI_CLAIM_WAITING);
        r = wait_for_it(claim);
    }
    return r;
}

static int open_store(struct cli_claim *claim)
{
    int r = cli_store_open(claim->store, &claim->client, &claim->err);

    claim->caps = (hf_caps_info)HF_CAPS_INFO_INIT;
    r = r ? r : hf_caps(claim->client, &claim->caps);
    return r ? r : cli_wish_fits(claim->options, &claim->caps, &claim->err);
}

int64_t cli_claim_lease_ms(const struct cli_claim *claim)
{
    return claim->caps.lease_ms ? claim->caps.lease_ms
                                : claim->options->lease_ms;
}

void cli_claim_tell_takeover(const struct cli_claim *claim)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    struct cli_text names CLI_AUTO(cli_text_fini) = {0};
    hf_stats_info stats = HF_STATS_INFO_INIT;

    if (hf_stats(claim->client, &stats) || !stats.taken_over) {
        return;
    }
    cli_text_add(&fields, ",\"taken_over\":%" PRIu64, stats.taken_over);
    cli_names_line(&names, claim->options);
    if (hf_count(claim->lock) > 1) {
        cli_text_add(&names,
                     ": %" PRIu64 " taken over, their last holders let them "
                     "expire or died",
                     stats.taken_over);
    } else {
        cli_text_add(&names,
                     ": taken over, the last holder let it expire or died");
    }
    cli_event_quiet("takeover", fields.data, "%s", names.data);
}

static void run(void *arg)
{
    struct cli_claim *claim = arg;
    int r = open_store(claim);

    r = r ? r : acquire(claim);
    claim->status = r;
    if (!r) {
        claim->granted_ns = cli_boot_ns();
        enter(claim, CLI_CLAIM_HELD);
        claim->status = hf_wait_lost(claim->lock, HF_FOREVER);
        enter(claim, CLI_CLAIM_ENDED);
        return;
    }
    if (r == HF_BUSY || r == HF_TIMEDOUT) {
        claim->info =
            cli_names_look(claim->options, claim->client, claim->started_us);
    }
    enter(claim, CLI_CLAIM_FAILED);
}

int cli_claim_start(struct cli_claim *claim)
{
    int r;

    claim->err = (hf_error)HF_ERROR_INIT;
    claim->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (claim->event_fd < 0) {
        return HF_ENOMEM;
    }
    r = hf_cancel_new(&claim->cancel);
    if (r) {
        return r;
    }
    claim->worker = cli_worker_start(run, claim);
    if (!claim->worker) {
        hf_cancel_free(claim->cancel);
        return HF_ENOMEM;
    }
    return HF_OK;
}

enum cli_claim_phase cli_claim_look(struct cli_claim *claim)
{
    uint64_t count;
    ssize_t n = read(claim->event_fd, &count, sizeof count);

    (void)n;
    return atomic_load(&claim->phase);
}

void cli_claim_finish(struct cli_claim *claim)
{
    struct pollfd change = {claim->event_fd, POLLIN, 0};

    hf_cancel_fire(claim->cancel);
    while (cli_claim_look(claim) < CLI_CLAIM_HELD) {
        (void)poll(&change, 1, -1);
    }
    /* One that was detached is not ours any more. */
    if (hf_state(claim->lock) != HF_STATE_DETACHED) {
        (void)!hf_release(claim->lock, NULL);
    }
    cli_worker_join(claim->worker);
    hf_info_free(claim->info);
    hf_free(claim->lock);
    hf_close(claim->client);
    hf_cancel_free(claim->cancel);
    (void)close(claim->event_fd);
}
