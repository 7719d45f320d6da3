/* SPDX-License-Identifier: MIT */
/*
 * What the wrapper, which owns the lock, and the guardian, which owns the
 * command, share: the socket between them, the times at which a command must
 * end, and the variables that tell the command about its lock. The end of the
 * socket is a message, too: it says that the other side died. Thread: main of
 * either process.
 */
#ifndef HF_CLI_CHANNEL_H
#define HF_CLI_CHANNEL_H

#include "src/cli/claim.h"
#include "src/cli/options.h"
#include "src/cli/text.h"

#include <stdint.h>

#define CLI_ENVIRONMENT_PASSWORD "HOLDFAST_PASSWORD"

/* Add the name of the password's variable, ended by NUL, which removes it from
 * the environment; add nothing if the command may have it. */
void cli_environment_guard(struct cli_text *, const struct cli_options *);
/* Add the same, and "K=V" strings, each ended by NUL. */
void cli_environment_fill(struct cli_text *, const struct cli_claim *,
                          int64_t deadline_ns);

enum cli_on_lost { CLI_ON_LOST_TERM, CLI_ON_LOST_KILL, CLI_ON_LOST_IGNORE };

struct cli_limits {
    enum cli_on_lost on_lost;
    int64_t grace_ms;  /* between TERM and KILL */
    int64_t margin_ms; /* between KILL and the deadline */
};

/* Compute the limits for a grant with this lease: given in the options, or the
 * store's own. */
void cli_limits_init(struct cli_limits *, const struct cli_options *,
                     int64_t lease_ms);
/* When TERM, or KILL, is due with this deadline; INT64_MAX: never. */
int64_t cli_limits_term_ns(const struct cli_limits *, int64_t deadline_ns);
int64_t cli_limits_kill_ns(const struct cli_limits *, int64_t deadline_ns);
/* The earliest and the latest time at which the deadline affects the command. A
 * command that cannot be started before the first is not started. */
int64_t cli_limits_first_ns(const struct cli_limits *, int64_t deadline_ns);
int64_t cli_limits_last_ns(const struct cli_limits *, int64_t deadline_ns);

/* The most descriptors that one message may carry. */
#define CLI_CHANNEL_FDS 16

/* Messages from the wrapper to the guardian. */
enum cli_order {
    CLI_CHANNEL_CLOSED,   /* never sent: the wrapper exited */
    CLI_CHANNEL_START,    /* value: deadline; number: the lease in ms; payload:
                          K=V strings; fds */
    CLI_CHANNEL_DEADLINE, /* value: the new deadline */
    CLI_CHANNEL_SIGNAL,   /* number: a signal for the command's group */
    CLI_CHANNEL_KILL,     /* number: enum cli_kill_reason; kill all, now */
};

/* Messages from the guardian to the wrapper. */
enum cli_news {
    CLI_CHANNEL_DIED,      /* never sent: the guardian exited */
    CLI_CHANNEL_STARTED,   /* number: the command's pid, also its group */
    CLI_CHANNEL_FAILED,    /* number: errno of exec */
    CLI_CHANNEL_STOPPED,   /* number: the signal that stopped the command;
                              value: how many SIGCONTs of the wrapper came
                              before */
    CLI_CHANNEL_CONTINUED, /* the command was continued */
    CLI_CHANNEL_LAPSED,    /* the deadline is near or passed; without --on-lost
                              ignore the command is being ended */
    CLI_CHANNEL_OVERRUN,   /* the time of --max-run is over: the command is
                              being ended */
    CLI_CHANNEL_EXITED,    /* number: status as of wait() */
    CLI_CHANNEL_GONE,      /* no process that the command started is left */
};

enum cli_kill_reason { CLI_KILL_LOST, CLI_KILL_AFTER, CLI_KILL_INTERRUPT };

struct cli_channel_head {
    int32_t kind; /* enum cli_order or cli_news; 0: the other side exited */
    int32_t number;
    int64_t value; /* a deadline in ns of CLOCK_BOOTTIME, or a count */
};

struct cli_channel_message {
    struct cli_channel_head head;
    char *payload; /* NUL-separated, to be freed by cli_free(); NULL: none */
    size_t length;
};

/* Create two connected ends, close-on-exec. Returns 0, or -1 and errno. */
int cli_channel_pair(int ret_ends[2]);
/* Send a message without payload. Never blocks. Returns 0, or -1 and errno. */
int cli_channel_send(int fd, int kind, int number, int64_t value);
int cli_channel_send_start(int fd, int64_t deadline_ns, int64_t lease_ms,
                           const struct cli_text *payload, const int *fds,
                           int fd_count);
/* Returns 1 with a message, whose payload the caller frees, or 0 if none has
 * arrived. Never blocks. */
int cli_channel_receive(int fd, struct cli_channel_message *ret_message);

#endif
