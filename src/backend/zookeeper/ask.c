/* SPDX-License-Identifier: MIT */
/*
 * What an operation asks for: requests about its name's folder and the
 * folder's children, as they are put into the round that is about to go
 * (batch.c), and what a node of ours says of itself. The answers are the
 * asker's. Called by the session's thread.
 */
#include "src/backend/zookeeper/task.h"

#include <limits.h>
#include <string.h>

void hf__zk_task_path(const struct hf__zk_task *t, const char *child,
                      char to[HF__ZK_PATH_MAX])
{
    if (child == NULL) {
        memcpy(to, t->folder, strlen(t->folder) + 1);
    } else {
        hf__zk_child_path(t->folder, child, to);
    }
}

void hf__zk_ask_delete(struct hf__zk_task *t, int i, const char *child)
{
    char path[HF__ZK_PATH_MAX];

    hf__zk_task_path(t, child, path);
    hf__zk_delete(t->calls, t->first + i, path, -1);
}

void hf__zk_ask_get(struct hf__zk_task *t, int i, const char *child)
{
    char path[HF__ZK_PATH_MAX];

    hf__zk_task_path(t, child, path);
    hf__zk_get(t->calls, t->first + i, path, NULL);
}

void hf__zk_ask_exists(struct hf__zk_task *t, int i, const char *child)
{
    char path[HF__ZK_PATH_MAX];

    hf__zk_task_path(t, child, path);
    hf__zk_exists(t->calls, t->first + i, path, NULL);
}

static int write_facts(const struct hf__zk_task *t,
                       enum hf__zk_claim_state state, char to[HF__ZK_DATA_MAX])
{
    struct hf__zk_facts facts = {.state = state,
                                 .foreseen = t->foreseen,
                                 .token = t->op->token,
                                 .acquired_us = hf__wall_us(),
                                 .owner = *t->op->owner};

    return hf__zk_facts_write(&facts, to);
}

void hf__zk_ask_facts(struct hf__zk_task *t, int i, const char *child,
                      enum hf__zk_claim_state state)
{
    char path[HF__ZK_PATH_MAX];
    char data[HF__ZK_DATA_MAX];
    int length = write_facts(t, state, data);

    hf__zk_task_path(t, child, path);
    hf__zk_set(t->calls, t->first + i, path, data, length, -1);
}

void hf__zk_ask_make(struct hf__zk_task *t, int i, const char *child,
                     enum hf__zk_claim_state state, int mode)
{
    char path[HF__ZK_PATH_MAX];
    char data[HF__ZK_DATA_MAX];
    int length = write_facts(t, state, data);

    hf__zk_task_path(t, child, path);
    hf__zk_create(t->calls, t->first + i, path, data, length, mode);
}

void hf__zk_ask_make_lock(struct hf__zk_task *t, int i)
{
    char paths[2][HF__ZK_PATH_MAX];
    const char *const both[] = {paths[0], paths[1]};
    char data[HF__ZK_DATA_MAX];
    int length = write_facts(t, HF__ZK_HOLDS, data);
    char name[HF__ZK_CHILD_MAX];

    hf__zk_twin_write(&t->op->token, name);
    hf__zk_task_path(t, HF__ZK_LOCK_NAME, paths[0]);
    hf__zk_task_path(t, name, paths[1]);
    hf__zk_create_pair(t->calls, t->first + i, both, data, length);
}

void hf__zk_ask_delete_lock(struct hf__zk_task *t, int i,
                            const struct hf__token *token)
{
    char paths[2][HF__ZK_PATH_MAX];
    const char *const both[] = {paths[0], paths[1]};
    char name[HF__ZK_CHILD_MAX];

    hf__zk_twin_write(token, name);
    hf__zk_task_path(t, name, paths[0]);
    hf__zk_task_path(t, HF__ZK_LOCK_NAME, paths[1]);
    hf__zk_delete_pair(t->calls, t->first + i, both);
}

void hf__zk_join_make(struct hf__zk_task *t, const char *child,
                      enum hf__zk_claim_state state, int mode)
{
    char path[HF__ZK_PATH_MAX];
    char data[HF__ZK_DATA_MAX];
    int length = write_facts(t, state, data);

    hf__zk_task_path(t, child, path);
    hf__zk_join_create(t->calls, t->first, path, data, length, mode);
    t->is_joined = true;
}

void hf__zk_join_leave(struct hf__zk_task *t, const char *child)
{
    char path[HF__ZK_PATH_MAX];

    hf__zk_task_path(t, child, path);
    hf__zk_join_delete(t->calls, t->first, path);
    t->is_joined = true;
}

void hf__zk_ask_list(struct hf__zk_task *t, int i)
{
    hf__zk_children(t->calls, t->first + i, t->folder, NULL);
}

void hf__zk_ask_sync(struct hf__zk_task *t, int i)
{
    hf__zk_sync(t->calls, t->first + i, t->folder);
}

/* No node has been written so often. */
void hf__zk_ask_proof(struct hf__zk_task *t, int i, const char *child)
{
    char path[HF__ZK_PATH_MAX];

    hf__zk_task_path(t, child, path);
    hf__zk_set(t->calls, t->first + i, path, "", 0, INT_MAX);
}
