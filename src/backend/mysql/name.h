/* SPDX-License-Identifier: MIT */
/*
 * All that the tables have of one name, read by one statement and so of one
 * moment, in the form in which the engine decides on it: its record, the grants
 * that stand beside others, the tickets. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_NAME_H
#define HF_BACKEND_MYSQL_NAME_H

#include "src/backend/name/name.h"

struct hf__mysql;

/* By the server's clock, for both. A ticket's fence is its number in line; the
 * life of each is the connection that has its bell. All zero is empty. */
struct hf__mysql_name {
    struct hf__name name;
    struct hf__few few;
    const struct hf__key *key; /* lent */
    /* Of the record, as it was read: */
    uint64_t revision;
    uint64_t fence;
    unsigned crowd;
};

/* What is needed of the rows besides who holds the name and who waits. */
enum hf__depth {
    HF__TO_DECIDE, /* who they are */
    HF__TO_WAIT    /* the bells of grants; that of a ticket is always told */
};

/* Add the statement to s->sql. */
void hf__mysql_name_ask(struct hf__mysql *s, struct hf__watch *const w[], int n,
                        enum hf__depth depth);
/* An empty one of that key, which is lent; to be ended. */
void hf__mysql_name_init(struct hf__mysql_name *name,
                         const struct hf__key *key);
/* The rows of its key in s->reply, which is that statement's. HF_OK or
 * HF_ENOMEM. */
HF_MUST_CHECK int hf__mysql_name_take(struct hf__mysql *s,
                                      struct hf__mysql_name *name);
void hf__mysql_name_fini(struct hf__mysql_name *name);

#endif
