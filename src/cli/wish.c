/* SPDX-License-Identifier: MIT */
/*
 * Decides which wishes contradict each other, and how options of the command
 * become options of the library. How the lock is then got is claim.c's.
 * Thread: main checks; any thread may fill.
 */
#include "src/cli/wish.h"
#include "src/cli/exit.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

#include <string.h>

int cli_name_check(const struct cli_options *o)
{
    const char *verb = cli_verb_table[o->verb].word;
    size_t length = strlen(o->name);

    if (!length || length > HF_NAME_MAX) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: the name has %zu bytes, not 1 to %d", verb, length,
                        HF_NAME_MAX);
    }
    for (const char *c = o->name; *c;) {
        uint32_t point;
        size_t step = cli_utf8(c, &point);

        if (!step) {
            return cli_fail(CLI_EXIT_USAGE, "%s: the name '%s' is not UTF-8",
                            verb, o->name);
        }
        c += step;
    }
    return 0;
}

int cli_wish_check(const struct cli_options *o)
{
    int r = cli_name_check(o);

    if (r) {
        return r;
    }
    if (o->is_try && o->wait_ms && cli_option_given(o, "wait")) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%s: --try and --wait exclude each other",
                        cli_verb_table[o->verb].word);
    }
    return 0;
}

int64_t cli_wish_wait_ms(const struct cli_options *o)
{
    return o->is_try ? 0 : o->wait_ms;
}

void cli_wish_fill(const struct cli_options *o, hf_acquire_opts *ret_opts)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.lease_ms = o->lease_ms;
    opts.owner = o->owner;
    opts.note = o->note;
    *ret_opts = opts;
}
