/* SPDX-License-Identifier: MIT */
/*
 * What the wrapper, which owns the lock, and the guardian, which owns the
 * command, have in common: the socket between them, whose end is a message,
 * too, for it says that the other side died; when a command must end; and what
 * it is told about its lock. Thread: main of either process.
 */
#ifndef HF_CLI_CHANNEL_H
#define HF_CLI_CHANNEL_H

#include "src/cli/claim.h"
#include "src/cli/options.h"
#include "src/cli/text.h"

#include <stdint.h>

#define CLI_ENVIRONMENT_PASSWORD "HOLDFAST_PASSWORD"

/* What becomes of the store's password: nothing, or its name, which takes it
 * away, ended by NUL. */
void cli_environment_guard(struct cli_text *, const struct cli_options *);
/* That, and "K=V" strings, each ended by NUL. */
void cli_environment_fill(struct cli_text *, const struct cli_claim *,
                          int64_t deadline_ns);

enum cli_on_lost { CLI_ON_LOST_TERM, CLI_ON_LOST_KILL, CLI_ON_LOST_IGNORE };

struct cli_limits {
    enum cli_on_lost on_lost;
    int64_t grace_ms;  /* between TERM and KILL */
    int64_t margin_ms; /* between KILL and the deadline */
};

/* Of a grant with this lease: the option's, or the store's own. */
void cli_limits_init(struct cli_limits *, const struct cli_options *,
                     int64_t lease_ms);
/* With this deadline TERM, and KILL, is due then; INT64_MAX: never. */
int64_t cli_limits_term_ns(const struct cli_limits *, int64_t deadline_ns);
int64_t cli_limits_kill_ns(const struct cli_limits *, int64_t deadline_ns);
/* The first moment at which a command would feel the deadline. A command
 * that cannot be started before it is not started. */
int64_t cli_limits_first_ns(const struct cli_limits *, int64_t deadline_ns);
int64_t cli_limits_last_ns(const struct cli_limits *, int64_t deadline_ns);

/* Descriptors that one message may carry. */
#define CLI_CHANNEL_FDS 16

/* Wrapper to guardian. */
enum cli_order {
    CLI_CHANNEL_CLOSED,   /* never sent: the wrapper is gone */
    CLI_CHANNEL_START,    /* value: deadline; number: the lease in ms; payload:
                          K=V strings; fds */
    CLI_CHANNEL_DEADLINE, /* value: the new deadline */
    CLI_CHANNEL_SIGNAL,   /* number: pass it on to the command's group */
    CLI_CHANNEL_KILL,     /* number: enum cli_kill_reason; kill all, now */
};

/* Guardian to wrapper. */
enum cli_news {
    CLI_CHANNEL_DIED,      /* never sent: the guardian is gone */
    CLI_CHANNEL_STARTED,   /* number: pid, also of the group */
    CLI_CHANNEL_FAILED,    /* number: errno of exec */
    CLI_CHANNEL_STOPPED,   /* the command was stopped, by that signal; value: so
                           many SIGCONTs of the wrapper were before */
    CLI_CHANNEL_CONTINUED, /* it goes on */
    CLI_CHANNEL_LAPSED,    /* the deadline came near: the command is ended */
    CLI_CHANNEL_OVERRUN,   /* the time of --max-run is over: it is ended */
    CLI_CHANNEL_EXITED,    /* number: status as of wait() */
    CLI_CHANNEL_GONE,      /* nothing that the command started is left */
};

enum cli_kill_reason { CLI_KILL_LOST, CLI_KILL_AFTER, CLI_KILL_INTERRUPT };

struct cli_channel_head {
    int32_t kind; /* enum cli_order or cli_news; 0: the other side is gone */
    int32_t number;
    int64_t value; /* a deadline in ns of CLOCK_BOOTTIME, or a count */
};

struct cli_channel_message {
    struct cli_channel_head head;
    char *payload; /* NUL-separated, for cli_free(); NULL: none */
    size_t length;
};

/* Two connected ends, close-on-exec. 0, or -1 and errno. */
int cli_channel_pair(int ret_ends[2]);
/* Never blocks. 0, or -1 and errno. */
int cli_channel_send(int fd, int kind, int number, int64_t value);
int cli_channel_send_start(int fd, int64_t deadline_ns, int64_t lease_ms,
                           const struct cli_text *payload, const int *fds,
                           int fd_count);
/* 1: a message (its payload is the caller's), 0: none is there yet. */
int cli_channel_receive(int fd, struct cli_channel_message *ret_message);

#endif
