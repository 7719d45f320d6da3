/* SPDX-License-Identifier: MIT */
/*
 * Decides that an answer is one text, written at once, and that an answer
 * nobody could read is not a success. Thread: main.
 */
#include "src/cli/output.h"
#include "src/cli/exit.h"
#include "src/cli/say.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int cli_output(const struct cli_text *text, int code)
{
    size_t done = 0;

    while (done < text->length) {
        ssize_t n =
            write(STDOUT_FILENO, text->data + done, text->length - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return cli_fail(CLI_EXIT_INTERNAL, "cannot write to stdout: %s",
                            strerror(errno));
        }
        done += (size_t)n;
    }
    return code;
}
