/* SPDX-License-Identifier: MIT */
/*
 * A failed HF_ASSERT writes one line to standard error and aborts the process:
 * a lock that went on after it might have two holders. It uses write(2), which
 * also works in code that a signal handler calls and while stdio's lock is
 * held. Thread: any.
 */
#include "src/base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hf__assert_failed(const char *text, const char *file, int line)
{
    char message[512];

    (void)snprintf(message, sizeof message,
                   "holdfast: %s:%d: assertion failed: %s", file, line, text);
    size_t length = strlen(message);
    message[length] = '\n';
    if (write(STDERR_FILENO, message, length + 1) < 0) {
        /* Standard error can't be written; the abort below still reports. */
    }
    abort();
}
