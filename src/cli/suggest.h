/* SPDX-License-Identifier: MIT */
/*
 * Which valid word did somebody mean? Thread: any.
 */
#ifndef HF_CLI_SUGGEST_H
#define HF_CLI_SUGGEST_H

#include <stddef.h>

/* Keeps the nearest of the words it is shown. */
struct cli_suggest {
    const char *word;
    const char *nearest; /* NULL: none is near enough */
    size_t distance;
};

void cli_suggest_init(struct cli_suggest *, const char *word);
void cli_suggest_try(struct cli_suggest *, const char *candidate);

#endif
