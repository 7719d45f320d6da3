/* SPDX-License-Identifier: MIT */
/*
 * `gc`: decides how long a name must have been idle, and tells how many
 * records went. Which records may go without a promise broken is the
 * library's. Thread: main.
 */
#include "src/cli/duration.h"
#include "src/cli/exit.h"
#include "src/cli/holder.h"
#include "src/cli/memory.h"
#include "src/cli/output.h"
#include "src/cli/say.h"

#include <inttypes.h>

static uint64_t released(const hf_gc_info *info)
{
    return info->removed - info->expired - info->marks - info->cells;
}

static void add_part(struct cli_text *text, uint64_t n, const char *what,
                     bool *ret_is_first)
{
    if (n > 0) {
        cli_text_add(text, "%s%" PRIu64 " %s", *ret_is_first ? " (" : ", ", n,
                     what);
        *ret_is_first = false;
    }
}

/* "removed 6 records (3 expired, 2 released, 1 mark)" */
static void say(struct cli_text *text, const hf_gc_info *info, int64_t idle_ms)
{
    char idle[CLI_DURATION_SIZE];
    bool is_first = true;

    cli_text_add(text, "removed %" PRIu64 " %s", info->removed,
                 info->removed == 1 ? "record" : "records");
    add_part(text, info->expired, "expired", &is_first);
    add_part(text, released(info), "released", &is_first);
    add_part(text, info->marks, info->marks == 1 ? "mark" : "marks", &is_first);
    add_part(text, info->cells,
             info->cells == 1 ? "deleted cell" : "deleted cells", &is_first);
    cli_text_add(text, is_first ? "" : ")");
    cli_text_add(text, idle_ms ? " that nobody used for %s\n" : "\n",
                 cli_duration(idle_ms, idle));
}

int cli_gc(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_gc_info info = HF_GC_INFO_INIT;
    int r = cli_store_enter(o, &store, &client);

    if (r) {
        return r;
    }
    r = hf_gc(client, o->idle_ms, &info, &err);
    r = r ? r : hf_caps(client, &caps);
    if (r) {
        return cli_fail(cli_exit_of(r), "gc: %s (%" PRIu64 " were removed)",
                        err.text, info.removed);
    }
    if (o->is_json) {
        cli_text_add(&text,
                     "{\"removed\":%" PRIu64 ",\"expired\":%" PRIu64
                     ",\"released\":%" PRIu64 ",\"marks\":%" PRIu64
                     ",\"cells\":%" PRIu64 ",\"idle_ms\":%" PRId64 ",",
                     info.removed, info.expired, released(&info), info.marks,
                     info.cells, o->idle_ms);
        cli_caps_json(&text, &caps);
        cli_text_add(&text, "}\n");
    } else {
        say(&text, &info, o->idle_ms);
    }
    return cli_output(&text, CLI_EXIT_DONE);
}
