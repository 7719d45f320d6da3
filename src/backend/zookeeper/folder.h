/* SPDX-License-Identifier: MIT */
/*
 * The folder of a name, and those above it: how they are made (folder.c), and
 * whether the name's is nobody's to change but its user's (vet.c). For
 * acquire.c, and of cells for cells.c. Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_FOLDER_H
#define HF_BACKEND_ZOOKEEPER_FOLDER_H

#include "src/backend/zookeeper/task.h"

/* ---- folder.c */

/* How many there are, the name's own among them. */
int hf__zk_count_folders(const char *folder);
/* The n-th of them, from above; 0: the root. */
const char *hf__zk_folder_path(const char *folder, int n,
                               char to[HF__ZK_FOLDER_MAX]);
/* The i-th request makes the i-th of t->n_folders, of which the name's own is
 * the last. */
void hf__zk_folder_ask(struct hf__zk_task *, int i);
/* By the answers, nothing is wrong with them; if not, the task has ended, for
 * then there is no claim in them. */
bool hf__zk_folders_fine(struct hf__zk_task *);

/* ---- vet.c */

/* How many requests more it takes in the round that makes a claim; its last
 * ones. Without a user, nothing is asked. */
int hf__zk_vet_calls(const struct hf__zk_task *);
void hf__zk_vet_ask(struct hf__zk_task *);
/* The answer, of a claim that was made as `name`: if it is, that is noted. On
 * false the task leaves. */
bool hf__zk_vet_take(struct hf__zk_task *, const char *name);
/* Asks, and then grants with t->entered, or leaves. */
void hf__zk_vet(struct hf__zk_task *);

#endif
