/* SPDX-License-Identifier: MIT */
/*
 * Decides from a listing who holds a name: claims in the order of their
 * sequence, each let in or not as if all had come one after the other. A claim
 * that is compatible with all claims before it, and for slots while fewer than
 * all are taken, has the name, whether it has noticed or not: claims before it
 * only become fewer, and none comes before it. So every client that looks gets
 * the same result, and a claim needs to look again only when one before it has
 * gone. This is the rule of compatibility.h for who comes one by one. Pure but
 * for its memory. Thread: any.
 */
#ifndef HF_BACKEND_ZOOKEEPER_QUEUE_H
#define HF_BACKEND_ZOOKEEPER_QUEUE_H

#include "src/backend/compatibility.h"
#include "src/backend/zookeeper/node.h"

struct hf__zk_claim {
    struct hf__zk_child child;
    const char *name;     /* lent by the listing */
    enum hf__entry entry; /* OPEN: it was let in */
    int taken;            /* index of its slot's child in `taken`; −1 */
};

/* A child that says which claim has a slot. */
struct hf__zk_slot_node {
    struct hf__zk_child child;
    const char *name;
    int claim; /* index of the claim that has the slot; −1: none, for this child
                  is exhausted, about to go, or not the first */
};

/* The marker, which is made and deleted together with "lock". */
struct hf__zk_marker {
    struct hf__token token;
    const char *name;
};

struct hf__zk_owner;

struct hf__zk_queue {
    struct hf__zk_claim *claims; /* by sequence, then the exhausted ones */
    int n;
    int n_fresh; /* not exhausted */
    int n_in;    /* how many of these were let in; they come first */
    struct hf__zk_slot_node *taken; /* by slot, then by sequence */
    int n_taken;
    struct hf__zk_marker *markers;
    int n_markers;
    int n_foreign; /* children that this store did not make */
    bool has_lock; /* somebody holds it by the simple recipe */
    int32_t next;  /* the sequence of the next claim, as far as known */
    struct hf__zk_owner *owners; /* claims that were let in, sorted by token */
};

/* The names are lent until fini. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__zk_queue_read(struct hf__zk_queue *, char *const *names,
                                    int n, int32_t next);
/* Takes a zeroed queue. */
void hf__zk_queue_fini(struct hf__zk_queue *);

/* The index of the claim with that name, or −1. */
int hf__zk_queue_find(const struct hf__zk_queue *, const char *name);
/* The index of the first claim with that token, from `from` on, or −1. */
int hf__zk_queue_find_token(const struct hf__zk_queue *, int from,
                            const struct hf__token *);
/* The index in `taken` of the child with that name, or −1. */
int hf__zk_queue_find_slot_node(const struct hf__zk_queue *, const char *name);
/* The slot to take for claim i, which was let in and has none: it leaves one
 * free slot to each claim like it that comes before, so no two choose the same.
 * −1: none is left, for gone claims have left slots behind. */
int hf__zk_queue_free_slot(const struct hf__zk_queue *, int i);
/* A claim before claim i that excludes it, and whose kind can follow one
 * another without end (shared, slots); or −1. */
int hf__zk_queue_stream(const struct hf__zk_queue *, int i);
/* Could a new claim of that lock mode enter now? */
enum hf__entry hf__zk_queue_would(const struct hf__zk_queue *,
                                  struct hf__lock_mode);
/* After HF__ENTRY_MISFIT: how many slots the name has. */
int hf__zk_queue_slots(const struct hf__zk_queue *);

/* What a claim that may not enter watches. */
enum hf__zk_view {
    HF__ZK_SEE_NODE, /* the claim `who`, until it is gone */
    HF__ZK_SEE_DATA, /* the same, or until it says HOLDS */
    HF__ZK_SEE_ALL   /* the list of all children */
};
struct hf__zk_predecessor {
    enum hf__zk_view view;
    int who;
};
/* What claim i watches, so that each change wakes few of many waiters. The
 * nearest claim before it that excludes it, if any: an exclusive claim so
 * watches the one right before it. For slots, if there is none: the first in
 * the queue, and claims that were let in, watch the folder, for any slot that
 * is given up; those behind watch the claim right before them, until it has
 * entered. */
struct hf__zk_predecessor hf__zk_queue_predecessor(const struct hf__zk_queue *,
                                                   int i);

#endif
