/* SPDX-License-Identifier: MIT */
/*
 * How a run ended: the exit code, and the file that tells a child's own 75
 * from ours. Thread: main.
 */
#ifndef HF_CLI_RESULT_H
#define HF_CLI_RESULT_H

#include "src/cli/options.h"

struct cli_result {
    const char *outcome; /* "exited", "busy", … */
    int status;          /* the exit code of holdfast */
    int child_exit;      /* -1: it did not exit */
    int child_signal;    /* 0: no signal ended it */
};

/* May the --status-file and the --metrics-file be written? 0, or 64. */
int cli_result_check(const struct cli_options *);
/* Write the --status-file, atomically, and the event "exit". */
void cli_result_tell(const struct cli_options *, const struct cli_result *);

#endif
