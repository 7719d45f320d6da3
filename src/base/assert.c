/* SPDX-License-Identifier: MIT */
/*
 * What happens when an invariant of ours does not hold: one line to standard
 * error and the end of the process. A lock that goes on after that may have
 * two holders. Written by write(2), so that it also works inside a signal
 * handler's caller and with stdio's lock held. Thread: any.
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
        /* Nobody hears it; the abort below still tells. */
    }
    abort();
}
