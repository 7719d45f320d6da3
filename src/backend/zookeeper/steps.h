/* SPDX-License-Identifier: MIT */
/*
 * The steps of operations (task.h), by file. Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_STEPS_H
#define HF_BACKEND_ZOOKEEPER_STEPS_H

#include "src/backend/zookeeper/task.h"

/* ---- the kinds: each adds its first requests */

void hf__zk_acquire(struct hf__zk_task *); /* acquire.c */
void hf__zk_renew(struct hf__zk_task *);   /* renew.c */
void hf__zk_release(struct hf__zk_task *); /* leave.c */
void hf__zk_inspect(struct hf__zk_task *); /* look.c */
void hf__zk_break(struct hf__zk_task *);   /* break.c */

/* ---- acquire.c */

/* There is none: one is made. */
void hf__zk_make(struct hf__zk_task *);
/* The claim has that name, and stands. */
void hf__zk_note_name(struct hf__zk_task *, const char *name);
/* The same of the child that says which slot it has. */
void hf__zk_note_slot(struct hf__zk_task *, const char *name);
/* It is ours from now on. */
void hf__zk_granted(struct hf__zk_task *, uint64_t fence);

/* ---- again.c: something is known of the claim */

void hf__zk_again(struct hf__zk_task *);
/* It stands: it is decided anew by another listing. */
void hf__zk_look_again(struct hf__zk_task *);

/* ---- try.c: an acquire that will not wait, and has nothing there */

void hf__zk_try(struct hf__zk_task *);

/* ---- fair.c: the claim stands, and t->line was seen after that */

void hf__zk_decide(struct hf__zk_task *);
/* Is the name used by the other recipe? The status of that and its text, or
 * HF_OK. */
int hf__zk_judge_lock(struct hf__zk_task *);

/* ---- simple.c: the same kinds by the simple recipe */

/* What makes "lock", and its answers from the i-th on. */
void hf__zk_simple_add_made(struct hf__zk_task *);
void hf__zk_simple_take_made(struct hf__zk_task *, int i);
/* "lock" was made by us; t->line was seen after that. */
void hf__zk_simple_decide(struct hf__zk_task *);
/* The i-th answer is of "lock": is it the operation's? A release is also for
 * what a session of this client's before has left. */
bool hf__zk_simple_is_ours(const struct hf__zk_task *, int i);
/* It is known that it was made by us, or may have been. */
void hf__zk_simple_again(struct hf__zk_task *);

/* ---- simple_leave.c */

void hf__zk_simple_release(struct hf__zk_task *);
/* Take away what was made, and end with t->verdict; HF__AGAIN: make it anew. */
void hf__zk_simple_leave(struct hf__zk_task *);

/* ---- leave.c */

/* Slots of the operation's token, and claims: they are to be deleted. How many
 * there are. */
int hf__zk_add_sweep(struct hf__zk_task *, bool slots_only);
/* Our claim is gone: do that, and end. */
void hf__zk_finish_leaving(struct hf__zk_task *, int result);
/* The same of a release: what it took away was ours until then, or not. */
void hf__zk_end_release(struct hf__zk_task *, bool was_ours);
/* Take our claim away, tell who is in its way, and end with t->verdict. */
void hf__zk_withdraw(struct hf__zk_task *);
/* The same of a claim whose number, or its slot's, says nothing; if nobody else
 * is there, the numbers begin anew, and so does the claim. */
void hf__zk_leave_worn(struct hf__zk_task *);

#endif
