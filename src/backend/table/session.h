/* SPDX-License-Identifier: MIT */
/*
 * What a session of any store of SQL tables has, whatever its server is called:
 * the call that runs, sleeping, which an interrupt ends, and what a session
 * that died may have left on the server, its stale connection: a statement that
 * is held up there, and that would be applied for nobody. Thread: the
 * session's.
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
        *wait_ops; /* of waiting; NULL: it never waits so */

    /* Of the call that runs: */
    hf__time deadline; /* of what is sent and heard */
    hf_error *err;
    int lost;                   /* HF_OK, or the session is dead */
    int grace_ms;               /* so long may go on what is interrupted */
    struct hf__table_name name; /* which it has in hand */

    /* Found when it was opened: */
    bool has_wake_locks; /* a session can hold several, seen by all */
    uint64_t server_id;  /* which server it is */
    uint64_t mark;       /* by which the server knows this session; 0: none */
    bool has_cells;      /* their table is there, and ours */

    /* Nothing of the sessions before can be applied any more, unless: */
    bool is_alone;
    hf__time stale_until;

    struct hf__wait_state wait_state; /* as one that waits */
};

/* At the start of each call: its limits. */
void hf__table_begin(struct hf__table_head *t, hf__time deadline,
                     hf_error *err);

/* Until the socket is ready for `events` of poll(): gives what it is ready for,
 * or 0 at `until` and when interrupted. */
short hf__table_sleep(struct hf__table_head *t, int fd, short events,
                      hf__time until);
/* Until then, or until interrupted. */
void hf__table_rest(struct hf__table_head *t, hf__time until);

/* End the session that has the mark: *ret_is_gone, if nothing that it has sent
 * is done any more. HF_OK, or this one is dead. */
typedef int (*hf__end_marked_fn)(void *s, uint64_t mark, bool *ret_is_gone);
/* After the session is set up and before it does anything: end what the one
 * before left. HF_OK, or the session is dead. */
HF_MUST_CHECK int hf__stale_end(struct hf__table_head *t,
                                hf__end_marked_fn end_marked);
/* At the end of the session, before it disconnects: what it may leave, if it is
 * dead, for so long. */
void hf__stale_leave(struct hf__table_head *t, bool is_dead, int64_t stale_ms);
/* While a stale connection may be about, that a token owns nothing is no proof
 * that it will not: such a release is not over. */
void hf__stale_doubt(const struct hf__table_head *t, struct hf__op *const ops[],
                     int n);

#endif
