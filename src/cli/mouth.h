/* SPDX-License-Identifier: MIT */
/*
 * A descriptor that we speak through and that others read, or do not: a pipe,
 * a terminal, a socket, a file. Thread: any.
 */
#ifndef HF_CLI_MOUTH_H
#define HF_CLI_MOUTH_H

#include <stddef.h>

enum cli_mouth_kind {
    CLI_MOUTH_PLAIN,  /* a file: a write ends by itself */
    CLI_MOUTH_OWN,    /* our own open file, which does not block */
    CLI_MOUTH_SOCKET, /* of the caller's, as all below */
    CLI_MOUTH_PIPE,
    CLI_MOUTH_OTHER
};

struct cli_mouth {
    int fd;
    enum cli_mouth_kind kind;
};

/* Before the first thread. `fd` stays open and as it was. */
void cli_mouth_open(struct cli_mouth *, int fd);
/* Write what can be written at once; the number of bytes, or -1 and errno,
 * EAGAIN if there is no room. Never blocks. */
long cli_mouth_try(const struct cli_mouth *, const char *bytes, size_t length);
/* Wait for room. */
void cli_mouth_wait(const struct cli_mouth *, int ms);

#endif
