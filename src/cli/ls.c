/* SPDX-License-Identifier: MIT */
/*
 * `ls [PREFIX]`: decides how many locks are shown at once. Nothing held is
 * an answer like any other: exit 0. Thread: main.
 */
#include "src/cli/clock.h"
#include "src/cli/duration.h"
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/say.h"
#include "src/cli/table.h"

#include <inttypes.h>
#include <stdio.h>

struct listing {
    struct cli_table table;
    struct cli_text json;
    hf_caps_info caps;
    size_t count;
};

static void add_row(struct cli_table *table, const hf_info *info)
{
    int64_t left_ms = hf_info_remaining_ms(info);
    int64_t since_us = hf_info_acquired_us(info);
    char thread[CLI_THREAD_SIZE];
    char number[32];
    char stamp[CLI_STAMP_SIZE];
    char left[CLI_DURATION_SIZE];

    cli_table_add(table, hf_info_name(info));
    cli_table_add(table, hf_info_label(info));
    cli_table_add(table, hf_info_host(info));
    (void)snprintf(number, sizeof number, "%" PRId64, hf_info_pid(info));
    cli_table_add(table, hf_info_pid(info) > 0 ? number : NULL);
    cli_table_add(table, cli_holder_thread(info, thread));
    cli_table_add(table,
                  since_us > 0 ? cli_stamp_short(since_us, stamp) : NULL);
    cli_table_add(table, hf_info_holder_lives(info) == 0 ? "gone"
                         : left_ms >= 0 ? cli_duration_short(left_ms, left)
                                        : NULL);
    (void)snprintf(number, sizeof number, "%" PRIu64, hf_info_fence(info));
    cli_table_add(table, hf_info_fence(info) ? number : NULL);
    cli_table_add(table, hf_info_note(info));
}

static int collect(void *arg, const hf_info *info)
{
    struct listing *listing = arg;

    cli_text_add(&listing->json, listing->count ? ",\n{" : "{");
    cli_holder_json(&listing->json, info);
    cli_text_add(&listing->json, ",");
    cli_caps_json(&listing->json, &listing->caps);
    cli_text_add(&listing->json, "}");
    add_row(&listing->table, info);
    listing->count++;
    return 0;
}

static void show(struct cli_text *text, const struct listing *listing,
                 bool is_json)
{
    if (is_json) {
        cli_text_add(text, "[%s]\n",
                     listing->json.data ? listing->json.data : "");
        return;
    }
    if (listing->count) {
        cli_table_write(&listing->table, text);
    }
    cli_text_add(text, "%zu held; ", listing->count);
    cli_caps_line(text, &listing->caps);
    cli_text_add(text, "\n");
}

static void add_head(struct cli_table *table)
{
    static const char *const head[] = {"NAME", "OWNER",  "HOST",
                                       "PID",  "THREAD", "SINCE",
                                       "LEFT", "FENCE",  "NOTE"};

    table->columns = sizeof head / sizeof *head;
    for (size_t i = 0; i < table->columns; i++) {
        cli_table_add(table, head[i]);
    }
}

int cli_ls(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    struct listing listing = {.caps = HF_CAPS_INFO_INIT};
    hf_error err = HF_ERROR_INIT;
    int r = cli_store_enter(o, &store, &client);

    if (r) {
        return r;
    }
    add_head(&listing.table);
    r = hf_caps(client, &listing.caps);
    r = r ? r : hf_list(client, o->name, collect, &listing, &err);
    if (!r) {
        show(&text, &listing, o->is_json);
    }
    cli_table_fini(&listing.table);
    cli_text_fini(&listing.json);
    if (r) {
        return cli_fail(cli_exit_of(r), "ls: %s", err.text);
    }
    return cli_output(&text, CLI_EXIT_DONE);
}
