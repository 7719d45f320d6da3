/* SPDX-License-Identifier: MIT */
/*
 * What waits for hf_dispatch(): notices in the order in which they were
 * posted, and a descriptor that is readable exactly while there are some. A
 * notice is a member of what it is about, so that posting never fails.
 * Callbacks run only on a thread that dispatches, without any lock of ours.
 */
#ifndef HF_CORE_BOARD_H
#define HF_CORE_BOARD_H

#include "src/base/list.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

struct hf__notice {
    struct hf__link link;
    /* Given when it is posted first, and kept; 0 until then, as in a new one.
     * Under the board's mutex. */
    uint64_t serial;
    /* Calls the application. The notice is off the board, and may be freed
     * meanwhile. */
    void (*tell)(struct hf__notice *);
};

struct hf__board {
    struct hf__mutex mutex;
    struct hf__link notices;
    int count;
    uint64_t last_serial;
    int fd;                  /* −1 until somebody asks for it */
    bool is_closed;          /* nobody will dispatch any more */
    struct hf__link tellers; /* who is in a callback now */
    struct hf__parker told;  /* unparked after each callback */
};

void hf__board_init(struct hf__board *);
void hf__board_fini(struct hf__board *);
/* Thread: any. One that is posted stays where it is; on a board that is closed
 * it is dropped. */
void hf__board_post(struct hf__board *, struct hf__notice *);
/* Take the notice off again; if it is being told on another thread, wait for
 * the end of that. True if it was posted and will not be told. Thread: any.
 * Blocks: while another thread tells it. */
bool hf__board_retract(struct hf__board *, struct hf__notice *);
/* Tell what has been posted so far, and what its callbacks dispatch. Gives
 * how many. Thread: user. */
int hf__board_dispatch(struct hf__board *);
/* Nobody dispatches any more. Thread: user. */
void hf__board_close(struct hf__board *);
bool hf__board_is_closed(struct hf__board *);
/* The descriptor, made at the first call; HF_EUNAVAIL or HF_ENOMEM. */
HF_MUST_CHECK int hf__board_fd(struct hf__board *);

#endif
