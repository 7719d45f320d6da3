/* SPDX-License-Identifier: MIT */
/*
 * The wrapper: the process that the caller started or, at a terminal, a child
 * of it; the caller's process is then the job, which a shell can stop and
 * continue. The wrapper owns the lock, passes signals on, tells the guardian
 * each new deadline, and ends what is left if the guardian was killed. Thread:
 * main.
 */
#ifndef HF_CLI_WRAPPER_H
#define HF_CLI_WRAPPER_H

#include "src/cli/channel.h"
#include "src/cli/child.h"
#include "src/cli/claim.h"
#include "src/cli/guardian.h"
#include "src/cli/hook.h"
#include "src/cli/waiting.h"

#include <sys/types.h>

/* Reap at most `left` dead children, and note whether the guardian or the hook
 * was one of them. Nothing else waits for just any child of the wrapper. */
void cli_orphans_reap(struct cli_guardian *, struct cli_hook *, int left);
/* Kill all processes that the guardian left, and return when they are gone.
 * `group` 0: not known. The hook is spared. */
void cli_orphans_kill(struct cli_guardian *, struct cli_hook *, pid_t group);

/* Fork the wrapper at a terminal. Returns in the wrapper, which leaves the
 * job's group, and never in the job; *ret_job is 0 without a terminal. To be
 * called after cli_signals_setup() and while there is one thread. Returns 0, or
 * -1 and errno. */
int cli_job_start(const struct cli_signals *, const struct cli_terminal *,
                  pid_t *ret_job);

struct cli_wrapper {
    const struct cli_options *options;
    struct cli_store store;
    struct cli_signals signals;
    struct cli_terminal terminal;
    struct cli_guard_plan plan;
    struct cli_guardian guardian;
    struct cli_hook hook;
    struct cli_claim claim;
    struct cli_waiting waiting;
    int64_t started_ns;
    int64_t ended_ns;    /* when the command ended; 0: it never began */
    int64_t deadline_ns; /* the last one that the guardian was told */
    int64_t kill_ns;     /* when --kill-after is over; INT64_MAX: not running */
    pid_t job;           /* 0: no job, as there is no terminal */
    pid_t child;         /* the command; 0: not started */
    int child_status;    /* as of wait() */
    int exec_errno;      /* errno if the command could not be started */
    hf_reason lost_reason;
    int wait_signal;    /* the signal that ended the wait; 0: none */
    int stop_signal;    /* the signal that stopped the command; 0: it runs, or
                           is about to */
    int64_t conts;      /* SIGCONTs that were passed on */
    int interrupts;     /* SIGINTs that came while the command ran */
    bool is_serving;    /* the start was sent: signals go to the command */
    bool is_child_done; /* child_status is valid */
    bool is_lapsed;     /* ended because the deadline came near */
    bool is_overrun;    /* ended by --max-run */
    bool is_lost;       /* ended because the store said that the lock is lost */
    bool is_gone;       /* no process of the command is left */
    bool is_guard_dead; /* the guardian died before that */
};

/* Wait until the lock is held, the claim failed, or a signal ended a wait whose
 * store is still being opened. Returns the phase. */
enum cli_claim_phase cli_wrapper_wait(struct cli_wrapper *);
/* Have the guardian start the command, and serve until all its processes are
 * gone. */
void cli_wrapper_serve(struct cli_wrapper *);

#endif
