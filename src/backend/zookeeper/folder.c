/* SPDX-License-Identifier: MIT */
/*
 * Making the folder of a name, and those above it, from above to below: where
 * they are, and what is told of one that can't be made. Called by the session's
 * thread.
 */
#include "src/backend/zookeeper/folder.h"

#include <string.h>

/* Of a folder's creation. */
static bool is_fine(int rc)
{
    return rc == ZOK || rc == ZNODEEXISTS || rc == ZNONODE ||
           rc == ZUNIMPLEMENTED;
}

/* Who may make it is said by the folder above it. */
static void fail_folder(struct hf__zk_task *t, int i)
{
    char path[HF__ZK_FOLDER_MAX];
    int which = hf__zk_rc(t, i) == ZNOAUTH ? i - 1 : i;

    hf__zk_fail_path(t, i, hf__zk_task_folder(t, which, path));
}

bool hf__zk_folders_fine(struct hf__zk_task *t)
{
    for (int i = 0; i < t->n_folders; i++) {
        if (!is_fine(hf__zk_rc(t, i))) {
            hf__zk_forget(t);
            fail_folder(t, i);
            return false;
        }
    }
    return true;
}
