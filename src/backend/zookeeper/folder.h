/* SPDX-License-Identifier: MIT */
/*
 * The folder of a name, and those above it: how they are made (folder.c), and
 * whether the name's is nobody's to change but its user's (vet.c). For
 * acquire.c, and of cells for cells.c. Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_FOLDER_H
#define HF_BACKEND_ZOOKEEPER_FOLDER_H

#include "src/backend/zookeeper/steps.h"

/* ---- folder.c */

/* By the answers, nothing is wrong with them; if not, the task has ended, for
 * then there is no claim in them. */
bool hf__zk_folders_fine(struct hf__zk_task *);

/* ---- vet.c */

/* With a user, it is asked in the round that makes a claim, as the last. */
void hf__zk_vet_add(struct hf__zk_task *);
/* The answer, of a claim that was made as `name`: if it is, that is noted. On
 * false the task leaves. */
bool hf__zk_vet_take(struct hf__zk_task *, const char *name);
/* Asks, and then grants with t->entered, or leaves. */
void hf__zk_vet(struct hf__zk_task *);

#endif
