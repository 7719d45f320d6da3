/* SPDX-License-Identifier: MIT */
/*
 * Reading all that the tables have of names. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_NAME_H
#define HF_BACKEND_MYSQL_NAME_H

#include "src/backend/table/name.h"

struct hf__mysql;

/* What is needed of the rows besides who holds the name and who waits. */
enum hf__depth {
    HF__TO_DECIDE, /* who they are */
    HF__TO_WAIT    /* the bells of grants; that of a ticket is always told */
};

/* Add the statement to s->sql. */
void hf__mysql_name_ask(struct hf__mysql *s, struct hf__watch *const w[], int n,
                        enum hf__depth depth);
/* The rows of its key in s->reply, which is that statement's. HF_OK or
 * HF_ENOMEM. */
HF_MUST_CHECK int hf__mysql_name_take(struct hf__mysql *s,
                                      struct hf__table_name *name);

#endif
