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

int cli_gc(const struct cli_options *o)
{
    struct cli_store store CLI_AUTO(cli_store_fini) = {0};
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};
    hf_client *client CLI_AUTO(cli_client_auto) = NULL;
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    hf_error err = HF_ERROR_INIT;
    char idle[CLI_DURATION_SIZE];
    uint64_t count = 0;
    int r = cli_store_enter(o, &store, &client);

    if (r) {
        return r;
    }
    r = hf_gc(client, o->idle_ms, &count, &err);
    r = r ? r : hf_caps(client, &caps);
    if (r) {
        return cli_fail(cli_exit_of(r), "gc: %s (%" PRIu64 " were removed)",
                        err.text, count);
    }
    if (o->is_json) {
        cli_text_add(&text, "{\"removed\":%" PRIu64 ",\"idle_ms\":%" PRId64 ",",
                     count, o->idle_ms);
        cli_caps_json(&text, &caps);
        cli_text_add(&text, "}\n");
    } else {
        cli_text_add(&text, "removed %" PRIu64 " %s", count,
                     count == 1 ? "record" : "records");
        cli_text_add(&text, o->idle_ms ? " that nobody used for %s\n" : "\n",
                     cli_duration(o->idle_ms, idle));
    }
    return cli_output(&text, CLI_EXIT_DONE);
}
