/* SPDX-License-Identifier: MIT */
/*
 * One row for each scheme: what comes after the colon. A store in memory is
 * fresh because each test is a process of its own; one in a file lies in the
 * folder of the test.
 */
#include "tests/contract/urls.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *scheme;
    const char *file; /* in the folder of the test; NULL: no path */
} known[] = {
    {"memory", NULL},
    {"sqlite", "locks.db"},
    {"file", "locks"},
};

int hf__store_url(const char *scheme, char *url, size_t size)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(scheme, known[i].scheme) != 0) {
            continue;
        }
        if (known[i].file) {
            snprintf(url, size, "%s:%s/%s", scheme, hf__test_folder(),
                     known[i].file);
        } else {
            snprintf(url, size, "%s:", scheme);
        }
        return 0;
    }
    return -1;
}
