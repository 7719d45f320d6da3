/* SPDX-License-Identifier: MIT */
/*
 * Durations as people write them: 250ms 30s 5m 2h 1d 1h30m; a bare number is
 * seconds, also with a fraction. The same syntax as in a URL. Thread: any.
 */
#ifndef HF_CLI_DURATION_H
#define HF_CLI_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_DURATION_SIZE 48

/* False: empty, a sign, an unknown unit, units not in falling order, or
 * beyond 100 years. */
bool cli_duration_parse(const char *text, int64_t *ret_ms);
/* "1h30m", "250ms", "0s". Returns buf. */
const char *cli_duration(int64_t ms, char buf[CLI_DURATION_SIZE]);
/* As cli_duration(), in whole seconds once there is one. */
const char *cli_duration_short(int64_t ms, char buf[CLI_DURATION_SIZE]);

#endif
