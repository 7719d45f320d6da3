/* SPDX-License-Identifier: MIT */
/*
 * One sink a client; silent without one. One line an event, stable names:
 * "event=lost lock=job reason=expired". Values with spaces or quotes are
 * quoted by the caller through hf__log_quote(). Never a password or a token.
 * Thread: any; never called under a lock of the library.
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

/* text as a value of a log line: bare when it is plain, else in double
 * quotes with \" \\ and control bytes as \xNN. Cut at size. Returns buf. */
const char *hf__log_quote(const char *text, char *buf, size_t size);

#endif
