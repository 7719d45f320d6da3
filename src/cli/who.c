/* SPDX-License-Identifier: MIT */
/*
 * `who NAME`: decides how one lock is shown, and that held is 0 and free is
 * 1. Thread: main.
 */
#include "src/cli/clock.h"
#include "src/cli/duration.h"
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/say.h"

#include <inttypes.h>

static void add_row(struct cli_text *text, const char *key, const char *word)
{
    cli_text_add(text, "  %-8s", key);
    cli_text_clean(text, word);
    cli_text_add(text, "\n");
}

/* Of one among several only what tells them apart is said. */
static void add_holder(struct cli_text *text, const hf_info *info)
{
    int64_t since_us = hf_info_acquired_us(info);
    int64_t left_ms = hf_info_remaining_ms(info);
    char stamp[CLI_STAMP_SIZE];
    char span[CLI_DURATION_SIZE];

    cli_text_add(text, "  %-8s", "by");
    cli_holder_who(text, info);
    cli_text_add(text, "%s\n",
                 hf_info_holder_lives(info) == 0 ? ", its process is gone"
                                                 : "");
    if (hf_info_shared(info) || hf_info_slots(info) > 0) {
        cli_text_add(text, "  %-8s", "mode");
        cli_holder_mode(text, info);
        cli_text_add(text, "\n");
    }
    if (hf_info_note(info) && *hf_info_note(info)) {
        add_row(text, "note", hf_info_note(info));
    }
    if (since_us > 0) {
        cli_text_add(
            text, "  %-8s%s (%s)\n", "since", cli_stamp_short(since_us, stamp),
            cli_duration_short((cli_wall_us() - since_us) / 1000, span));
    }
    if (left_ms >= 0) {
        cli_text_add(text, "  %-8s%s left\n", "lease",
                     cli_duration_short(left_ms, span));
    }
    if (hf_info_fence(info)) {
        cli_text_add(text, "  %-8s%" PRIu64 "\n", "fence", hf_info_fence(info));
    }
}

static void add_holders(struct cli_text *text, const hf_info *info)
{
    const hf_info *one = NULL;
    int i = 0;

    while ((one = hf_info_holder_at(info, i++)) != NULL) {
        add_holder(text, one);
    }
}

/* In the order in which they will be served. */
static void add_waiters(struct cli_text *text, const hf_info *info)
{
    const hf_info *one = NULL;
    int i = 0;

    while ((one = hf_info_waiter_at(info, i++)) != NULL) {
        int64_t since_us = hf_info_acquired_us(one);
        char stamp[CLI_STAMP_SIZE];

        cli_text_add(text, "  %-8s%d. ", i == 1 ? "waits" : "", i);
        cli_holder_who(text, one);
        if (since_us > 0) {
            cli_text_add(text, " since %s", cli_stamp_short(since_us, stamp));
        }
        cli_text_add(text, "\n");
    }
}

static void show(struct cli_text *text, const hf_info *info,
                 const hf_caps_info *caps)
{
    hf_presence presence = hf_info_presence(info);

    cli_text_clean(text, hf_info_name(info));
    cli_text_add(text, "%s",
                 presence == HF_FREE      ? " is free"
                 : presence == HF_HELD_BY ? " is held"
                                          : ": the store cannot tell");
    if (cli_holder_kept_ms(info)) {
        cli_text_add(text, ", but ");
        cli_holder_kept(text, info);
    }
    cli_text_add(text, "\n");
    if (presence == HF_HELD_BY) {
        add_holders(text, info);
    } else if (hf_info_fence(info)) {
        cli_text_add(text, "  %-8s%" PRIu64 "\n", "fence", hf_info_fence(info));
    }
    add_waiters(text, info);
    cli_text_add(text, "  ");
    cli_caps_line(text, caps);
    cli_text_add(text, "\n");
}

int cli_who(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    hf_info *info CLI_AUTO(cli_info_auto) = NULL;
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_error err = HF_ERROR_INIT;
    int r = cli_store_enter(o, &store, &client);

    if (r) {
        return r;
    }
    r = hf_inspect(client, o->name, &info, &err);
    if (r || hf_caps(client, &caps)) {
        return cli_fail(cli_exit_of(r), "who %s: %s", o->name, err.text);
    }
    if (o->is_json) {
        cli_text_add(&text, "{");
        cli_holder_json(&text, info);
        cli_text_add(&text, ",");
        cli_caps_json(&text, &caps);
        cli_text_add(&text, "}\n");
    } else {
        show(&text, info, &caps);
    }
    switch (hf_info_presence(info)) {
    case HF_FREE:
        return cli_output(&text, CLI_EXIT_NO);
    case HF_HELD_BY:
        return cli_output(&text, CLI_EXIT_DONE);
    case HF_UNKNOWN:
        return cli_output(&text, CLI_EXIT_STORE);
    }
    return CLI_EXIT_INTERNAL;
}
