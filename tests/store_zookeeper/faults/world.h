/* SPDX-License-Identifier: MIT */
/*
 * What the tests of a ZooKeeper that fails say besides the words of
 * tests/contract/api.h: a server, an ensemble or a proxy of the test's own is
 * the store; what there is in its tree, and whose; when things happened; and
 * a history of who was inside, which is judged when all is over.
 */
#ifndef HF_TESTS_STORE_ZOOKEEPER_FAULTS_WORLD_H
#define HF_TESTS_STORE_ZOOKEEPER_FAULTS_WORLD_H

#include "tests/contract/peer.h"
#include "tests/servers/proxy.h"
#include "tests/servers/zookeeper_client.h"

#include <stdatomic.h>

/* ---- the store: the last that was said, also in processes forked then */

#define AUTO_SERVER __attribute__((cleanup(free_server))) struct hf__zookeeper
#define AUTO_ENSEMBLE                                                          \
    __attribute__((cleanup(free_ensemble))) struct hf__zookeeper_ensemble
#define AUTO_PROXY __attribute__((cleanup(free_proxy))) struct hf__proxy
void free_server(struct hf__zookeeper **);
void free_ensemble(struct hf__zookeeper_ensemble **);
void free_proxy(struct hf__proxy **);

/* Alone, or three; with these options in the store's URL. */
struct hf__zookeeper *start_server(const char *options);
struct hf__zookeeper_ensemble *start_ensemble(const char *options);
struct hf__zookeeper_ensemble *start_divisible_ensemble(const char *options);
/* Other options for the same. */
void say_options(const char *options);
/* A client of whoever listens there. */
hf_client *open_at(int port, const char *options);
/* Before that server; a client by it. */
struct hf__proxy *start_proxy(const struct hf__zookeeper *);
hf_client *open_by(const struct hf__proxy *, const char *options);

/* ---- its tree, as the administrator sees it by that server */

/* A name's folder; till the fourth call after. */
const char *folder_of(const char *name);
/* How many claims there are; 0 also if there is no folder. */
int claims_of(const struct hf__zookeeper *, const char *name);
void await_claims(const struct hf__zookeeper *, const char *name, int n);
/* The session that has the i-th claim, by the alphabet: of the ordered recipe
 * not by age. 0: there is none. */
int64_t session_of(const struct hf__zookeeper *, const char *name, int i);
/* The lease of a session that lives so long. */
int64_t lease_of_session(int64_t session_ms);

/* ---- those who wait, each on a thread of its own, and give back at once */

struct waiter {
    hf_client *client;
    const char *name;
    int64_t wait_ms;
    struct hf__test_thread *thread;
    uint64_t fence;
    int result;
    int released;         /* what its release gave */
    _Atomic bool is_done; /* it is over, or was granted */
};
void begin_to_wait(struct waiter *, hf_client *, const char *name,
                   int64_t wait_ms);
/* What came of its acquire. */
int end_waiting(struct waiter *);

/* ---- a history */

struct stay {
    int name;
    int who;
    uint64_t fence;
    int64_t from_us;  /* it was held then … */
    int64_t until_us; /* … and at all times up to then, as its holder knew */
};
enum { STAYS_MAX = 200000 };
struct history {
    atomic_int n;
    struct stay stays[STAYS_MAX];
};

/* Shared by all processes of the test. */
struct history *new_history(void);
/* Looks for so long as it is held, at most ms, and writes down what it saw;
 * nothing if it was not. */
void stay_inside(struct history *, hf_lock *, int name, int who, int64_t ms);
/* A clock that all processes share. */
int64_t now_us(void);
/* How many stays break the rule: of each name, no two at once, and fences rise
 * in their order. */
int count_crimes(const struct history *);
/* Fails the test if any does. */
void expect_innocent(const struct history *);

#endif
