/* SPDX-License-Identifier: MIT */
/*
 * Telling who is there, of what an operation has listed: in its record and, for
 * an INSPECT, in its crowd. What is to be read is planned, asked for and taken,
 * or all three at once. Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_LOOK_H
#define HF_BACKEND_ZOOKEEPER_LOOK_H

#include "src/backend/backend.h"

struct hf__zk_task;

/* A node that is read to tell who it is. */
struct hf__zk_party {
    int claim;              /* in the line; −1: it is the simple recipe's */
    int taken;              /* the slot that it has, in the line; −1: none */
    struct hf__token token; /* of the simple recipe's, if it says so */
    bool is_holder;
    bool is_try; /* one that will not wait, and has not entered */
    uint64_t fence;
};

/* What is to be read, all of them: the number of requests, or −1: out of
 * memory, and the task has ended. */
int hf__zk_look_plan(struct hf__zk_task *);
/* Only who comes first, by the simple recipe its lock: one request, or none. */
int hf__zk_look_plan_one(struct hf__zk_task *);
void hf__zk_look_fini(struct hf__zk_task *);
/* The requests, from i on. */
void hf__zk_look_ask(struct hf__zk_task *, int i);
/* Their answers. On false one is missing; what is known was told. */
bool hf__zk_look_take(struct hf__zk_task *, int i);
/* It ends with the one that is missing. */
void hf__zk_look_fail(struct hf__zk_task *, int i);
/* Tell it, listing first if it was not yet, and end with t->verdict. */
void hf__zk_tell(struct hf__zk_task *);
void hf__zk_list_and_tell(struct hf__zk_task *);

#endif
