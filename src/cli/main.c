/* SPDX-License-Identifier: MIT */
/*
 * The command `holdfast`: parses the line and starts the verb. Thread: main.
 */
#include "src/cli/args.h"
#include "src/cli/output.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * A caller may have closed stdin, stdout or stderr. What we open next must
 * not land there, or a message would go into a database; and the command
 * that we run must find them closed, as it would without us. Stdout stays
 * as good as closed: an answer that goes nowhere is none.
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

/* Asked before the line is parsed, which may fail. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 2;
         i < argc && strcmp(argv[1], "run") != 0 && strcmp(argv[i], "--") != 0;
         i++) {
        if (!strcmp(argv[i], "--json")) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct cli_options options = {0};
    int r;

    fill_standard();
    if (wants_json(argc, argv)) {
        cli_output_owe();
    }
    r = cli_parse(argc, argv, &options);
    if (!r) {
        r = options.is_help ? cli_help(&options)
                            : cli_verb_table[options.verb].start(&options);
    }
    return cli_output_end(r);
}
