/* SPDX-License-Identifier: MIT */
/*
 * The steps of operations (task.h), by file; each file calls those above it
 * here. Thread: the backend session's.
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
/* The claim was made, and has that name. */
void hf__zk_note_name(struct hf__zk_task *, const char *name);
/* The same of the slot's child. */
void hf__zk_note_slot(struct hf__zk_task *, const char *name);
/* The operation is granted with that fence; finish it. */
void hf__zk_granted(struct hf__zk_task *, uint64_t fence);
/* With a user, add a request for the folder's ACL, as the last of the round
 * that makes a claim. */
void hf__zk_check_acl_add(struct hf__zk_task *);
/* Take the answer to that, for the claim that was made as `name`. False: the
 * folder is open to others; the claim is noted as made, and being taken
 * away. */
bool hf__zk_check_acl_take(struct hf__zk_task *, const char *name);
/* Add deletes for the slots, and unless slots_only the claims, of the
 * operation's token. Returns how many. */
int hf__zk_add_sweep(struct hf__zk_task *, bool slots_only);
/* Delete our claim, tell who is in its way, and finish with t->verdict. */
void hf__zk_withdraw(struct hf__zk_task *);
/* The same for a claim whose sequence, or its slot's, is exhausted. If no other
 * claim is there, the folder is deleted, so that sequences start at 0 again,
 * and the acquire starts over. */
void hf__zk_leave_exhausted(struct hf__zk_task *);
/* Simple recipe: the i-th answer is that of "lock"; is it the operation's own?
 * A release also takes one that an earlier session of this client has left. */
bool hf__zk_simple_is_ours(const struct hf__zk_task *, int i);
/* Delete "lock" and its marker, and finish with t->verdict; HF__AGAIN: start
 * the acquire over. */
void hf__zk_simple_leave(struct hf__zk_task *);

/* ---- recipe.c */

/* ACQUIRE of a claim of which something is known already. */
void hf__zk_again(struct hf__zk_task *);
/* The claim was made, and t->queue was listed after that. */
void hf__zk_decide(struct hf__zk_task *);
/* HF_OK, or if the name is used by the simple recipe, HF_EUNSAFE and a text. */
int hf__zk_judge_lock(struct hf__zk_task *);
/* Simple recipe: add the requests that make "lock" and its marker; and take
 * their answers, from the i-th on. */
void hf__zk_simple_add_made(struct hf__zk_task *);
void hf__zk_simple_take_made(struct hf__zk_task *, int i);

/* ---- claim.c */

void hf__zk_acquire(struct hf__zk_task *);
void hf__zk_renew(struct hf__zk_task *);

#endif
