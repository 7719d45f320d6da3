/* SPDX-License-Identifier: MIT */
/*
 * Decides the form of the last event and of the status file: one JSON object
 * with outcome, status, child_exit and child_signal. Which outcome it is, run.c
 * decides. Thread: main.
 */
#include "src/cli/result.h"
#include "src/cli/event.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"
#include "src/cli/whole.h"

#define MODE 0666

int cli_result_check(const struct cli_options *o)
{
    int r =
        o->status_file ? cli_whole_check("--status-file", o->status_file) : 0;

    return r || !o->metrics_file
               ? r
               : cli_whole_check("--metrics-file", o->metrics_file);
}

static void add_fields(struct cli_text *text, const struct cli_result *result)
{
    cli_text_add(text, "\"outcome\":\"%s\",\"status\":%d", result->outcome,
                 result->status);
    if (result->child_exit >= 0) {
        cli_text_add(text, ",\"child_exit\":%d", result->child_exit);
    } else {
        cli_text_add(text, ",\"child_exit\":null");
    }
    if (result->child_signal) {
        cli_text_add(text, ",\"child_signal\":%d", result->child_signal);
    } else {
        cli_text_add(text, ",\"child_signal\":null");
    }
}

void cli_result_tell(const struct cli_options *o,
                     const struct cli_result *result)
{
    struct cli_text fields CLI_AUTO(cli_text_fini) = {0};
    struct cli_text file CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&fields, ",");
    add_fields(&fields, result);
    cli_event_quiet("exit", fields.data, "outcome %s, exit code %d",
                    result->outcome, result->status);
    if (o->status_file) {
        cli_text_add(&file, "{");
        add_fields(&file, result);
        cli_text_add(&file, "}\n");
        cli_whole_write("--status-file", o->status_file, &file, MODE);
    }
}
