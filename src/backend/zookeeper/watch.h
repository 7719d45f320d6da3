/* SPDX-License-Identifier: MIT */
/*
 * One watch on one node, or on one list of children, for one front: it is set
 * by an answer of call.h, fires once, unparks its front, and may then be set
 * again. It is counted: the library may still know it when its owner has let
 * go of it. That it fired is only a hint to look again.
 *
 * After a lost connection the library sets all watches of a session again by
 * one request, and a server hangs up on one that is longer than its
 * jute.maxbuffer, a megabyte, each time. So a session has room for paths of
 * half of that. A request that would exceed it is sent, but sets no watch: who
 * sees that looks again by itself.
 * Thread: the reference's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_WATCH_H
#define HF_BACKEND_ZOOKEEPER_WATCH_H

#include "src/backend/zookeeper/session.h"

struct hf__zk_watch;

/* Not set yet. NULL: out of memory. */
HF_MUST_CHECK struct hf__zk_watch *hf__zk_watch_new(struct hf__zk_ref *);
/* Takes NULL. Before the reference is closed. The library forgets it; a server
 * may tell of it once more, and nobody hears. */
void hf__zk_watch_drop(struct hf__zk_watch *);
static inline void hf__zk_watch_drop_auto(struct hf__zk_watch **watch)
{
    hf__zk_watch_drop(*watch);
}
/* Something happened to the node since it was set. */
bool hf__zk_watch_has_fired(const struct hf__zk_watch *);
/* Is it set, or on its way to be? */
bool hf__zk_watch_is_set(const struct hf__zk_watch *);
/* Is it set for sure, and on that: the list of children, or the node? */
bool hf__zk_watch_is_on(const struct hf__zk_watch *, const char *path,
                        bool is_list);

/* Bytes that a watch on that path takes of its session's room. */
size_t hf__zk_watch_size(const char *path);
/* How much room is left for those that can be done without: half of it is for
 * those that somebody waits by. */
size_t hf__zk_watch_spare(struct hf__zk_ref *);

#endif
