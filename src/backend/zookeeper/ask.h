/* SPDX-License-Identifier: MIT */
/*
 * What an operation of a batch may ask for: each call puts one request into the
 * round that is about to go, as the operation's i-th, about a child of its
 * folder, or, where the child is NULL, about the folder itself.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_ASK_H
#define HF_BACKEND_ZOOKEEPER_ASK_H

#include "src/backend/zookeeper/node.h"

struct hf__zk_task;

void hf__zk_task_path(const struct hf__zk_task *, const char *child,
                      char to[HF__ZK_PATH_MAX]);
void hf__zk_ask_delete(struct hf__zk_task *, int i, const char *child);
void hf__zk_ask_get(struct hf__zk_task *, int i, const char *child);
void hf__zk_ask_exists(struct hf__zk_task *, int i, const char *child);
void hf__zk_ask_facts(struct hf__zk_task *, int i, const char *child,
                      enum hf__zk_claim_state); /* sets it to our own */
void hf__zk_ask_make(struct hf__zk_task *, int i, const char *child,
                     enum hf__zk_claim_state, int mode);
/* "lock" and its twin: both, or none. Of the deletion, the twin is part 0. */
void hf__zk_ask_make_lock(struct hf__zk_task *, int i);
void hf__zk_ask_delete_lock(struct hf__zk_task *, int i,
                            const struct hf__token *);
/* The same two, as the first request, joined to others. */
void hf__zk_join_make(struct hf__zk_task *, const char *child,
                      enum hf__zk_claim_state, int mode);
void hf__zk_join_leave(struct hf__zk_task *, const char *child);
void hf__zk_ask_list(struct hf__zk_task *, int i);
void hf__zk_ask_sync(struct hf__zk_task *, int i);
/* A write to a child that fails if it is there, by ZBADVERSION,
 * and if it is not; either shows that the session lives. */
void hf__zk_ask_proof(struct hf__zk_task *, int i, const char *child);

#endif
