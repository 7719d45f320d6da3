/* SPDX-License-Identifier: MIT */
/*
 * The part of a session that is the same for all stores of SQL tables: the
 * running call, and sleep that an interrupt ends. Also what a session that died
 * may have left on the server: a stale connection, with a statement that is
 * held up and would be applied for nobody. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_SESSION_H
#define HF_BACKEND_TABLE_SESSION_H

#include "src/backend/table/wait.h"
#include "src/base/wake.h"

/* The first member of a store's session. */
struct hf__table_head {
    struct hf__head head;
    struct hf__waker waker;
    const struct hf__wait_ops
        *wait_ops; /* how to wait; NULL: not by this room */

    /* State of the running call: */
    hf__time deadline; /* for sending and for replies */
    hf_error *err;
    int lost;                   /* HF_OK, or the session is dead */
    int grace_ms;               /* an interrupted sleep may go on for so long */
    struct hf__table_name name; /* the name that it works on */

    /* Found when the session was opened: */
    bool has_wake_locks; /* it can hold several, which all sessions see */
    uint64_t server_id;  /* identifies the server */
    uint64_t mark;       /* the server lists the session by it; 0: none */
    bool has_cells;      /* the table of cells is there, and ours */

    /* is_alone: hf__stale_end() has succeeded. Until stale_until a statement of
     * a session before may still be applied. */
    bool is_alone;
    hf__time stale_until;

    struct hf__wait_state wait_state; /* the state of its waiting */
};

/* Call this at the start of each call; it sets the limits. */
void hf__table_begin(struct hf__table_head *t, hf__time deadline,
                     hf_error *err);

/* Sleep until the socket is ready for `events` of poll(). Gives the events that
 * it is ready for, or 0 at `until` and when interrupted. */
short hf__table_sleep(struct hf__table_head *t, int fd, short events,
                      hf__time until);
/* Sleep until then, or until interrupted. */
void hf__table_rest(struct hf__table_head *t, hf__time until);

/* End the session of that mark. *ret_is_gone: nothing that it has sent will
 * still be done. HF_OK, or the calling session is dead. */
typedef int (*hf__end_marked_fn)(void *s, uint64_t mark, bool *ret_is_gone);
/* Call this once the session is set up, before it does anything else: ends what
 * the session before left. HF_OK, or the session is dead. */
HF_MUST_CHECK int hf__stale_end(struct hf__table_head *t,
                                hf__end_marked_fn end_marked);
/* Call this at the end of the session, before it disconnects. A dead session
 * may leave a stale connection, for stale_ms at most: note it for the next
 * session. */
void hf__stale_leave(struct hf__table_head *t, bool is_dead, int64_t stale_ms);
/* While there may be a stale connection, a token without a grant may still get
 * one: a release that found none is not final, so its result becomes
 * HF_EUNAVAIL. */
void hf__stale_doubt(const struct hf__table_head *t, struct hf__op *const ops[],
                     int n);

#endif
