/* SPDX-License-Identifier: MIT */
/*
 * What a waiter sees: on a terminal one live line, redrawn each second;
 * elsewhere, and as JSON, one line when the wait begins and then one a minute.
 * A wait below 300 ms gets no line. And the line for a lock that was not
 * acquired: who holds it, since when, for how long at most, in which store, and
 * the commands that help. Thread: main; look() on its own.
 */
#include "src/cli/waiting.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/holder.h"
#include "src/cli/output.h"
#include "src/cli/text.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void add_holder(struct cli_text *line, const struct cli_claim *claim)
{
    const hf_info *info = claim->info;
    bool is_kept = info && cli_holder_kept_ms(info);
    bool is_known = is_kept || (info && hf_info_presence(info) == HF_HELD_BY);

    if (is_kept) {
        cli_holder_kept(line, info);
    } else if (is_known) {
        cli_text_add(line, "held by ");
        cli_holder_line(line, info);
    } else if (info && hf_info_waiters(info) > 0) {
        cli_text_add(line, "handed on to waiters in its queue (%d)",
                     hf_info_waiters(info));
    } else {
        cli_text_add(line, "held by somebody who was gone a moment later");
    }
    cli_text_add(line, "; ");
    cli_caps_line(line, &claim->caps);
    cli_text_add(line, "; to look: ");
    cli_holder_command(line, claim->store, "who",
                       cli_names_in_way(claim->options, info));
    if (is_known) {
        cli_text_add(line, "; to end that hold: ");
        cli_holder_break(line, claim->store, info);
    }
}

static void name_busy(const struct cli_claim *claim, struct cli_result *result)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    char waited[CLI_DURATION_SIZE];

    if (claim->status == HF_TIMEDOUT) {
        cli_text_add(&line, "waited %s for ",
                     cli_duration(claim->wait_ms, waited));
    }
    cli_text_clean(&line, cli_names_in_way(claim->options, claim->info));
    cli_text_add(&line, claim->status == HF_TIMEDOUT ? ", still " : " is ");
    add_holder(&line, claim);
    cli_text_add(&fields, ",\"holder\":");
    if (claim->info) {
        cli_text_add(&fields, "{");
        cli_holder_json(&fields, claim->info);
        cli_text_add(&fields, "},");
    } else {
        cli_text_add(&fields, "null,");
    }
    cli_caps_json(&fields, &claim->caps);
    cli_event(CLI_FAILS, result->outcome, fields.data, "%s", line.data);
}

/* Advice for an option that the store does not support, under the name that was
 * typed, since the library uses its own. The order is the library's, because
 * the status is about the first one that is missing. */
static const char *advice(const struct cli_claim *claim)
{
    static const struct {
        const char *option; /* NULL: the verb "acquire" */
        unsigned cap;
        const char *text;
    } needs[] = {
        {NULL, HF_CAP_DETACH, "; use `holdfast hold` or `holdfast run`"},
        {"min-hold", HF_CAP_KEEP, "; leave out --min-hold"},
        {"once-per", HF_CAP_KEEP, "; leave out --once-per"},
        {"once-key", HF_CAP_KEEP, "; leave out --once-key"},
        {"fair", HF_CAP_FAIR, "; leave out --fair"},
        {"shared", HF_CAP_SHARED, "; leave out --shared"},
        {"slots", HF_CAP_SLOTS, "; leave out --slots"},
    };

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        bool is_wanted = needs[i].option
                             ? cli_option_given(claim->options, needs[i].option)
                             : claim->options->verb == CLI_ACQUIRE;

        if (claim->status == HF_ENOTSUP && is_wanted &&
            !(claim->caps.flags & needs[i].cap)) {
            return needs[i].text;
        }
    }
    return "";
}

static void name_error(const struct cli_claim *claim, struct cli_result *result)
{
    struct cli_text names CLI_AUTO(cli_text_fini) = {0};
    char *line CLI_AUTO(cli_free_auto) = NULL;
    const char *text = claim->err.text;

    cli_names_line(&names, claim->options);
    if (claim->client) {
        line = cli_format("cannot lock %s: %s%s", names.data,
                          *text ? text : hf_strstatus(claim->status),
                          advice(claim));
    } else {
        result->status =
            cli_store_failed(claim->store, claim->status, &claim->err, &line);
    }
    cli_event(CLI_FAILS, result->outcome, NULL, "%s", line);
}

void cli_failure_name(const struct cli_options *o,
                      const struct cli_claim *claim, struct cli_result *result)
{
    result->outcome = cli_outcome_of(claim->status);
    result->status = cli_exit_of(claim->status);
    if (result->status == CLI_EXIT_BUSY) {
        result->status = (int)o->busy_exit;
    }
    if (claim->status == HF_BUSY || claim->status == HF_TIMEDOUT) {
        name_busy(claim, result);
    } else if (claim->status == HF_CONFLICT || claim->status == HF_DEADLOCK) {
        /* The library's text says that it was started already, or that it would
         * wait for itself. */
        cli_event(CLI_FAILS, result->outcome, NULL, "%s", claim->err.text);
    } else {
        name_error(claim, result);
    }
}

#define FIRST_MS  300
#define HOLDER_MS 2000 /* how long the first line waits for its holder */
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

static void add_holder_fields(struct cli_text *text, const hf_info *info)
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
    add_holder_fields(&text, w->info);
    cli_text_add(&text, "; waited %s; ", cli_duration_short(waited_ms, waited));
    cli_caps_line(&text, &w->claim->caps);
    cli_event(CLI_SAYS, "waiting", fields.data, "%s", text.data);
}

static void draw(const struct cli_waiting *w, int64_t waited_ms)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    char waited[CLI_DURATION_SIZE];

    cli_text_clean(&text, cli_names_in_way(w->claim->options, w->info));
    cli_text_add(&text, ": waited %s, ", cli_duration_short(waited_ms, waited));
    add_holder_fields(&text, w->info);
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
