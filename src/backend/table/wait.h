/* SPDX-License-Identifier: MIT */
/*
 * wait() of a store of tables: a session's place in the server's queues, what
 * it asked, what it saw last. When to ask for what is decided here; how that is
 * said to the server is the store's. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_WAIT_H
#define HF_BACKEND_TABLE_WAIT_H

#include "src/backend/table/wait_view.h"

/* What is interrupted may take as long, so that the connection lives on. */
#define HF__GRACE_MS 200
/* What the server answers at once; so long may that take. */
#define HF__BRIEF_MS 2000

/* A key, and what a store puts before it. */
#define HF__TABLE_KEY_MAX (HF__KEY_MAX + 16)

/* What a packet asks for, besides a look at the rows. */
enum hf__question {
    HF__ASK_NOTHING, /* no packet is under way */
    HF__ASK_LOOK,
    HF__ASK_TURN,
    HF__ASK_OWN_WAKE_LOCK, /* of its own ticket */
    HF__ASK_WAKE_LOCK      /* p->sight's: of what is in its way */
};

struct hf__answer {
    bool is_had;   /* of a wake lock: nobody has it, as far as can be told */
    bool was_free; /* of the turn: nobody had it before */
};

struct hf__wait_state;
struct hf__table_head;

/* What a store brings, besides wake locks. Those that give an int: HF_OK, or
 * the session is of no use, and it is told why. */
struct hf__wait_ops {
    /* Send a packet: ask for that, for so long at most, then look at the rows
     * of p->place. A wake lock is let go of once it is had: only its owner is
     * to have it. Unless p->is_short, the server is to drop a session that says
     * nothing for a second from then on. */
    int (*ask)(void *s, struct hf__wait_state *p, enum hf__question q,
               int64_t ms);
    /* Until its first reply has begun to come: *ret_has_reply is false at
     * `until`, and when interrupted. */
    int (*await)(void *s, hf__time until, bool *ret_has_reply);
    /* Take the replies, up to that of the look. */
    int (*hear)(void *s, enum hf__question q, struct hf__answer *ret_answer);
    /* Say that the ticket is wanted for a while longer, if p->has_own_bell;
     * then let go of that wake lock, or the turn; have the server wait for the
     * session as before. */
    int (*leave)(void *s, struct hf__wait_state *p);

    /* Send a packet that looks at the rows of all, and (shows) says which
     * tickets are wanted still. Take the replies, up to that of the look. */
    int (*look)(void *s, struct hf__watch *const w[], int n, bool shows);
    /* Those that are left. */
    int (*skip)(void *s);

    /* Add the rows that the last look has of the name's key, to its end. HF_OK
     * or HF_ENOMEM. */
    int (*read)(void *s, struct hf__table_name *name);
    /* No answer came in time: end the session. Gives HF_EUNAVAIL. */
    int (*dead)(void *s);
};

/* All zero: it is in no queue. */
struct hf__wait_state {
    /* Set by the store, before each wait: */
    int64_t look_ms; /* between looks at what has no wake lock */
    bool is_coarse;  /* an answer may come later than was asked for */

    struct hf__watch queue; /* whose queue it is in: key, ticket, lock mode */
    char key[HF__TABLE_KEY_MAX];
    bool is_queued;
    bool is_short; /* the server waits for us for a second only */
    bool has_turn;
    bool has_own_wake_lock;

    enum hf__question asked;
    hf__time answer_by; /* later, and the server is not there any more */
    hf__time look_at;   /* nothing is asked: sleep until then */
    hf__time due;       /* the name may be free, whatever was asked */

    bool has_fired;
    bool is_fresh;              /* nothing was seen since this watch came */
    uint64_t told_fence;        /* of which it was told last that it is news */
    struct hf__token asked_for; /* whose wake lock */
    bool asked_ticket;       /* … of its ticket: a grant has the same token */
    struct hf__token unheld; /* a wake lock that was had at once, in vain */
    bool unheld_ticket;
    struct hf__wait_view view;
};

/* wait() of backend.h, begun. Without wake locks, or of several: by looks
 * alone. */
HF_MUST_CHECK int hf__wait_state_wait(struct hf__table_head *t,
                                      struct hf__watch *w[], int n);
/* Before the session does anything else: it is in no queue any more. HF_OK, or
 * the session is dead. */
HF_MUST_CHECK int hf__wait_state_leave(struct hf__table_head *t);
/* A packet is under way: its replies are owed. */
bool hf__wait_state_is_owed(const struct hf__wait_state *p);

#endif
