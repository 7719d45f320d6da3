/* SPDX-License-Identifier: MIT */
/*
 * More words for the tests over the public API: claims of another manner than
 * alone and unordered, and threads that wait with them, started one after the
 * other so that their order of arrival is known.
 */
#ifndef HF_TESTS_CONTRACT_API_LINE_H
#define HF_TESTS_CONTRACT_API_LINE_H

#include "tests/contract/api.h"

#include <stdatomic.h>

/* wanting() with one thing more; all renew a lease of 30 s. */
hf_acquire_opts fair(int64_t wait_ms);
hf_acquire_opts shared(int64_t wait_ms);
hf_acquire_opts slots(int64_t wait_ms, int n);

/* Where the store can't do that, it says so by that word. */
void expect_grant_if(unsigned cap, hf_acquire_opts, const char *word);

/* Somebody who waits in a thread of its own; a grant is given back. */
struct waiter {
    hf_client *client;
    const char *name;
    hf_acquire_opts opts;
    int64_t hold_ms; /* before it releases */
    bool is_kept;    /* what it is granted is its own until it releases */
    char label[16];
    struct hf__test_thread *thread;
    _Atomic int number; /* of the thread, for await_sleep() */
    atomic_int status;  /* −1: it still waits */
    int64_t ended_ms;   /* hf__test_now_ms(), when it had that */
    int place;          /* the how many-th grant of the test; 0: none */
    uint64_t fence;
};
/* It begins to wait, with the options that it has; or has slept before that
 * returns. */
void start_claim(struct waiter *, hf_client *, const char *name);
void start_sleeper(struct waiter *, hf_client *, const char *name);
/* For "job", with these options; its label says the how many-th it is. */
void start_waiter(struct waiter *, hf_client *, const hf_acquire_opts *);
/* The same of one who stands in line: returns once it is the last of
 * n_waiters. */
void line_up(struct waiter *, hf_client *, const hf_acquire_opts *,
             int n_waiters);
/* Its status. */
int end_waiter(struct waiter *);

/* Looks until so many stand in line or hold it; fails the test if they don't
 * for some seconds. */
void await_waiters(hf_client *, const char *name, int n);
void await_holders(hf_client *, const char *name, int n);

#endif
