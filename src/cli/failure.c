/* SPDX-License-Identifier: MIT */
/*
 * Decides the line for a lock that was not got: who holds it, since when,
 * for how long at most, in which store, and the commands that help.
 * Thread: main.
 */
#include "src/cli/failure.h"
#include "src/cli/duration.h"
#include "src/cli/event.h"
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/names.h"

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
        cli_text_add(line, "passed on to those in line (%d)",
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
    cli_event_fail(result->outcome, fields.data, "%s", line.data);
}

/* The library names what is not there as a program says it, here it is as it
 * was typed; in the library's order, which tells of the first. */
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
    cli_event_fail(result->outcome, NULL, "%s", line);
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
        /* It was started already, or waits for itself: the library says. */
        cli_event_fail(result->outcome, NULL, "%s", claim->err.text);
    } else {
        name_error(claim, result);
    }
}
