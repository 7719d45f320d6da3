/* SPDX-License-Identifier: MIT */
/*
 * The command `holdfast`: parses the command line and starts the verb. Thread:
 * main.
 */
#include "src/cli/args.h"
#include "src/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * A caller may have closed stdin, stdout or stderr. A file that we open later
 * must not get that number, or a message would go into a database; and the
 * command that we run must find it closed, as without us, hence O_CLOEXEC.
 * Stdout is opened for reading only, so that writing an answer still fails.
 */
static void fill_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null",
                       (fd == STDERR_FILENO ? O_RDWR : O_RDONLY) | O_CLOEXEC);
        }
    }
}

static int (*const starts[CLI_VERBS])(const struct cli_options *) = {
#define CLI_X(id, word) [CLI_##id] = cli_##word,
    CLI_VERB_MAP(CLI_X)
#undef CLI_X
};

int main(int argc, char **argv)
{
    struct cli_options options = {0};
    int r;

    fill_standard();
    r = cli_parse(argc, argv, &options);
    if (options.is_json && options.verb != CLI_RUN) {
        cli_output_owe();
    }
    if (!r) {
        r = options.is_help ? cli_help(&options)
                            : starts[options.verb](&options);
    }
    return cli_output_end(r);
}
