/* SPDX-License-Identifier: MIT */
/*
 * The words of the tests over the asynchronous calls: a loop of poll() and
 * hf_dispatch(), as a program would have one, and what came of a call. All of
 * it fails the test when a callback runs twice, or anywhere but in the loop.
 */
#ifndef HF_TESTS_CONTRACT_LOOP_H
#define HF_TESTS_CONTRACT_LOOP_H

#include "tests/contract/api.h"

/* What came of one call. An acquire's lock is for free_outcome(). */
struct outcome {
    int calls;
    int status;
    hf_lock *lock;
    hf_error err;
    hf_reason reason; /* of a loss */
    int64_t at_ms;
    void (*then)(struct outcome *); /* in the callback; NULL: nothing */
    hf_client *client;              /* for `then` */
};

/* The callbacks; arg is the outcome. */
void note_acquire(void *arg, int status, hf_lock *lock, const hf_error *err);
void note_done(void *arg, int status, const hf_error *err);
void note_loss(void *arg, hf_lock *lock, hf_reason reason);

/* Accepted, or the test fails. NULL: 10 s of patience, an owner of its own. */
void begin(hf_client *, const char *name, const hf_acquire_opts *,
           struct outcome *);
/* The lock of the outcome is let go; `done` hears of it. */
void begin_release(struct outcome *, struct outcome *done);
/* Frees the lock that it got. */
void free_outcome(struct outcome *);
#define AUTO_OUTCOME __attribute__((cleanup(free_outcome))) struct outcome

/* Is the client's descriptor readable within that time? */
bool is_ready(hf_client *, int64_t wait_ms);
/* As hf_dispatch(), which must not fail. Callbacks may run meanwhile. */
int dispatch(hf_client *);
/* hf_close(), in which callbacks may run. */
void close_loop(hf_client *);
/* Runs the loop until the outcome has come, for 10 s at most; its status. */
int await(hf_client *, struct outcome *);
void await_all(hf_client *, struct outcome *, int n);
/* Runs the loop for so long. */
void loop_for(hf_client *, int64_t ms);

#endif
