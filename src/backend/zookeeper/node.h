/* SPDX-License-Identifier: MIT */
/*
 * How locks are written into ZooKeeper's tree, and read again. A name is a
 * folder, <chroot>/<prefix>/<name>; its holders and waiters are its children:
 *
 *     x-<token>-<sequence>         an exclusive claim,
 *     s-<token>-<sequence>         a shared one,
 *     n<slots>-<token>-<sequence>  or one for one of so many slots;
 *     k<slot>-<token>-<sequence>   the slot that a claim has; of two children
 *                                  with one slot, the first counts;
 *     lock                         the holder by the simple recipe;
 *     lock-<token>                 its marker, which no other lock ever has.
 *
 * So one listing tells who is there, how, and in which order; the children's
 * data is for people, and for the slots. A cell is a node of its own,
 * <chroot>/<prefix>:cells/<name> (cells.c). Pure. Thread: any.
 */
#ifndef HF_BACKEND_ZOOKEEPER_NODE_H
#define HF_BACKEND_ZOOKEEPER_NODE_H

#include "src/backend/backend.h"
#include "src/backend/zookeeper/url.h"

/* These sizes include the NUL. */
#define HF__ZK_FOLDER_MAX (HF__ZK_CHROOT_MAX + 3 * HF__KEY_MAX + 8)
#define HF__ZK_CHILD_MAX  64
#define HF__ZK_PATH_MAX   (HF__ZK_FOLDER_MAX + HF__ZK_CHILD_MAX)
/* Three texts of which each byte may become three, and the other lines. */
#define HF__ZK_DATA_MAX 2600

/* ---- names and paths */

/* The folder of all names with the key's prefix, and the folder of the key's
 * name; both return the length. */
size_t hf__zk_prefix_path(const char *chroot, const struct hf__key *,
                          char to[HF__ZK_FOLDER_MAX]);
size_t hf__zk_name_path(const char *chroot, const struct hf__key *,
                        char to[HF__ZK_FOLDER_MAX]);
/* The path of a child of the folder. */
void hf__zk_child_path(const char *folder, const char *child,
                       char to[HF__ZK_PATH_MAX]);
/* How many folders that path has, the last one included; … */
int hf__zk_count_folders(const char *folder);
/* … and the path of the n-th of them from the root, which is 0. */
const char *hf__zk_folder_path(const char *folder, int n,
                               char to[HF__ZK_FOLDER_MAX]);
/* Decodes the name of a lock from a folder's name. Returns its length; 0: the
 * folder is not ours. */
size_t hf__zk_name_read(const char *text, char to[HF_NAME_MAX]);

/* ---- children */

enum hf__zk_kind {
    HF__ZK_FOREIGN, /* not made by this store */
    HF__ZK_CLAIM,
    HF__ZK_SLOT,
    HF__ZK_LOCK,
    HF__ZK_MARKER
};

struct hf__zk_child {
    enum hf__zk_kind kind;
    struct hf__token token; /* CLAIM, SLOT, MARKER */
    int32_t sequence;
    struct hf__lock_mode lock_mode; /* CLAIM */
    int slot;                       /* SLOT */
};

void hf__zk_child_read(const char *name, struct hf__zk_child *);
/* Write how the child's name begins; the server adds the sequence. */
void hf__zk_claim_write(const struct hf__token *, struct hf__lock_mode,
                        char to[HF__ZK_CHILD_MAX]);
void hf__zk_slot_write(const struct hf__token *, int slot,
                       char to[HF__ZK_CHILD_MAX]);
#define HF__ZK_LOCK_NAME "lock"
void hf__zk_marker_write(const struct hf__token *, char to[HF__ZK_CHILD_MAX]);

/* Sequences rise up to 2^31 − 1. There the server stays: a child made alone
 * gets that number each time, one made while another is under way the lowest of
 * all. So such numbers no longer say who was first. The last 65,536 numbers,
 * more than can be under way at once, and negative ones count as exhausted. */
bool hf__zk_is_exhausted(int32_t sequence);
/* The sequence that a folder gives next, by two numbers of its stat. */
int32_t hf__zk_next_sequence(int32_t cversion, int32_t n_children);

/* ---- data */

enum hf__zk_claim_state {
    HF__ZK_ENTERS, /* as a claim is made that may wait: it holds the name if
                      nobody is in its way; else it is about to wait, or to
                      leave */
    HF__ZK_TRIES, /* as a claim is made that will not wait: it holds the name if
                     its sequence is the expected one, for then nobody has come
                     since the name was seen to be free */
    HF__ZK_WAITS,
    HF__ZK_HOLDS
};

struct hf__zk_data {
    enum hf__zk_claim_state state;
    int32_t expected; /* of TRIES: the sequence it expects; −1: none */
    struct hf__token token;
    int64_t acquired_us; /* wall clock; of WAITS: since when it waits */
    struct hf__owner owner;
};

/* Returns the length of the data. */
int hf__zk_data_write(const struct hf__zk_data *, char to[HF__ZK_DATA_MAX]);
/* A line that can't be read leaves its field empty. */
void hf__zk_data_read(const char *text, size_t length, struct hf__zk_data *);

#endif
