/* SPDX-License-Identifier: MIT */
/*
 * Other processes on the same store. A peer has a client of its own, at most
 * one lock, and does what it is told, one thing at a time; it can be killed
 * and stopped. A crew is some processes that run one function each. Both are
 * started before the test opens a client or starts a thread, because only
 * then does a fork give a process that may do everything.
 */
#ifndef HF_TESTS_CONTRACT_PEER_H
#define HF_TESTS_CONTRACT_PEER_H

#include "tests/contract/api.h"

#include <sys/types.h>

struct peer;

struct peer *start_peer(void);
/* Its client closes first, so nothing stays locked; frees the peer. */
void end_peer(struct peer *);
/* SIGKILL, and it is gone when this returns; frees the peer. */
void kill_peer(struct peer *);
/* SIGSTOP and SIGCONT; it has stopped when this returns. */
void stop_peer(struct peer *);
void continue_peer(struct peer *);

/* What the call gave there, now or (begin_…, finish) later. */
int peer_acquire(struct peer *, const char *name, int64_t wait_ms,
                 int64_t lease_ms);
/* With options that name no strings. */
int peer_acquire_as(struct peer *, const char *name, const hf_acquire_opts *);
void peer_begin_acquire_as(struct peer *, const char *name,
                           const hf_acquire_opts *);
pid_t peer_pid(struct peer *);
int peer_detach(struct peer *);
const char *peer_token(struct peer *); /* of its last grant */
void peer_begin_acquire(struct peer *, const char *name, int64_t wait_ms,
                        int64_t lease_ms);
int peer_finish(struct peer *);
int peer_release(struct peer *);
bool peer_holds(struct peer *);
uint64_t peer_fence(struct peer *); /* of its last grant */
hf_reason peer_lost_reason(struct peer *);
/* Asks hf_held() as soon as the peer goes on; for one that is stopped. */
void peer_begin_ask(struct peer *);
bool peer_answer(struct peer *);
/* Its lock's descriptors, sent here; how many. The caller closes them. */
int peer_lock_fds(struct peer *, int fds[8]);
/* It starts a process that does nothing for long: another program, or a mere
 * copy of itself. Its id; whoever asked must kill it. */
pid_t peer_spawns_program(struct peer *);
pid_t peer_forks(struct peer *);

/* Memory that all processes of the test share, zeroed. */
void *shared_page(size_t size);
/* A process that runs fn(number) and ends. */
pid_t start_crew(void (*fn)(int number), int number);
/* Fails the test unless it ended well. */
void end_crew(pid_t);
void kill_crew(pid_t);

#endif
