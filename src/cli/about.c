/* SPDX-License-Identifier: MIT */
/*
 * `backends` and `version`: what this build is. Thread: main.
 */
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/options.h"
#include "src/cli/output.h"

#include "include/holdfast.h"

int cli_backends(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&text, o->is_json ? "{\"backends\":[" : "");
    for (int i = 0; hf_backends(i); i++) {
        if (o->is_json) {
            cli_text_add(&text, i ? "," : "");
            cli_text_json(&text, hf_backends(i));
        } else {
            cli_text_add(&text, "%s\n", hf_backends(i));
        }
    }
    cli_text_add(&text, o->is_json ? "]}\n" : "");
    return cli_output(&text, CLI_EXIT_DONE);
}

int cli_version(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&text, o->is_json ? "{\"version\":\"%s\"}\n" : "holdfast %s\n",
                 hf_version());
    return cli_output(&text, CLI_EXIT_DONE);
}
