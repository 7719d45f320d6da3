/* SPDX-License-Identifier: MIT */
/*
 * Where the library's log lines go. Thread: any.
 */
#ifndef HF_CLI_LOG_H
#define HF_CLI_LOG_H

#include "include/holdfast.h"

/* A hf_log_fn: one line on stderr. While `run` writes JSON events there, it
 * is an event "log". */
void cli_log(void *arg, hf_level level, const char *line);
/* The store does not answer while a lock is wanted: said at most once a
 * minute. */
void cli_log_outage(const char *why);

#endif
