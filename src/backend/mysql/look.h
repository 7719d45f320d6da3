/* SPDX-License-Identifier: MIT */
/*
 * What a waiter sees of its name: may it enter; if not, whose bell tells when
 * that may change, and when it changes without. One statement reads all rows
 * of all names that are waited for. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_LOOK_H
#define HF_BACKEND_MYSQL_LOOK_H

#include "src/backend/crowd.h"
#include "src/backend/mysql/mysql.h"

struct hf__sight {
    bool is_over; /* it may enter, or has to be told why not */
    bool is_news; /* others are there than the watch has seen */
    /* In the way are those behind whom a claim gets into line. */
    bool is_crowded;
    uint64_t fence;        /* the name's */
    struct hf__token bell; /* of whom it waits for; zero: nobody has one */
    bool is_ticket;        /* its bell is a ticket's, not a grant's */
    bool is_manned;        /* somebody holds that bell */
    bool wants_looks;      /* more than one bell matters */
    hf__time due;          /* a lease or the keeping ends */
};

/* What else is known of one in line. */
struct hf__placing {
    uint64_t seq;
    bool is_manned;
};

/* What looking needs, kept for the next time; all zero is empty. */
struct hf__looking {
    struct hf__stand *holders;
    struct hf__stand *line;
    struct hf__placing *placings; /* of the line */
    int holders_room;
    int line_room;
};

/* Add the statement to s->sql. */
void hf__look_ask(struct hf__mysql *s, struct hf__watch *const w[], int n);
/* What s->reply, that statement's, says to a watch. HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__look_hear(struct hf__mysql *s, struct hf__looking *l,
                                const struct hf__watch *watch,
                                struct hf__sight *ret_sight);
void hf__looking_fini(struct hf__looking *l);

#endif
