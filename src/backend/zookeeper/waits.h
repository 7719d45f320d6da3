/* SPDX-License-Identifier: MIT */
/*
 * What a session that waits has set watches for. It stays between two calls,
 * for what happens meanwhile is found by the next.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_WAITS_H
#define HF_BACKEND_ZOOKEEPER_WAITS_H

#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/queue.h"
#include "src/backend/zookeeper/zookeeper.h"

/* A key, a ticket, and of who has none what was seen: a token, a fence and a
 * lock mode. */
enum {
    HF__ZK_REQUEST_ID_MAX = HF__KEY_MAX + 2 * (int)sizeof(struct hf__token) + 16
};

/* One name that somebody waits for. */
struct hf__zk_wait {
    struct hf__map_link in_map;
    char id[HF__ZK_REQUEST_ID_MAX]; /* whose it is, of all waits */
    struct hf__watch request;       /* of the call before, its key in `bytes` */
    char bytes[HF__KEY_MAX];
    struct hf__zk_watch *watch;
    struct hf__zk_watch *own_watch; /* of its place in the queue; or NULL */
    enum hf__zk_sight sight;        /* what the watch is set on */
    char ahead[HF__ZK_CHILD_MAX];
    bool is_next; /* nobody else is before it */
    bool is_seen; /* the listing was */
    bool is_armed;
    bool has_fired;
    int missed;       /* so many calls did not want it; 0: this one does */
    hf__time look_at; /* and without being woken, then */
};

struct hf__zk_waits {
    struct hf__map map;        /* all of the list, by id */
    struct hf__zk_wait **list; /* those that this call wants are the first */
    int n_wanted;
    int n;
    int room;
};

/* NULL: out of memory. */
HF_MUST_CHECK struct hf__zk_waits *hf__zk_waits_of(struct hf__zk *);
/* These are wanted now, and none has fired; others are not, and those that were
 * not for long are forgotten. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__zk_waits_take(struct hf__zk *,
                                    struct hf__watch *requests[], int n);
/* Which have fired. */
void hf__zk_waits_tell(const struct hf__zk_waits *,
                       struct hf__watch *requests[], int n);
#endif
