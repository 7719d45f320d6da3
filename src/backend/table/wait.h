/* SPDX-License-Identifier: MIT */
/*
 * wait() of a store of tables: the session's place in the server's queues, what
 * it asked, what it saw last. This room decides when to ask for what; the store
 * says it to the server. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_WAIT_H
#define HF_BACKEND_TABLE_WAIT_H

#include "src/backend/table/wait_view.h"

/* An interrupted exchange may take so much longer, so that the connection
 * survives. */
#define HF__GRACE_MS 200
/* The limit for replies that the server gives without waiting. */
#define HF__BRIEF_MS 2000

/* A key, and what a store puts before it. */
#define HF__TABLE_KEY_MAX (HF__KEY_MAX + 16)

/* What a packet asks for, besides reading the rows. */
enum hf__question {
    HF__ASK_NOTHING, /* no packet is under way */
    HF__ASK_LOOK,
    HF__ASK_TURN,
    HF__ASK_OWN_WAKE_LOCK, /* take that of its own ticket */
    HF__ASK_WAKE_LOCK /* ask for p->view.wake_lock, of what is in its way */
};

struct hf__answer {
    bool is_had; /* we got the lock, or (wake lock) waiting for it is no use */
    bool was_free; /* of the turn: nobody had it before */
};

struct hf__wait_state;
struct hf__table_head;

/* How a store waits. Functions that give an int give HF_OK, or the session is
 * of no use and they have said why. */
struct hf__wait_ops {
    /* Send a packet: ask for `q`, for `ms` at most, then read the rows of
     * p->queue. HF__ASK_WAKE_LOCK releases the lock once it is had, for only
     * its owner is to hold it. Unless p->is_short, the server is to drop the
     * session from then on if that sends nothing for a second. */
    int (*ask)(void *s, struct hf__wait_state *p, enum hf__question q,
               int64_t ms);
    /* Sleep until the packet's first reply comes. *ret_has_reply is false at
     * `until`, and when interrupted. */
    int (*await)(void *s, hf__time until, bool *ret_has_reply);
    /* Take the replies, up to that of reading the rows. */
    int (*hear)(void *s, enum hf__question q, struct hf__answer *ret_answer);
    /* Refresh the last-seen time of the ticket, if p->has_own_wake_lock; then
     * release that wake lock, or the turn; have the server wait for the session
     * as before. */
    int (*leave)(void *s, struct hf__wait_state *p);

    /* Send a packet that reads the rows of all watches and (shows) refreshes
     * the last-seen time of their tickets. Take the replies, up to that of
     * reading. */
    int (*look)(void *s, struct hf__watch *const w[], int n, bool shows);
    /* Take the replies that are left. */
    int (*skip)(void *s);

    /* Add the rows that were read last and have the name's key, and end the
     * name. HF_OK or HF_ENOMEM. */
    int (*read)(void *s, struct hf__table_name *name);
    /* No answer came in time: end the session. Gives HF_EUNAVAIL. */
    int (*dead)(void *s);
};

/* All zero: the session is in no queue. */
struct hf__wait_state {
    /* Set by the store before each wait: */
    int64_t look_ms; /* between looks, if no wake lock can be asked for */
    bool is_coarse;  /* an answer may come later than the limit asked for */

    struct hf__watch queue; /* in whose queue it is: key, ticket, lock mode */
    char key[HF__TABLE_KEY_MAX];
    bool is_queued;
    bool is_short; /* the server waits for us for a second only */
    bool has_turn;
    bool has_own_wake_lock;

    enum hf__question asked;
    hf__time answer_by; /* if nothing came by then, the server is lost */
    hf__time look_at;   /* nothing is asked: sleep until then */
    hf__time due;       /* the name may be free then, whatever was asked */

    bool has_fired;
    bool is_fresh;       /* nothing was seen since this watch came */
    uint64_t told_fence; /* the fence of the last news that it was told */
    struct hf__token asked_for; /* whose wake lock */
    bool asked_ticket;       /* … of its ticket: a grant has the same token */
    struct hf__token unheld; /* a wake lock got in vain: the name is not free */
    bool unheld_ticket;
    struct hf__wait_view view;
};

/* wait() of backend.h, after hf__table_begin(). Without wake locks, or with
 * several watches, it polls. */
HF_MUST_CHECK int hf__wait_state_wait(struct hf__table_head *t,
                                      struct hf__watch *w[], int n);
/* Leave the queue, before the session does anything else. HF_OK, or the session
 * is dead. */
HF_MUST_CHECK int hf__wait_state_leave(struct hf__table_head *t);
/* A packet is under way: its replies are still to come. */
bool hf__wait_state_is_owed(const struct hf__wait_state *p);

#endif
