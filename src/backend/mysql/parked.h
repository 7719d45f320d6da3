/* SPDX-License-Identifier: MIT */
/*
 * A session that waits: its place in the server's queues, the packet that is
 * under way, what it saw last. Shared by wait.c, which decides what to ask,
 * question.c, which asks and hears, and poll.c, for where nothing can be asked
 * but how it is. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_PARKED_H
#define HF_BACKEND_MYSQL_PARKED_H

#include "src/backend/mysql/look.h"
#include "src/backend/mysql/mysql.h"

/* What is interrupted may take as long, so that the connection lives on. */
#define HF__GRACE_MS 200
/* What the server answers at once; so long may that take. */
#define HF__BRIEF_MS 2000

/* What a packet asks for, besides a look at the rows. */
enum hf__question {
    HF__ASK_NOTHING, /* no packet is under way */
    HF__ASK_LOOK,
    HF__ASK_TURN,
    HF__ASK_OWN_BELL, /* of its own ticket */
    HF__ASK_BELL      /* of what is in its way */
};

struct hf__parked {
    struct hf__watch place; /* whose queue it is in: key, ticket, manner */
    char key[HF__MYSQL_KEY_MAX];
    bool is_placed;
    bool is_short; /* the server waits for us for a second only */
    bool has_turn;
    bool has_own_bell;

    enum hf__question asked;
    hf__time answer_by; /* later, and the server is not there any more */
    hf__time look_at;   /* nothing is asked: sleep until then */
    hf__time due;       /* the name may be free, whatever was asked */

    bool has_fired;
    bool is_fresh;              /* nothing was seen since this watch came */
    uint64_t told_fence;        /* of which it was told last that it is news */
    struct hf__token asked_for; /* whose bell */
    bool asked_ticket; /* … of its ticket: a grant has the same token */
    struct hf__token unmanned; /* a bell that was had at once, in vain */
    bool unmanned_ticket;
    struct hf__sight sight;
};

/* Send a packet. HF_OK, or the session is of no use. */
HF_MUST_CHECK int hf__parked_ask(struct hf__mysql *s, enum hf__question q);
/* Take the replies of the packet under way, if they come by then: what they
 * say is in s->parked. As ask(). */
HF_MUST_CHECK int hf__parked_hear(struct hf__mysql *s, hf__time until,
                                  bool *ret_is_heard);
/* Does GET_LOCK() take parts of a second? */
bool hf__parked_is_fractional(const struct hf__mysql *s);

/* Look at all names every 50 to 150 ms until something may have changed, the
 * deadline, or an interrupt. As ask(). */
HF_MUST_CHECK int hf__parked_poll(struct hf__mysql *s,
                                  struct hf__watch *const w[], int n);

#endif
