/* SPDX-License-Identifier: MIT */
/*
 * Tells who is at a name that an operation has listed: in its record and, for
 * an INSPECT, in its list of participants. It adds the reads that this needs to
 * the operation's next requests. Thread: the backend session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_INSPECT_H
#define HF_BACKEND_ZOOKEEPER_INSPECT_H

#include "src/backend/backend.h"

struct hf__zk_task;

/* A node to read, to tell who holds the name or waits. */
struct hf__zk_participant {
    int claim;              /* index in the queue; −1: it is "lock" */
    int taken;              /* index of its slot's child; −1: none */
    struct hf__token token; /* of "lock", if its data has one */
    bool is_holder;
    bool is_try; /* a claim of a try that has not entered */
    uint64_t fence;
};

/* Add a read of the first holder only, which by the simple recipe is "lock":
 * one request, or none. */
void hf__zk_look_add_one(struct hf__zk_task *);
void hf__zk_look_fini(struct hf__zk_task *);
/* Take the answers to these reads. False: one is missing; the rest was told. */
bool hf__zk_look_take(struct hf__zk_task *);
/* Read and tell who is there, and finish with t->verdict; the second one lists
 * the name first. */
void hf__zk_tell(struct hf__zk_task *);
void hf__zk_list_and_tell(struct hf__zk_task *);

#endif
