/* SPDX-License-Identifier: MIT */
/*
 * Decides what somebody meant who left out `--` or the command, and writes
 * it as a line to paste: each word quoted as a shell needs it. Thread: main.
 */
#include "src/cli/correct.h"
#include "src/cli/exit.h"
#include "src/cli/memory.h"
#include "src/cli/say.h"
#include "src/cli/secret.h"
#include "src/cli/text.h"

#include <string.h>

static void add_words(struct cli_text *line, char **argv, int from, int to)
{
    for (int i = from; i < to; i++) {
        bool is_url =
            !strcmp(argv[i - 1], "--url") || !strncmp(argv[i], "--url=", 6);
        char *shown CLI_AUTO(cli_free_auto) =
            is_url ? cli_secret_hide_all(argv[i]) : cli_secret_hide(argv[i]);

        cli_text_add(line, " ");
        cli_text_shell(line, shown);
    }
}

int cli_correct_dashes(char **argv, int argc, int at)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&line, "holdfast");
    add_words(&line, argv, 1, at);
    cli_text_add(&line, " --");
    add_words(&line, argv, at, argc);
    return cli_fail(CLI_EXIT_USAGE,
                    "run: `--` must stand before the command: %s", line.data);
}

int cli_correct_command(char **argv, int end)
{
    struct cli_text line CLI_AUTO(cli_text_fini) = {0};

    cli_text_add(&line, "holdfast");
    add_words(&line, argv, 1, end);
    return cli_fail(CLI_EXIT_USAGE, "run: the command is missing: %s -- CMD",
                    line.data);
}
