/* SPDX-License-Identifier: MIT */
/*
 * How a run ended: the exit code, the file that tells a command's own 75 from
 * ours, and the figures of --metrics-file. Thread: main.
 */
#ifndef HF_CLI_REPORT_H
#define HF_CLI_REPORT_H

#include "src/cli/options.h"

struct cli_result {
    const char *outcome; /* "exited", "busy", … */
    int status;          /* the exit code of holdfast */
    int child_exit;      /* -1: the command did not exit */
    int child_signal;    /* 0: no signal ended the command */
};

/* Check that --status-file and --metrics-file can be written. Returns
 * 0, or 64. */
int cli_result_check(const struct cli_options *);
/* Write the --status-file, atomically, and the event "exit". */
void cli_result_tell(const struct cli_options *, const struct cli_result *);

/* Set the outcome of the command: exec failed with an errno, which this
 * reports, or it ended with this status as of wait(). */
void cli_outcome_child(const struct cli_options *, int exec_errno, int status,
                       struct cli_result *result);

struct cli_wrapper;

/* Write --metrics-file, if given. To be called before the client is closed. */
void cli_metrics_tell(const struct cli_wrapper *, const struct cli_result *);

#endif
