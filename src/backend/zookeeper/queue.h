/* SPDX-License-Identifier: MIT */
/*
 * Who stands at a name by its listing: claims in the order of their sequence,
 * each let in, or not, where it stands, as if all had come one after the other.
 * Those who agree with all before them, and of slots no more than there are,
 * have the name, whether they know yet or not: those before them only become
 * fewer, and nobody comes before them. So every client that looks comes to the
 * same result, and a claim needs to look again only when somebody before it
 * has gone. This is the rule of compatibility.h for who comes one by one. Pure
 * but for its memory. Thread: any.
 */
#ifndef HF_BACKEND_ZOOKEEPER_QUEUE_H
#define HF_BACKEND_ZOOKEEPER_QUEUE_H

#include "src/backend/compatibility.h"
#include "src/backend/zookeeper/node.h"

struct hf__zk_claim {
    struct hf__zk_child child;
    const char *name;     /* the listing's */
    enum hf__entry entry; /* OPEN: it was let in */
    int taken;            /* the child that says which slot it has; or −1 */
};

/* A child that says who has a slot. */
struct hf__zk_slot_node {
    struct hf__zk_child child;
    const char *name;
    int claim; /* that has it; −1: none, so it is about to be given up, or it is
                  of a number that another took before, or it is exhausted */
};

/* What is made and deleted together with "lock". */
struct hf__zk_marker {
    struct hf__token token;
    const char *name;
};

struct hf__zk_owner;

struct hf__zk_queue {
    struct hf__zk_claim *claims; /* the first to come first, then the
                                    exhausted */
    int n;
    int n_fresh;                    /* not exhausted */
    int n_in;                       /* of these, let in: they are the first */
    struct hf__zk_slot_node *taken; /* by slot, the first to come first */
    int n_taken;
    struct hf__zk_marker *markers;
    int n_markers;
    int n_foreign; /* nothing of ours */
    bool has_lock; /* somebody uses the simple recipe here */
    int32_t next;  /* the sequence that the next claim gets, as far as known */
    struct hf__zk_owner *owners; /* who was let in, by token */
};

/* Names are lent until fini. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__zk_queue_read(struct hf__zk_queue *, char *const *names,
                                    int n, int32_t next);
/* Takes a zeroed one. */
void hf__zk_queue_fini(struct hf__zk_queue *);

/* The claim with that name, or −1. */
int hf__zk_queue_find(const struct hf__zk_queue *, const char *name);
/* The first from `from` on with that token, or −1. */
int hf__zk_queue_find_token(const struct hf__zk_queue *, int from,
                            const struct hf__token *);
/* The child with that name that says who has a slot, or −1. */
int hf__zk_queue_find_slot_node(const struct hf__zk_queue *, const char *name);
/* The slot for claim i, which was let in and has none: each of those like it
 * leaves as many of the free ones as come before it, so no two choose the same.
 * −1: some have been left by who is gone. */
int hf__zk_queue_free_slot(const struct hf__zk_queue *, int i);
/* Of those before claim i, one of a kind that can follow one another for ever
 * and excludes it; or −1. */
int hf__zk_queue_stream(const struct hf__zk_queue *, int i);
/* Could a claim of that lock mode enter that came now? */
enum hf__entry hf__zk_queue_would(const struct hf__zk_queue *,
                                  struct hf__lock_mode);
/* Of HF__ENTRY_MISFIT: how many slots there are. */
int hf__zk_queue_slots(const struct hf__zk_queue *);

/* What a claim that may not enter watches. */
enum hf__zk_sight {
    HF__ZK_SEE_NODE, /* whether `who` is still there */
    HF__ZK_SEE_DATA, /* the same, and whether it has entered */
    HF__ZK_SEE_ALL   /* the whole folder */
};
struct hf__zk_predecessor {
    enum hf__zk_sight sight;
    int who;
};
/* Alone: who is right before it. Beside others: the nearest before it beside
 * whom it can't be; of slots, when there is none, whoever gives up a slot
 * first, for the first in the queue and for who was let in; the next ones wait
 * until that one has entered. So of many who wait, each change wakes few. */
struct hf__zk_predecessor hf__zk_queue_predecessor(const struct hf__zk_queue *,
                                                   int i);

#endif
