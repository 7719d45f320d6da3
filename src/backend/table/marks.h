/* SPDX-License-Identifier: MIT */
/*
 * What the marks of a decision come to in rows, before a store says it in its
 * SQL. Who gives back or renews what is its own does so without regard to who
 * else changes the name, and so does a claim that gets a place in the queue: it
 * looks again when it begins to wait. All others mind every change. Thread:
 * the session's.
 */
#ifndef HF_BACKEND_TABLE_MARKS_H
#define HF_BACKEND_TABLE_MARKS_H

#include "src/backend/table/name.h"

struct hf__marks {
    /* Whose row holdfast_lock has, or had: of two, the new one's. Or NULL. */
    const struct hf__participant *holder;
    /* The record is changed only if … */
    bool is_whole; /* … its revision and fence are those that were read: the
                      fence tells it from one that was deleted and made anew */
    bool is_own;   /* … its token is the operation's */
    bool has_holders; /* … its crowd has HF__HAS_HOLDERS */
    bool must_run;  /* … its lease is not over: one that began before goes on
                       only while it runs */
    unsigned crowd; /* which the record has then, if is_whole */
    const struct hf__token *takes; /* whose grant wake lock is taken; or NULL */
    const struct hf__token *frees; /* whose is let go of; or NULL */
};
void hf__marks_read(const struct hf__op *op, const struct hf__name *name,
                    struct hf__marks *ret_marks);

/* The grant is in the name's own row, not beside others. */
bool hf__participant_is_alone(const struct hf__participant *g);
/* A renewal or a release. */
bool hf__op_is_own_only(const struct hf__op *op);

/* For an operation on what is its owner's: forget those of whom the record does
 * not tell. It is not the one by which they were granted, or got in the queue,
 * and may have let in another since. */
void hf__table_forget_strays(struct hf__table_name *n, const struct hf__op *op);
/* Is it time to write that the claim of that ticket asked again? */
bool hf__table_shows(const struct hf__table_name *n,
                     const struct hf__participant *ticket);

#endif
