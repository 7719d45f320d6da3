/* SPDX-License-Identifier: MIT */
/*
 * The only file of the command that calls malloc. Out of memory is exit 71,
 * said with a write() that needs no memory itself. Thread: any.
 */
#include "src/cli/memory.h"
#include "src/cli/exit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *answer;

void cli_memory_answer(const char *text)
{
    answer = text;
}

_Noreturn static void fail(void)
{
    static const char text[] = "holdfast: out of memory\n";
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);

    if (answer) {
        n = write(STDOUT_FILENO, answer, strlen(answer));
    }
    (void)n;
    _exit(CLI_EXIT_MEMORY);
}

void *cli_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p) {
        fail();
    }
    return p;
}

void *cli_resize(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    if (!p) {
        fail();
    }
    return p;
}

char *cli_strndup(const char *text, size_t length)
{
    char *copy = cli_alloc(length + 1);

    memcpy(copy, text, length);
    return copy;
}

char *cli_strdup(const char *text)
{
    return cli_strndup(text, strlen(text));
}

char *cli_format(const char *format, ...)
{
    va_list list;
    int length;
    char *text;

    va_start(list, format);
    length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0) {
        fail();
    }
    text = cli_alloc((size_t)length + 1);
    va_start(list, format);
    (void)vsnprintf(text, (size_t)length + 1, format, list);
    va_end(list);
    return text;
}

void cli_free(void *p)
{
    free(p);
}

void cli_free_auto(void *p)
{
    void *owned;

    memcpy(&owned, p, sizeof owned);
    free(owned);
}
