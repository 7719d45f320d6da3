/* SPDX-License-Identifier: MIT */
/*
 * Events that wait for hf_dispatch(), in the order in which they were posted,
 * and a descriptor that is readable exactly while there are any. An event is a
 * member of the object that it is about, so posting it never fails. Callbacks
 * run only on a thread that dispatches, while it holds no lock of ours.
 */
#ifndef HF_CORE_EVENT_QUEUE_H
#define HF_CORE_EVENT_QUEUE_H

#include "src/base/list.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

struct hf__event {
    struct hf__link link;
    /* Set when the event is first posted, and kept; 0 before that. Under the
     * event queue's mutex. */
    uint64_t serial;
    /* Calls the application. The event is no longer in the queue, and this call
     * may free it. */
    void (*tell)(struct hf__event *);
};

struct hf__event_queue {
    struct hf__mutex mutex;
    struct hf__link list;
    int count;
    uint64_t last_serial;
    int fd;                  /* −1 until hf_fd() asks for it */
    bool is_closed;          /* there will be no more dispatching */
    struct hf__link tellers; /* threads that dispatch now */
    struct hf__parker told;  /* unparked after each callback */
};

void hf__event_queue_init(struct hf__event_queue *);
void hf__event_queue_fini(struct hf__event_queue *);
/* Post an event; one that is in the queue keeps its place, and a closed queue
 * drops it. Thread: any. */
void hf__event_queue_post(struct hf__event_queue *, struct hf__event *);
/* Take the event off the queue; if another thread is in its callback, wait
 * until that returns. True if it was posted and its callback will not be
 * called. Thread: any. Blocks: while another thread is in the callback. */
bool hf__event_queue_retract(struct hf__event_queue *, struct hf__event *);
/* Call the callbacks of as many events as are posted now, in order. Returns how
 * many; those that a callback dispatches itself are not among them. Thread:
 * user. */
int hf__event_queue_dispatch(struct hf__event_queue *);
/* Drop what is posted from now on. Thread: user. */
void hf__event_queue_close(struct hf__event_queue *);
bool hf__event_queue_is_closed(struct hf__event_queue *);
/* The descriptor, created at the first call; or HF_EUNAVAIL, HF_ENOMEM. */
HF_MUST_CHECK int hf__event_queue_fd(struct hf__event_queue *);

#endif
