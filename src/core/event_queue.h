/* SPDX-License-Identifier: MIT */
/*
 * Events that wait for hf_dispatch(), in the order in which they were posted,
 * and a descriptor that is readable exactly while there is one. An event is a
 * member of the object that it is about, so posting it never fails. Callbacks
 * run only on a thread that dispatches, and without any lock of ours.
 */
#ifndef HF_CORE_EVENT_QUEUE_H
#define HF_CORE_EVENT_QUEUE_H

#include "src/base/list.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

struct hf__event {
    struct hf__link link;
    /* Given when it is posted first, and kept; 0 until then, as in a new one.
     * Under the event queue's mutex. */
    uint64_t serial;
    /* Calls the application. The event is off the event queue, and may be freed
     * meanwhile. */
    void (*tell)(struct hf__event *);
};

struct hf__event_queue {
    struct hf__mutex mutex;
    struct hf__link list;
    int count;
    uint64_t last_serial;
    int fd;                  /* −1 until somebody asks for it */
    bool is_closed;          /* nobody will dispatch any more */
    struct hf__link tellers; /* who is in a callback now */
    struct hf__parker told;  /* unparked after each callback */
};

void hf__event_queue_init(struct hf__event_queue *);
void hf__event_queue_fini(struct hf__event_queue *);
/* Thread: any. One that is posted stays where it is; on an event queue that is
 * closed it is dropped. */
void hf__event_queue_post(struct hf__event_queue *, struct hf__event *);
/* Take the event off again; if it is being told on another thread, wait for
 * the end of that. True if it was posted and will not be told. Thread: any.
 * Blocks: while another thread tells it. */
bool hf__event_queue_retract(struct hf__event_queue *, struct hf__event *);
/* Tell what has been posted so far, and what its callbacks dispatch. Gives
 * how many. Thread: user. */
int hf__event_queue_dispatch(struct hf__event_queue *);
/* Nobody dispatches any more. Thread: user. */
void hf__event_queue_close(struct hf__event_queue *);
bool hf__event_queue_is_closed(struct hf__event_queue *);
/* The descriptor, made at the first call; HF_EUNAVAIL or HF_ENOMEM. */
HF_MUST_CHECK int hf__event_queue_fd(struct hf__event_queue *);

#endif
