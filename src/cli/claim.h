/* SPDX-License-Identifier: MIT */
/*
 * From the options to the lock, for run, hold and acquire. The library's
 * blocking calls are on a thread of their own: open the store, acquire the
 * lock, wait until it is lost; the main thread reads signals meanwhile.
 * Thread: main, but for what claim.c runs itself.
 */
#ifndef HF_CLI_CLAIM_H
#define HF_CLI_CLAIM_H

#include "include/holdfast.h"
#include "src/cli/options.h"
#include "src/cli/store.h"
#include "src/cli/text.h"

#include <stdatomic.h>

struct cli_worker;

/* Runs fn(arg) with all signals blocked. NULL: there can be no thread. */
struct cli_worker *cli_worker_start(void (*fn)(void *), void *arg);
/* Nobody waits for it: the process is about to end. */
void cli_worker_leave(struct cli_worker *);
/* Waits for its end and frees it. Takes NULL. */
void cli_worker_join(struct cli_worker *);

int cli_names_count(const struct cli_options *);
/* NAME is the 0th. */
const char *cli_names_at(const struct cli_options *, int i);
/* All are names, and none is there twice: 0, or 64 after having said. */
int cli_names_check(const struct cli_options *);

/*
 * Which of them is in the way? Several are got in the order of their names,
 * so it is the first that another process holds, or that is kept closed. What
 * this one was granted since then (wall clock) is not. Gives what the store
 * says of it; NULL: it does not answer, or nothing is.
 */
hf_info *cli_names_look(const struct cli_options *, hf_client *,
                        int64_t since_us);
/* Its name if it is known, else NAME. */
const char *cli_names_in_way(const struct cli_options *, const hf_info *);

/* "a", or "a and 2 more". */
void cli_names_line(struct cli_text *, const struct cli_options *);
/* ,"locks":[{"name":"a","fence":7},…] for several; nothing for one. */
void cli_names_json(struct cli_text *, const hf_lock *);

/* Ending a command in time needs a lease that long. */
#define CLI_RUN_LEASE_MIN_MS 1000

/* Can there be such a lock, for run, hold and acquire? 0, or 64 after having
 * said. */
int cli_lock_options_check(const struct cli_options *);
/* The patience with a holder. */
int64_t cli_lock_options_wait_ms(const struct cli_options *);

/* What became of the lock, for --once-per and --once-key. */
enum cli_lock_options_end {
    CLI_OPTIONS_UNUSED, /* nothing was started under it */
    CLI_OPTIONS_FAILED,
    CLI_OPTIONS_USED
};

/* Take the mark of the start back if this end does not count as one; says if
 * that failed. Before the release. Blocks. */
void cli_lock_options_settle(const struct cli_options *, hf_lock *,
                             enum cli_lock_options_end);

enum cli_claim_phase {
    CLI_CLAIM_OPENING,
    CLI_CLAIM_TRYING,  /* the first attempt; there is a client */
    CLI_CLAIM_WAITING, /* somebody else holds it */
    CLI_CLAIM_HELD,    /* there is a lock */
    CLI_CLAIM_FAILED,  /* status, err and perhaps info say why */
    CLI_CLAIM_ENDED    /* the lock was lost or released */
};

struct cli_claim {
    const struct cli_options *options;
    const struct cli_store *store;
    int64_t wait_ms;
    int64_t started_ns; /* the first attempt */
    int64_t started_us; /* the same by the wall clock */
    int64_t granted_ns; /* 0: it was not */
    int attempts;
    int event_fd; /* readable when the phase changed */
    hf_cancel *cancel;
    struct cli_worker *worker;
    _Atomic(enum cli_claim_phase) phase;
    /* Written before the phase that needs them, read-only after it. */
    hf_client *client;
    hf_caps_info caps;
    hf_lock *lock;
    hf_info *info; /* who was in the way; NULL: not known */
    hf_error err;
    int status;
};

/* 0, or a status of the library. */
int cli_claim_start(struct cli_claim *);
/* The phase; forgets that it changed. */
enum cli_claim_phase cli_claim_look(struct cli_claim *);
/* End whatever is still going on: the wait, the hold, the thread, the client.
 * Not while the store is being opened. */
void cli_claim_finish(struct cli_claim *);
/* Once it holds: what of it nobody had given back, if anything. */
void cli_claim_tell_takeover(const struct cli_claim *);
/* That of its grant, once the store is open. */
int64_t cli_claim_lease_ms(const struct cli_claim *);

#endif
