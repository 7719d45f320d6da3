/* SPDX-License-Identifier: MIT */
/*
 * Decides how a log line of the library is shown: through the events, so
 * that --json stays one object a line. Thread: any.
 */
#include "src/cli/log.h"
#include "src/cli/clock.h"
#include "src/cli/event.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"

#include <stdatomic.h>
#include <string.h>

/* A store that comes and goes is one outage. */
#define PAUSE_MS 60000

void cli_log_outage(const char *why)
{
    static _Atomic(int64_t) told_ns;
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    int64_t now_ns = cli_boot_ns();
    int64_t last_ns = atomic_load(&told_ns);

    if ((last_ns && now_ns - last_ns < PAUSE_MS * CLI_NS_PER_MS) ||
        !atomic_compare_exchange_strong(&told_ns, &last_ns, now_ns)) {
        return;
    }
    cli_text_add(&fields, ",\"error\":");
    cli_text_json(&fields, why);
    cli_event("outage", fields.data,
              "the store does not answer (%s); trying on until it does", why);
}

void cli_log(void *arg, hf_level level, const char *line)
{
    static const char *const words[] = {
        [HF_LOG_ERROR] = "error",
        [HF_LOG_WARN] = "warning",
        [HF_LOG_INFO] = "info",
        [HF_LOG_DEBUG] = "debug",
    };
    /* Told in our own words. */
    static const char lost[] = "event=lost ";
    static const char takeover[] = "event=takeover ";
    static const char outage[] = "event=outage result=";
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};

    (void)arg;
    if (!strncmp(line, lost, sizeof lost - 1) ||
        !strncmp(line, takeover, sizeof takeover - 1)) {
        return;
    }
    if (!strncmp(line, outage, sizeof outage - 1)) {
        cli_log_outage(line + sizeof outage - 1);
        return;
    }
    cli_text_add(&fields, ",\"level\":\"%s\",\"line\":", words[level]);
    cli_text_json(&fields, line);
    cli_event("log", fields.data, "%s: %s", words[level], line);
}
