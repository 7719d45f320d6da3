/* SPDX-License-Identifier: MIT */
/*
 * One watch on one node, or on one list of children, for one reference: an
 * answer of call.h sets it, it fires once, unparks the reference, and may then
 * be set again. It is counted, for the library may still know it after its
 * owner has dropped it. That it fired is only a hint to look again.
 *
 * After a lost connection the library sets all watches of a session again by
 * one request, and a server hangs up on a request longer than its
 * jute.maxbuffer, a megabyte by default, each time. So a session has room for
 * paths of half of that. A request whose watch would exceed it is sent, but
 * sets no watch; its owner then has to look again by itself. Thread: the
 * reference's.
 */
#ifndef HF_BACKEND_ZOOKEEPER_WATCH_H
#define HF_BACKEND_ZOOKEEPER_WATCH_H

#include "src/backend/zookeeper/session.h"

struct hf__zk_watch;

/* Returns a watch that is not set yet. NULL: out of memory. */
HF_MUST_CHECK struct hf__zk_watch *hf__zk_watch_new(struct hf__zk_ref *);
/* Takes NULL. Call it before the reference is closed. The library forgets the
 * watch; the server may still send one event of it, which is ignored. */
void hf__zk_watch_drop(struct hf__zk_watch *);
static inline void hf__zk_watch_drop_auto(struct hf__zk_watch **watch)
{
    hf__zk_watch_drop(*watch);
}
/* Has the node, or the list, changed since it was set? */
bool hf__zk_watch_has_fired(const struct hf__zk_watch *);
/* Is it set, or on its way to be? */
bool hf__zk_watch_is_set(const struct hf__zk_watch *);
/* Is it surely set, and on that path: on the list of children, or on the
 * node? */
bool hf__zk_watch_is_on(const struct hf__zk_watch *, const char *path,
                        bool is_list);

/* Bytes that a watch on that path takes of its session's room. */
size_t hf__zk_watch_size(const char *path);
/* How much room is left for optional watches: they may take half of it, the
 * rest is for watches that a waiter depends on. */
size_t hf__zk_watch_spare(struct hf__zk_ref *);

#endif
