/* SPDX-License-Identifier: MIT */
/*
 * Operations on names that have one holder at most: one statement does several
 * of a kind. An operation that can't be decided so is left for slow_path.c.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_FAST_PATH_H
#define HF_BACKEND_MYSQL_FAST_PATH_H

#include "src/backend/mysql/mysql.h"

/* Results of an operation while it has no final one: HF__OPEN is for this file
 * to decide, HF__SLOW for slow_path.c. */
#define HF__OPEN   101
#define HF__UNDONE 102 /* open, and nothing of its unit was written */
#define HF__SLOW   103

/* A unit is done by the statements of one form, and undone as one if it
 * fails. */
enum hf__form {
    HF__FORM_RENEW,
    HF__FORM_RELEASE,
    HF__FORM_HANDOVER, /* one operation */
    HF__FORM_ACQUIRE,  /* all alike; for names that are free and have a row */
    HF__FORM_ACQUIRE_ANY,
    HF__FORM_INSPECT
};

struct hf__unit {
    enum hf__form form;
    struct hf__op **ops; /* sorted by key */
    int n;
};

#define HF__FAST_TABLE "holdfast_lock FORCE INDEX(PRIMARY)"

/* Has it no result yet? */
bool hf__fast_is_open(const struct hf__op *op);
/* Would both change their rows in the same way, so that one statement can do
 * both? */
bool hf__fast_are_alike(const struct hf__op *a, const struct hf__op *b);
/* Add the unit's statements to s->sql. Returns the number of their replies. */
int hf__fast_ask(struct hf__mysql *s, const struct hf__unit *unit);
/* Returns which of the unit's replies is that of the statement that writes. */
int hf__fast_writes_at(const struct hf__mysql *s, const struct hf__unit *unit);
/* Read the reply `which` of the unit, in s->reply; it must be no error. */
void hf__fast_hear(struct hf__mysql *s, const struct hf__unit *unit, int which);
/* Ask for the rows of the operations that are open after a RENEW, a RELEASE or
 * an ACQUIRE, and decide them by these. Some of an ACQUIRE may stay open. */
void hf__fast_ask_rows(struct hf__mysql *s, struct hf__op *const ops[], int n);
void hf__fast_hear_rows(struct hf__mysql *s, const struct hf__unit *unit);

#endif
