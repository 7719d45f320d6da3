/* SPDX-License-Identifier: MIT */
/*
 * The watches that a waiting backend session has set. They stay between two
 * calls of wait(), so that the next call finds what happened meanwhile. Thread:
 * the backend session's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_WAITS_H
#define HF_BACKEND_ZOOKEEPER_WAITS_H

#include "src/backend/zookeeper/own.h"
#include "src/backend/zookeeper/queue.h"
#include "src/backend/zookeeper/zookeeper.h"

/* Room for a key and a ticket, or for a request without a ticket the token, the
 * fence and the lock mode that were seen. */
enum {
    HF__ZK_REQUEST_ID_MAX = HF__KEY_MAX + 2 * (int)sizeof(struct hf__token) + 16
};

/* One request: a name that somebody waits for. */
struct hf__zk_wait {
    struct hf__map_link in_map;
    char id[HF__ZK_REQUEST_ID_MAX]; /* by which the map finds it */
    struct hf__watch request; /* as of the last call; its key is in `bytes` */
    char bytes[HF__KEY_MAX];
    struct hf__zk_watch *watch;
    struct hf__zk_watch *own_watch; /* on its own claim; or NULL */
    enum hf__zk_view view;          /* what `watch` is set on */
    char ahead[HF__ZK_CHILD_MAX];
    bool is_next; /* only one claim is before it */
    bool is_seen; /* the listing was answered */
    bool is_armed;
    bool has_fired;
    int missed;       /* how many calls left it out; 0: this one did not */
    hf__time look_at; /* look again then, without a watch's event */
};

struct hf__zk_waits {
    struct hf__map map;        /* the whole list, by id */
    struct hf__zk_wait **list; /* those of this call come first */
    int n_wanted;
    int n;
    int room;
};

/* NULL: out of memory. */
HF_MUST_CHECK struct hf__zk_waits *hf__zk_waits_of(struct hf__zk *);
/* Make these the wanted ones, none of them fired. Others are kept for a number
 * of calls, then dropped. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__zk_waits_take(struct hf__zk *,
                                    struct hf__watch *requests[], int n);
/* Tell the requests which of them have fired. */
void hf__zk_waits_tell(const struct hf__zk_waits *,
                       struct hf__watch *requests[], int n);
#endif
