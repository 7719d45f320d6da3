/* SPDX-License-Identifier: MIT */
/*
 * `backends` and `version`: what this build is. Thread: main.
 */
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/options.h"
#include "src/cli/output.h"

#include "include/holdfast.h"

static void add_line(struct cli_text *text, const char *store)
{
    hf_error err = HF_ERROR_INIT;

    if (hf_backend_load(store, &err) == HF_OK) {
        cli_text_add(text, "%s\n", store);
    } else {
        cli_text_add(text, "%s (cannot be used: %s)\n", store, err.text);
    }
}

static void add_unusable(struct cli_text *text)
{
    const char *comma = "";

    for (int i = 0; hf_backends(i); i++) {
        hf_error err = HF_ERROR_INIT;

        if (hf_backend_load(hf_backends(i), &err) != HF_OK) {
            cli_text_add(text, "%s{\"store\":", comma);
            cli_text_json(text, hf_backends(i));
            cli_text_add(text, ",\"reason\":");
            cli_text_json(text, err.text);
            cli_text_add(text, "}");
            comma = ",";
        }
    }
}

int cli_backends(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&text, o->is_json ? "{\"backends\":[" : "");
    for (int i = 0; hf_backends(i); i++) {
        if (o->is_json) {
            cli_text_add(&text, i ? "," : "");
            cli_text_json(&text, hf_backends(i));
        } else {
            add_line(&text, hf_backends(i));
        }
    }
    if (o->is_json) {
        cli_text_add(&text, "],\"unusable\":[");
        add_unusable(&text);
        cli_text_add(&text, "]}\n");
    }
    return cli_output(&text, CLI_EXIT_DONE);
}

int cli_version(const struct cli_options *o)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&text, o->is_json ? "{\"version\":\"%s\"}\n" : "holdfast %s\n",
                 hf_version());
    return cli_output(&text, CLI_EXIT_DONE);
}
