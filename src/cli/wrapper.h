/* SPDX-License-Identifier: MIT */
/*
 * The wrapper: the process that the caller started, or, at a terminal, the
 * child of that one, which then is the job and can be stopped and continued
 * as a job. It owns the lock, passes signals on, tells the guardian each new
 * deadline, and ends what is left if somebody killed the guardian. Thread:
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

/* Wait for `left` of the dead at most, and note whether those two are among
 * them. Nothing else waits for just any of the wrapper's children. */
void cli_orphans_reap(struct cli_guardian *, struct cli_hook *, int left);
/* Kill all that the guardian left, and return when it is gone. `group` may
 * be 0: not known; the hook lives on. */
void cli_orphans_kill(struct cli_guardian *, struct cli_hook *, pid_t group);

/* Returns in the wrapper, which leaves the group of the job; *ret_front is 0
 * without a terminal. The job returns never. After cli_signals_setup() and
 * while there is one thread. 0, or -1 and errno. */
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
    int64_t ended_ns;    /* the command did; 0: it never began */
    int64_t deadline_ns; /* as the guardian knows it */
    int64_t kill_ns;     /* --kill-after; INT64_MAX: not running */
    pid_t job;           /* 0: none, there is no terminal */
    pid_t child;         /* 0: none was started */
    int child_status;    /* as of wait() */
    int exec_errno;      /* the command could not be started */
    hf_reason lost_reason;
    int wait_signal;    /* ended the wait; 0: none did */
    int stop_signal;    /* stopped the command; 0: it runs, or is about to */
    int64_t conts;      /* SIGCONTs that were passed on */
    int interrupts;     /* SIGINT that we got while the command ran */
    bool is_serving;    /* the command was ordered: signals are its own */
    bool is_child_done; /* child_status is valid */
    bool is_lapsed;     /* ended because the deadline came near */
    bool is_overrun;    /* ended by --max-run */
    bool is_lost;       /* ended because the store said so */
    bool is_gone;       /* nothing of the command is left */
    bool is_guard_dead; /* it died before that */
};

/* Until the lock is held, the claim failed, or a signal ended a wait that
 * has not even reached the store. Gives the phase. */
enum cli_claim_phase cli_wrapper_wait(struct cli_wrapper *);
/* Have the command started, and serve it until it is gone. */
void cli_wrapper_serve(struct cli_wrapper *);

#endif
