/* SPDX-License-Identifier: MIT */
/*
 * The library's blocking calls, on a thread of their own: open the store,
 * acquire the lock, wait until it is lost. The main thread reads signals
 * meanwhile. Thread: main, but for what claim.c runs itself.
 */
#ifndef HF_CLI_CLAIM_H
#define HF_CLI_CLAIM_H

#include "include/holdfast.h"
#include "src/cli/store.h"
#include "src/cli/worker.h"

#include <stdatomic.h>

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
