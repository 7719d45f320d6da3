/* SPDX-License-Identifier: MIT */
/*
 * The watchers of a client, and which contender is whose guest. One watcher is
 * enough for most stores. Where a session waits well for one name only, each
 * contender has one to itself as long as there are some, started at first
 * need; the rest share the last. A guest keeps its watcher until it leaves.
 * Thread: any; the mutex comes before a watcher's.
 */
#ifndef HF_CORE_WATCHERS_H
#define HF_CORE_WATCHERS_H

#include "src/core/watcher.h"

struct hf__watchers {
    const struct hf__settings *settings;
    struct hf__mutex mutex;
    struct hf__watcher *list[HF__CONNECTIONS_MAX];
    int n;
    bool is_closed;
};

void hf__watchers_init(struct hf__watchers *, const struct hf__settings *);
/* Begin to watch, or begin again; key, fence, token and parker are set. Fires
 * at the latest when the store could be asked no longer. False without memory
 * or a thread for it, or if nobody can wait on the store: then poll. */
HF_MUST_CHECK bool hf__watchers_join(struct hf__watchers *,
                                     struct hf__watching *);
/* The guest does not come back; harmless if it is nobody's. */
void hf__watchers_leave(struct hf__watchers *, struct hf__watching *);
/* hf__watcher_move() of each. */
void hf__watchers_move(struct hf__watchers *);
/* Ends their threads; fires what is left. */
void hf__watchers_close(struct hf__watchers *);
void hf__watchers_fini(struct hf__watchers *);

#endif
