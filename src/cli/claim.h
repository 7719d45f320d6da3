/* SPDX-License-Identifier: MIT */
/*
 * Turns options into a lock, for run, hold and acquire. The library's calls
 * that block (open the store, acquire the lock, wait until it is lost) run on a
 * thread of their own, while the main thread reads signals. Thread: main,
 * except for what claim.c runs on that thread.
 */
#ifndef HF_CLI_CLAIM_H
#define HF_CLI_CLAIM_H

#include "include/holdfast.h"
#include "src/cli/options.h"
#include "src/cli/store.h"
#include "src/cli/text.h"

#include <stdatomic.h>

struct cli_worker;

/* Run fn(arg) on a new thread with all signals blocked. NULL: no thread could
 * be started. */
struct cli_worker *cli_worker_start(void (*fn)(void *), void *arg);
/* Detach the thread without waiting for it: the process is about to end. */
void cli_worker_leave(struct cli_worker *);
/* Wait for the thread's end and free the worker. Takes NULL. */
void cli_worker_join(struct cli_worker *);

int cli_names_count(const struct cli_options *);
/* The i-th name; NAME is number 0. */
const char *cli_names_at(const struct cli_options *, int i);
/* Check that all names are valid and none is given twice. Returns 0, or 64
 * after having said what is wrong. */
int cli_names_check(const struct cli_options *);

/*
 * Find the name that keeps us waiting. Several names are acquired in their
 * sorted order, so it is the first that another process holds, or that stays
 * closed after a release. A grant of our own since `since_us` (wall clock) does
 * not count. Returns what the store says of that name; NULL: the store does not
 * answer, or no name is in the way.
 */
hf_info *cli_names_look(const struct cli_options *, hf_client *,
                        int64_t since_us);
/* The name in `info`; NAME without one. */
const char *cli_names_in_way(const struct cli_options *, const hf_info *);

/* Add "a", or "a and 2 more". */
void cli_names_line(struct cli_text *, const struct cli_options *);
/* Add ,"locks":[{"name":"a","fence":7},…] for several names; nothing
 * for one. */
void cli_names_json(struct cli_text *, const hf_lock *);

/* The shortest lease that leaves time to end a command. */
#define CLI_RUN_LEASE_MIN_MS 1000

/* Check the options of a lock, for run, hold and acquire. Returns 0, or 64
 * after having said what is wrong. */
int cli_lock_options_check(const struct cli_options *);
/* How long to wait for the lock. */
int64_t cli_lock_options_wait_ms(const struct cli_options *);

/* How the use of the lock ended, for --once-per and --once-key. */
enum cli_lock_options_end {
    CLI_OPTIONS_UNUSED, /* no command was started, or no token delivered */
    CLI_OPTIONS_FAILED,
    CLI_OPTIONS_USED
};

/* Undo the recorded start if this end does not count as one; says whether it
 * was undone. Call it before the release. Blocks. */
void cli_lock_options_settle(const struct cli_options *, hf_lock *,
                             enum cli_lock_options_end);

enum cli_claim_phase {
    CLI_CLAIM_OPENING,
    CLI_CLAIM_TRYING,  /* the first attempt; `client` is set */
    CLI_CLAIM_WAITING, /* waiting: another holder has the lock */
    CLI_CLAIM_HELD,    /* granted; `lock` is set */
    CLI_CLAIM_FAILED,  /* `status`, `err` and perhaps `info` say why */
    CLI_CLAIM_ENDED    /* the lock was lost or released */
};

struct cli_claim {
    const struct cli_options *options;
    const struct cli_store *store;
    int64_t wait_ms;
    int64_t started_ns; /* time of the first attempt */
    int64_t started_us; /* the same, by the wall clock */
    int64_t granted_ns; /* time of the grant; 0: none yet */
    int attempts;
    int event_fd; /* readable when the phase changed */
    hf_cancel *cancel;
    struct cli_worker *worker;
    _Atomic(enum cli_claim_phase) phase;
    /* These are written before the phase that needs them, and are read-only
     * after it. */
    hf_client *client;
    hf_caps_info caps;
    hf_lock *lock;
    hf_info *info; /* the holder that kept us waiting; NULL: not known */
    hf_error err;
    int status;
};

/* Start opening the store and acquiring. Returns 0, or a status of the
 * library. */
int cli_claim_start(struct cli_claim *);
/* Returns the phase and clears event_fd. */
enum cli_claim_phase cli_claim_look(struct cli_claim *);
/* End whatever still goes on: the wait, the hold, the thread, the client. Not
 * to be called while the store is being opened. */
void cli_claim_finish(struct cli_claim *);
/* To be called once the lock is held: say whether the last holder died or let
 * its lease expire, instead of releasing it. */
void cli_claim_tell_takeover(const struct cli_claim *);
/* The lease of the grant; valid once the store is open. */
int64_t cli_claim_lease_ms(const struct cli_claim *);

#endif
