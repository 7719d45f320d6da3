/* SPDX-License-Identifier: MIT */
/*
 * The words of the tests that cut the connection before, inside and after each
 * statement and reply of an operation.
 */
#ifndef HF_TESTS_STORE_SERVER_CUTS_H
#define HF_TESTS_STORE_SERVER_CUTS_H

#include "tests/store_server/server.h"

struct scene {
    struct hf__proxy *proxy;
    hf_client *alice; /* by the proxy */
    hf_client *bob;   /* not */
    uint64_t fence;   /* the highest of "job" so far */
    int cases;
    int done; /* of them, with success */
};

/* One operation on "job", which is free before it and after; the rule is to
 * be in force for it. */
typedef void (*play_fn)(struct scene *, const struct hf__proxy_rule *);

/* Plays it once for each way and place to break any of its first messages:
 * after each nothing is held and nothing is owed. */
void play_all(play_fn play, int messages);

/* As long as a cut may take to be settled. */
int64_t patient_ms(void);
/* Not renewed by the library, so that nothing else is sent. */
hf_acquire_opts fixed(int64_t wait_ms);
bool is_outage(int status);
/* Success, which is counted, or an outage. */
void expect_answer(struct scene *, int status);
/* Whoever was granted "job" got a higher fence than all before. */
void see_fence(struct scene *, uint64_t fence);
void expect_settled(hf_client *);
/* Nobody has it, soon, and long before any lease ends. */
void expect_free(struct scene *, const char *name);

#endif
