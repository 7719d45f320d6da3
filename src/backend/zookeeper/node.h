/* SPDX-License-Identifier: MIT */
/*
 * How locks are written into ZooKeeper's tree, and read again. A name is a
 * folder, <chroot>/<prefix>/<name>; who is at it are its children:
 *
 *     x-<token>-<sequence>         a claim that wants it alone,
 *     s-<token>-<sequence>         shared,
 *     n<slots>-<token>-<sequence>  or in one of so many slots;
 *     k<slot>-<token>-<sequence>   a slot that a claim has; of two with one
 *                                  number, the first;
 *     lock                         whoever has it by the simple recipe;
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

/* With the NUL behind it. */
#define HF__ZK_FOLDER_MAX (HF__ZK_CHROOT_MAX + 3 * HF__KEY_MAX + 8)
#define HF__ZK_CHILD_MAX  64
#define HF__ZK_PATH_MAX   (HF__ZK_FOLDER_MAX + HF__ZK_CHILD_MAX)
/* Three texts of which each byte may be written as three, and the rest. */
#define HF__ZK_DATA_MAX 2600

/* ---- names and paths */

/* The folder of all names of the key's prefix, and the folder of its name;
 * both give the length. */
size_t hf__zk_prefix_path(const char *chroot, const struct hf__key *,
                          char to[HF__ZK_FOLDER_MAX]);
size_t hf__zk_name_path(const char *chroot, const struct hf__key *,
                        char to[HF__ZK_FOLDER_MAX]);
/* The folder's child. */
void hf__zk_child_path(const char *folder, const char *child,
                       char to[HF__ZK_PATH_MAX]);
/* How many folders there are in that path, the last one among them; … */
int hf__zk_count_folders(const char *folder);
/* … and the n-th of them, from above; 0: the root. */
const char *hf__zk_folder_path(const char *folder, int n,
                               char to[HF__ZK_FOLDER_MAX]);
/* What a folder's name stands for; its length, 0: for nothing of ours. */
size_t hf__zk_name_read(const char *text, char to[HF_NAME_MAX]);

/* ---- children */

enum hf__zk_kind {
    HF__ZK_FOREIGN, /* nothing of ours */
    HF__ZK_CLAIM,
    HF__ZK_SLOT,
    HF__ZK_LOCK,
    HF__ZK_MARKER
};

struct hf__zk_child {
    enum hf__zk_kind kind;
    struct hf__token token; /* CLAIM, SLOT, TWIN */
    int32_t sequence;
    struct hf__lock_mode lock_mode; /* CLAIM */
    int slot;                       /* SLOT */
};

void hf__zk_child_read(const char *name, struct hf__zk_child *);
/* What the names begin with; the server adds the sequence. */
void hf__zk_claim_write(const struct hf__token *, struct hf__lock_mode,
                        char to[HF__ZK_CHILD_MAX]);
void hf__zk_slot_write(const struct hf__token *, int slot,
                       char to[HF__ZK_CHILD_MAX]);
#define HF__ZK_LOCK_NAME "lock"
void hf__zk_marker_write(const struct hf__token *, char to[HF__ZK_CHILD_MAX]);

/* Sequences rise up to 2^31 − 1. There the server stays: one that is made
 * alone gets that number each time, one that is made while another is under way
 * the lowest of all, so they say no more who was first. Whatever is made so
 * near to the end, as many as could be under way at once, stands for nothing.
 */
bool hf__zk_is_exhausted(int32_t sequence);
/* The sequence that a folder gives next, by the two numbers of its stat. */
int32_t hf__zk_next_sequence(int32_t cversion, int32_t n_children);

/* ---- data */

enum hf__zk_claim_state {
    HF__ZK_ENTERS, /* as it was made: it holds the name if nobody is in its
                      way, or is about to leave */
    HF__ZK_TRIES,  /* as one was made that will not wait: it holds the name if
                      its sequence is the one that it foresaw, for then nobody
                      has come since it was seen to be free */
    HF__ZK_WAITS,
    HF__ZK_HOLDS
};

struct hf__zk_data {
    enum hf__zk_claim_state state;
    int32_t expected; /* of TRIES; −1: none */
    struct hf__token token;
    int64_t acquired_us; /* wall clock; of WAITS, since when */
    struct hf__owner owner;
};

/* The length of what was written. */
int hf__zk_data_write(const struct hf__zk_data *, char to[HF__ZK_DATA_MAX]);
/* What can't be read is left empty. */
void hf__zk_data_read(const char *text, size_t length, struct hf__zk_data *);

#endif
