/* SPDX-License-Identifier: MIT */
/*
 * Each client has one log sink, or none and is silent. An event is one line
 * with stable names: "event=lost lock=job reason=expired". The caller quotes
 * values by hf__log_quote(). No line holds a password or a token. Thread: any;
 * never called under a lock of the library.
 */
#ifndef HF_BASE_LOG_H
#define HF_BASE_LOG_H

#include "src/base/base.h"

struct hf__log {
    hf_log_fn fn; /* NULL: silent */
    void *arg;
    hf_level level;
};

__attribute__((format(printf, 3, 4))) void
hf__log(const struct hf__log *log, hf_level level, const char *format, ...);

/* Writes text as a value of a log line: bare if it is plain, else in double
 * quotes with \" \\ and control bytes as \xNN. Cut at size. Returns buf. */
const char *hf__log_quote(const char *text, char *buf, size_t size);

#endif
