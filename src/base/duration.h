/* SPDX-License-Identifier: MIT */
/*
 * Durations as people write them: 250ms 30s 5m 2h 1d 1h30m; a bare number is
 * seconds, also with a fraction (0.5). Thread: any.
 */
#ifndef HF_BASE_DURATION_H
#define HF_BASE_DURATION_H

#include "src/base/base.h"

/* True, and *ret_ms is set. False if the text is empty, has a sign, an unknown
 * unit or units that are not in falling order, or is beyond 100 years. */
HF_MUST_CHECK bool hf__duration_parse(const char *text, int64_t *ret_ms);
/* "1h30m", "250ms", "0s". Returns buf. */
const char *hf__duration_format(int64_t ms, char *buf, size_t size);

#endif
