/* SPDX-License-Identifier: MIT */
/*
 * Durations as people write them: 250ms 30s 5m 2h 1d 1h30m; a bare number is
 * seconds, also with a fraction (0.5). Thread: any.
 */
#ifndef HF_BASE_DURATION_H
#define HF_BASE_DURATION_H

#include "src/base/base.h"

/* True and *ret_ms, or false: empty, a sign, an unknown unit, units not in
 * falling order, or beyond 100 years. */
HF_MUST_CHECK bool hf__duration_parse(const char *text, int64_t *ret_ms);
/* "1h30m", "250ms", "0s". Returns buf. */
const char *hf__duration_format(int64_t ms, char *buf, size_t size);

#endif
