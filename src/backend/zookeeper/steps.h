/* SPDX-License-Identifier: MIT */
/*
 * The steps of operations (task.h), by file; each file calls those above it
 * here. Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_STEPS_H
#define HF_BACKEND_ZOOKEEPER_STEPS_H

#include "src/backend/zookeeper/inspect.h"
#include "src/backend/zookeeper/task.h"

/* ---- inspect.c */

void hf__zk_inspect(struct hf__zk_task *);
void hf__zk_break(struct hf__zk_task *);

/* ---- grant.c */

void hf__zk_release(struct hf__zk_task *);
/* The claim has that name, and stands. */
void hf__zk_note_name(struct hf__zk_task *, const char *name);
/* The same of the child that says which slot it has. */
void hf__zk_note_slot(struct hf__zk_task *, const char *name);
/* It is ours from now on. */
void hf__zk_granted(struct hf__zk_task *, uint64_t fence);
/* With a user, whose the folder is is asked in the round that makes a claim, as
 * the last. */
void hf__zk_check_acl_add(struct hf__zk_task *);
/* The answer, of a claim that was made as `name`: if it is, that is noted. On
 * false the task leaves. */
bool hf__zk_check_acl_take(struct hf__zk_task *, const char *name);
/* Slots of the operation's token, and claims: they are to be deleted. How many
 * there are. */
int hf__zk_add_sweep(struct hf__zk_task *, bool slots_only);
/* Take our claim away, tell who is in its way, and end with t->verdict. */
void hf__zk_withdraw(struct hf__zk_task *);
/* The same of a claim whose number, or its slot's, says nothing; if nobody else
 * is there, the numbers begin anew, and so does the claim. */
void hf__zk_leave_exhausted(struct hf__zk_task *);
/* By the simple recipe: is the i-th answer, of "lock", the operation's? A
 * release is also for what a session of this client's before has left. */
bool hf__zk_simple_is_ours(const struct hf__zk_task *, int i);
/* Take away what was made, and end with t->verdict; HF__AGAIN: make it anew. */
void hf__zk_simple_leave(struct hf__zk_task *);

/* ---- recipe.c */

/* Something is known of the claim. */
void hf__zk_again(struct hf__zk_task *);
/* The claim stands, and t->line was seen after that. */
void hf__zk_decide(struct hf__zk_task *);
/* Is the name used by the other recipe? The status of that and its text, or
 * HF_OK. */
int hf__zk_judge_lock(struct hf__zk_task *);
/* By the simple recipe, what makes "lock", and its answers from the i-th on. */
void hf__zk_simple_add_made(struct hf__zk_task *);
void hf__zk_simple_take_made(struct hf__zk_task *, int i);

/* ---- claim.c */

void hf__zk_acquire(struct hf__zk_task *);
void hf__zk_renew(struct hf__zk_task *);

#endif
