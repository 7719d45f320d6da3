/* SPDX-License-Identifier: MIT */
/*
 * Making the folder of a name, and those above it, from above to below: where
 * they are, and what is told of one that can't be made. Called by the session's
 * thread.
 */
#include "src/backend/zookeeper/folder.h"

#include <string.h>

/* Each begins with a slash of the path. */
int hf__zk_count_folders(const struct hf__zk_task *t)
{
    int n = 0;

    for (const char *at = t->folder; *at != '\0'; at++) {
        n += *at == '/';
    }
    return n;
}

/* Of the i-th of those that are made; −1 is the one above all: "" is the root.
 */
static void write_path(const struct hf__zk_task *t, int i,
                       char path[HF__ZK_FOLDER_MAX])
{
    int n = hf__zk_count_folders(t) - t->n_folders + i + 1;
    const char *at = t->folder;

    for (; *at != '\0' && (*at != '/' || n > 0); at++) {
        n -= *at == '/';
    }
    memcpy(path, t->folder, (size_t)(at - t->folder));
    path[at - t->folder] = '\0';
}

void hf__zk_folder_ask(struct hf__zk_task *t, int i)
{
    char path[HF__ZK_FOLDER_MAX];
    bool is_last = i == t->n_folders - 1;

    write_path(t, i, path);
    hf__zk_create(t->calls, t->first + i, path, "", 0,
                  is_last && !hf__zk_has_no_containers(t) ? ZOO_CONTAINER
                                                          : ZOO_PERSISTENT);
}

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

    write_path(t, hf__zk_rc(t, i) == ZNOAUTH ? i - 1 : i, path);
    hf__zk_fail_path(t, i, path[0] == '\0' ? "/" : path);
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
