/* SPDX-License-Identifier: MIT */
/*
 * Reading everything that the tables have about names. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_NAME_H
#define HF_BACKEND_MYSQL_NAME_H

#include "src/backend/table/name.h"

struct hf__mysql;
struct hf__text;

/* What is read besides the holders and waiters of the name. */
enum hf__depth {
    HF__TO_DECIDE, /* their owners */
    HF__TO_WAIT,   /* the wake locks of grants; that of a ticket is always
                      read */
    HF__TO_SCAN    /* their owners, and when the record was changed */
};

/* Add the statement that reads these names to s->sql. */
void hf__mysql_name_ask_watched(struct hf__mysql *s,
                                struct hf__watch *const w[], int n,
                                enum hf__depth depth);
/* The same for names that add_from chooses: it adds "FROM table" and the
 * condition. */
typedef void (*hf__mysql_from_fn)(struct hf__text *t, const char *table,
                                  const void *arg);
void hf__mysql_name_ask(struct hf__mysql *s, enum hf__depth depth,
                        hf__mysql_from_fn add_from, const void *arg);
/* The next row of that statement's result, which is a MYSQL_RES. */
bool hf__mysql_name_next(void *rows, struct hf__table_row *ret_row);
/* Read the rows of name's key from s->reply, which must be that statement's.
 * HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__mysql_name_take(struct hf__mysql *s,
                                      struct hf__table_name *name);

#endif
