/* SPDX-License-Identifier: MIT */
/*
 * Telling who is there, of what an operation has listed: in its record and, for
 * an INSPECT, in its list of participants. What is to be read is added to the
 * next requests. Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_INSPECT_H
#define HF_BACKEND_ZOOKEEPER_INSPECT_H

#include "src/backend/backend.h"

struct hf__zk_task;

/* A node that is read to tell who it is. */
struct hf__zk_participant {
    int claim;              /* in the queue; −1: it is the simple recipe's */
    int taken;              /* the slot that it has, in the queue; −1: none */
    struct hf__token token; /* of the simple recipe's, if it says so */
    bool is_holder;
    bool is_try; /* one that will not wait, and has not entered */
    uint64_t fence;
};

/* Add what is to be read, of all of them. False: out of memory, and the task
 * has ended. */
bool hf__zk_look_add_all(struct hf__zk_task *);
/* Only who comes first, by the simple recipe its lock: one request, or none. */
void hf__zk_look_add_one(struct hf__zk_task *);
void hf__zk_look_fini(struct hf__zk_task *);
/* Their answers. On false one is missing; what is known was told. */
bool hf__zk_look_take(struct hf__zk_task *);
/* It ends with the one that is missing. */
void hf__zk_look_fail(struct hf__zk_task *);
/* Tell it, listing first if it was not yet, and end with t->verdict. */
void hf__zk_tell(struct hf__zk_task *);
void hf__zk_list_and_tell(struct hf__zk_task *);

#endif
