/* SPDX-License-Identifier: MIT */
/*
 * The side file of a store, through which its processes learn of each other.
 *
 * Each process locks bytes of it through its open file. One byte is found by a
 * random number, the process's life, which records name: if that byte is free,
 * the holder is dead. There may be one byte for each name that the process
 * holds (held.h). One byte says that some process uses the store at all. The
 * layout has the channels of waiters, when tickets were last seen, which grants
 * were broken, and what the store adds. All of it is hints: nothing in it is
 * believed to free a lock. It is accessed only through base/words.h. Thread:
 * any.
 */
#ifndef HF_BACKEND_LOCAL_SIDE_H
#define HF_BACKEND_LOCAL_SIDE_H

#include "src/backend/breaks.h"
#include "src/backend/local/dir.h"
#include "src/backend/local/held.h"
#include "src/base/fork_list.h"
#include "src/base/list.h"
#include "src/base/wake_table.h"

#include <stddef.h>

/* The bytes are far behind the contents, so that no reader of the file meets
 * them. Lives and the open lock are locked exclusively, names and presence
 * shared. Presence is exclusive while the layout is set up. */
#define HF__BYTE_PRESENCE  ((INT64_C(1) << 30) - 1)
#define HF__BYTE_OPEN_LOCK ((INT64_C(1) << 30) - 2)
#define HF__BYTE_LIVES     (INT64_C(1) << 61)
#define HF__BYTE_NAMES     (UINT64_C(1) << 62)

/* The start of a layout; the rest of it is zero when new. */
struct hf__side_header {
    char magic[8];
    uint32_t version;
    uint32_t size; /* of everything, with what the store adds */
};

/* What differs between the kinds of stores. */
struct hf__side_kind {
    struct hf__side_header head;
    bool names_have_bytes;       /* see held.h */
    struct hf__fork_list *sides; /* of this kind; locked while one is set up, so
                                 that a disk that hangs stops no other kind */
};

/* The part that is read before each batch, in one step. */
struct hf__side_hot {
    struct hf__side_header head;
    _Alignas(8) unsigned char own[592]; /* the store's own */
    struct hf__wake_summary summary;
};

struct hf__side_layout {
    struct hf__side_header head;
    _Alignas(8) unsigned char own[592];
    struct hf__wake_table wake_table;
    struct hf__breaks breaks;
    struct hf__last_seen last_seen;
};

_Static_assert(offsetof(struct hf__side_layout, wake_table.summary) ==
                   offsetof(struct hf__side_hot, summary),
               "the hot part begins the layout");

/* The offset of a member in the layout. */
#define HF__SIDE_OFFSET(member) offsetof(struct hf__side_layout, member)

/* One side file in this process, shared by its sessions. */
struct hf__side {
    struct hf__link link;
    const struct hf__side_kind *kind;
    struct hf__file_id id;
    int refs;
    int users; /* sessions that have not left yet; at most refs */
    int fd;
    struct hf__words words; /* the mapped layout */
    uint64_t life;
    struct hf__held held;
    struct hf__wake_view wake_view;
    struct hf__mutex lock; /* of `idle` */
    struct hf__link idle;  /* what the store's sessions leave for each other */
};

/* Open the file, or create it, and check it. HF_OK, HF_EAUTH, HF_EUNAVAIL (disk
 * full), HF_EPROTO (not a file), HF_EUNSAFE (a link, or a stranger's),
 * HF_ENOMEM. *ret_fd is −1, or the caller closes it whatever the result. */
HF_MUST_CHECK int hf__side_open(const struct hf__dir *, int *ret_fd,
                                struct hf__file_id *ret_id, hf_error *);
/* Sleep a little while another process opens the store. HF_CONFLICT: try again;
 * HF_EUNAVAIL: the deadline passed or the call was interrupted. */
HF_MUST_CHECK int hf__side_rest(const struct hf__dir *, struct hf__head *,
                                hf__time deadline, hf_error *);
/* Get this process's object for the side file. It is set up if no process uses
 * the store, and gets a life if it is new. *ret_has_others: some process,
 * perhaps this one, used the store already. Results as hf__side_open(). */
HF_MUST_CHECK int hf__side_get(const struct hf__dir *, struct hf__head *,
                               hf__time deadline, struct hf__side **ret_side,
                               bool *ret_has_others, hf_error *);
/* Called before a session closes. True: it was the last one of this process,
 * and held grants need another guarantee than the process's life. */
HF_MUST_CHECK bool hf__side_leave(struct hf__side *);
/* Takes NULL; call it after hf__side_leave(). The object outlives its last
 * session as long as an unexpired grant is held: the holder must not look dead,
 * nor the store abandoned. */
void hf__side_put(struct hf__side *);

/* 1: the process with that life runs; 0: it is gone; −1: unknown, as for 0,
 * which is no life. */
int hf__side_probe(const struct hf__side *, uint64_t life);
/* Read the hot part. False: the layout is gone, for the file was truncated or
 * overwritten in place. */
bool hf__side_look(const struct hf__side *, struct hf__side_hot *ret_hot);

#endif
