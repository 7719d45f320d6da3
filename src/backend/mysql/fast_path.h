/* SPDX-License-Identifier: MIT */
/*
 * Operations on names that one holder has at most: several of a kind in one
 * statement. What can't be decided so is left undecided, for slow_path.c.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_FAST_PATH_H
#define HF_BACKEND_MYSQL_FAST_PATH_H

#include "src/backend/mysql/mysql.h"

/* The result of an operation that this file has yet to find, and of one that
 * is for slow_path.c to find. */
#define HF__OPEN   101
#define HF__UNDONE 102 /* the same: nothing was written of its unit */
#define HF__SLOW   103

/* What is done as a unit: by the statements of one form, and undone as one if
 * it fails. */
enum hf__form {
    HF__FORM_RENEW,
    HF__FORM_RELEASE,
    HF__FORM_HANDOVER, /* one operation */
    HF__FORM_ACQUIRE,  /* names that are free and have a row, all alike */
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
/* Would the two do the same to their rows, so that one statement can? */
bool hf__fast_are_alike(const struct hf__op *a, const struct hf__op *b);
/* Add the unit's statements to s->sql; gives how many replies they have. */
int hf__fast_ask(struct hf__mysql *s, const struct hf__unit *unit);
/* Of the units that acquire. */
int hf__fast_ask_acquire(struct hf__mysql *s, const struct hf__unit *unit);
int hf__fast_ask_acquire_any(struct hf__mysql *s, const struct hf__unit *unit);
/* Words of theirs: name_key IN(…); the wake locks, which gives how many
 * replies. */
void hf__fast_add_keys(struct hf__text *t, struct hf__op *const ops[], int n);
bool hf__fast_has_wake_locks(const struct hf__mysql *s,
                             const struct hf__unit *unit);
int hf__fast_take_wake_locks(struct hf__mysql *s, const struct hf__unit *unit);
/* Which of them is that of the statement that writes. */
int hf__fast_writes_at(const struct hf__mysql *s, const struct hf__unit *unit);
/* The reply `which` of the unit, which is no error, in s->reply. */
void hf__fast_hear(struct hf__mysql *s, const struct hf__unit *unit, int which);
/* Ask for the rows of operations that are open after a RENEW, a RELEASE or an
 * ACQUIRE, and decide them; of an ACQUIRE some may stay open. */
void hf__fast_ask_rows(struct hf__mysql *s, struct hf__op *const ops[], int n);
void hf__fast_hear_rows(struct hf__mysql *s, const struct hf__unit *unit);

#endif
