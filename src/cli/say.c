/* SPDX-License-Identifier: MIT */
/*
 * Decides how a message for people leaves the program. Thread: any.
 */
#include "src/cli/say.h"
#include "src/cli/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

__attribute__((format(printf, 1, 0))) static void say(const char *format,
                                                      va_list list)
{
    char line[8192];
    int n = vsnprintf(line, sizeof line, format, list);
    struct cli_text text = {0};

    if (n < 0) {
        return;
    }
    if (sink) {
        sink(line);
        return;
    }
    cli_text_add(&text, "holdfast: ");
    cli_text_clean(&text, line);
    cli_text_add(&text, "\n");
    cli_write(STDERR_FILENO, text.data);
    cli_text_fini(&text);
}

void cli_say(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    say(format, list);
    va_end(list);
}

int cli_fail(int code, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    say(format, list);
    va_end(list);
    return code;
}
