/* SPDX-License-Identifier: MIT */
/*
 * Decides what a waiter sees: on a terminal one live line, drawn anew each
 * second; elsewhere, and as JSON, one line when the wait begins and then one
 * a minute. A wait shorter than a blink is not worth a line. And which signals
 * end a wait. Thread: main, and look() on its own.
 */
#include "src/cli/waiting.h"
#include "src/cli/clock.h"
#include "src/cli/duration.h"
#include "src/cli/event.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/names.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRST_MS  300
#define HOLDER_MS 2000 /* until then a line waits to know the holder */
#define POLL_MS   50
#define LIVE_MS   1000
#define LINE_MS   60000

static void look(void *arg)
{
    struct cli_waiting *w = arg;
    struct pollfd stop = {w->stop_fd, POLLIN, 0};

    do {
        hf_info *info = cli_names_look(w->claim->options, w->claim->client,
                                       w->claim->started_us);

        if (info) {
            hf_info_free(atomic_exchange(&w->fresh, info));
        }
    } while (poll(&stop, 1, (int)w->period_ms) == 0);
}

void cli_waiting_start(struct cli_waiting *w, const struct cli_claim *claim)
{
    if (w->claim) {
        return;
    }
    w->claim = claim;
    w->period_ms = cli_event_is_live() ? LIVE_MS : LINE_MS;
    w->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->worker = w->stop_fd < 0 ? NULL : cli_worker_start(look, w);
}

static void take_fresh(struct cli_waiting *w)
{
    hf_info *info = atomic_exchange(&w->fresh, NULL);

    if (info) {
        hf_info_free(w->info);
        w->info = info;
        w->look_ns = cli_boot_ns();
    }
}

static void add_holder(struct cli_text *text, const hf_info *info)
{
    if (info && cli_holder_kept_ms(info)) {
        cli_holder_kept(text, info);
        return;
    }
    if (!info || hf_info_presence(info) != HF_HELD_BY) {
        cli_text_add(text, "its holder is not known at the moment");
        return;
    }
    cli_text_add(text, "held by ");
    cli_holder_line(text, info);
}

static void write_line(const struct cli_waiting *w, int64_t waited_ms)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    char waited[CLI_DURATION_SIZE];

    cli_text_add(&fields, ",\"waited_ms\":%" PRId64 ",\"holder\":", waited_ms);
    if (w->info) {
        cli_text_add(&fields, "{");
        cli_holder_json(&fields, w->info);
        cli_text_add(&fields, "},");
    } else {
        cli_text_add(&fields, "null,");
    }
    cli_caps_json(&fields, &w->claim->caps);
    cli_text_add(&text, "waiting for ");
    cli_text_clean(&text, cli_names_in_way(w->claim->options, w->info));
    cli_text_add(&text, ", ");
    add_holder(&text, w->info);
    cli_text_add(&text, "; waited %s; ", cli_duration_short(waited_ms, waited));
    cli_caps_line(&text, &w->claim->caps);
    cli_event("waiting", fields.data, "%s", text.data);
}

static void draw(const struct cli_waiting *w, int64_t waited_ms)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    char waited[CLI_DURATION_SIZE];

    cli_text_clean(&text, cli_names_in_way(w->claim->options, w->info));
    cli_text_add(&text, ": waited %s, ", cli_duration_short(waited_ms, waited));
    add_holder(&text, w->info);
    cli_event_live(text.data);
}

int cli_waiting_show(struct cli_waiting *w, bool may_draw)
{
    int64_t now_ns = cli_boot_ns();
    int64_t waited_ms = (now_ns - w->claim->started_ns) / CLI_NS_PER_MS;

    if (waited_ms < FIRST_MS) {
        return (int)(FIRST_MS - waited_ms);
    }
    take_fresh(w);
    if (may_draw && cli_event_is_live()) {
        draw(w, waited_ms);
        return LIVE_MS;
    }
    if (!w->told_ns && !w->info && waited_ms < HOLDER_MS) {
        return POLL_MS;
    }
    if (!w->told_ns || now_ns - w->told_ns >= LINE_MS * CLI_NS_PER_MS) {
        write_line(w, waited_ms);
        w->told_ns = now_ns;
    }
    return LIVE_MS;
}

bool cli_waiting_hear(const struct cli_claim *claim, int number, int *ended_by)
{
    switch (number) {
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT:
    case SIGUSR1:
    case SIGUSR2:
        *ended_by = *ended_by ? *ended_by : number;
        hf_cancel_fire(claim->cancel);
        return false;
    case SIGTSTP:
        cli_event_live(NULL);
        return true;
    default:
        return false;
    }
}

void cli_waiting_stop(struct cli_waiting *w)
{
    uint64_t one = 1;
    ssize_t n;

    if (w->claim) {
        n = write(w->stop_fd, &one, sizeof one);
        (void)n;
        cli_event_live(NULL);
    }
}

void cli_waiting_finish(struct cli_waiting *w)
{
    if (w->claim) {
        cli_worker_join(w->worker);
        hf_info_free(atomic_exchange(&w->fresh, NULL));
        hf_info_free(w->info);
        (void)close(w->stop_fd);
    }
}
