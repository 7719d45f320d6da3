/* SPDX-License-Identifier: MIT */
/*
 * Making the folder of a name, and those above it, from above to below: where
 * they are, and what is told of one that can't be made. Called by the session's
 * thread.
 */
#include "src/backend/zookeeper/folder.h"

#include <string.h>

/* Each begins with a slash of the path. */
int hf__zk_count_folders(const char *folder)
{
    int n = 0;

    for (const char *at = folder; *at != '\0'; at++) {
        n += *at == '/';
    }
    return n;
}

const char *hf__zk_folder_path(const char *folder, int n,
                               char to[HF__ZK_FOLDER_MAX])
{
    const char *at = folder;

    for (; *at != '\0' && (*at != '/' || n > 0); at++) {
        n -= *at == '/';
    }
    memcpy(to, folder, (size_t)(at - folder));
    to[at - folder] = '\0';
    return at == folder ? "/" : to;
}

/* The i-th of those that are made; −1 is the one above all. */
static const char *path_of(const struct hf__zk_task *t, int i,
                           char to[HF__ZK_FOLDER_MAX])
{
    int n = hf__zk_count_folders(t->folder) - t->n_folders + i + 1;

    return hf__zk_folder_path(t->folder, n, to);
}

void hf__zk_folder_ask(struct hf__zk_task *t, int i)
{
    char path[HF__ZK_FOLDER_MAX];
    bool is_last = i == t->n_folders - 1;

    hf__zk_create(t->calls, t->first + i, path_of(t, i, path), "", 0,
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

    hf__zk_fail_path(t, i,
                     path_of(t, hf__zk_rc(t, i) == ZNOAUTH ? i - 1 : i, path));
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
