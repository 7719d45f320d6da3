/* SPDX-License-Identifier: MIT */
/*
 * Decides how a log line of the library is shown: through the events, so
 * that --json stays one object a line. Thread: any.
 */
#include "src/cli/log.h"
#include "src/cli/event.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"

#include <string.h>

void cli_log(void *arg, hf_level level, const char *line)
{
    static const char *const words[] = {
        [HF_LOG_ERROR] = "error",
        [HF_LOG_WARN] = "warning",
        [HF_LOG_INFO] = "info",
        [HF_LOG_DEBUG] = "debug",
    };
    /* `run` tells this itself, in its own words. */
    static const char own[] = "event=lost ";
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    (void)arg;
    if (!strncmp(line, own, sizeof own - 1)) {
        return;
    }
    cli_text_add(&fields, ",\"level\":\"%s\",\"line\":", words[level]);
    cli_text_json(&fields, line);
    cli_event("log", fields.data, "%s: %s", words[level], line);
}
