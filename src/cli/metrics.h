/* SPDX-License-Identifier: MIT */
/*
 * --metrics-file: the figures of one run for Prometheus. Thread: main.
 */
#ifndef HF_CLI_METRICS_H
#define HF_CLI_METRICS_H

#include "src/cli/result.h"
#include "src/cli/wrapper.h"

/* Write the file, if one is wanted. Before the client is closed. */
void cli_metrics_tell(const struct cli_wrapper *, const struct cli_result *);

#endif
