/* SPDX-License-Identifier: MIT */
/*
 * Hearing Ctrl-C while the command has the terminal: only members of the
 * foreground group get it, so one small process of ours joins that group.
 * Thread: main of the guardian.
 */
#ifndef HF_CLI_EAR_H
#define HF_CLI_EAR_H

#include <sys/types.h>

struct cli_ear {
    pid_t pid; /* 0: none */
    int fd;    /* a byte for each Ctrl-C; -1: none */
};

/* Put an ear into the group; on failure there is none. */
void cli_ear_start(struct cli_ear *, pid_t group);
/* How often Ctrl-C was pressed since the last call. Never blocks. */
int cli_ear_count(const struct cli_ear *);
/* That child was reaped; if it was the ear, there is none any more. */
void cli_ear_reaped(struct cli_ear *, pid_t);
/* Ends it; it is reaped like any child. */
void cli_ear_stop(struct cli_ear *);

#endif
