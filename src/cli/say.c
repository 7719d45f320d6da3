/* SPDX-License-Identifier: MIT */
/*
 * Decides how a message for people leaves the program. Thread: any.
 */
#include "src/cli/say.h"
#include "src/cli/memory.h"
#include "src/cli/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE 8192

void cli_write(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left) {
        ssize_t n = write(fd, text, left);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return;
        }
        text += n;
        left -= (size_t)n;
    }
}

static void (*sink)(const char *line);

void cli_say_through(void (*fn)(const char *line))
{
    sink = fn;
}

/* Of the last failure. */
static char *why;
static char *more;

void cli_failed_by(const char *line, const char *fields)
{
    cli_free(why);
    cli_free(more);
    why = cli_strdup(line);
    more = fields ? cli_strdup(fields) : NULL;
}

const char *cli_failed(const char **ret_fields)
{
    *ret_fields = more;
    return why;
}

static void say(const char *line)
{
    struct cli_text text CLI_AUTO(cli_text_fini) = {0};

    if (sink) {
        sink(line);
        return;
    }
    cli_text_add(&text, "holdfast: ");
    cli_text_clean(&text, line);
    cli_text_add(&text, "\n");
    cli_write(STDERR_FILENO, text.data);
}

void cli_say(const char *format, ...)
{
    char line[LINE_SIZE];
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (n >= 0) {
        say(line);
    }
}

int cli_fail(int code, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (n >= 0) {
        cli_failed_by(line, NULL);
        say(line);
    }
    return code;
}
