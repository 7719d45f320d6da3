/* SPDX-License-Identifier: MIT */
/*
 * A watcher is one thread and one connection of a client. It waits, for all
 * claims that use it, until a name's record changes. A wake-up is a hint, never
 * a grant: the claim asks again. When the connection fails, every watch fires
 * after a pause, so that waiting falls back to polling. The thread starts with
 * the first watch and ends with the client. While a claim asks the store, its
 * position in the store's queue is kept; once no claim waits or asks, the
 * watcher has the store drop it.
 *
 * One watcher is enough for most stores. Where a session waits well for one
 * name only, each claim has a watcher of its own while there are enough,
 * created when needed; the others share the last. A claim keeps its watcher
 * until it leaves. Thread: any. Lock order: the mutex of hf__watchers, then a
 * watcher's.
 */
#ifndef HF_CORE_WATCHER_H
#define HF_CORE_WATCHER_H

#include "src/core/session.h"

/* The most names that one wait covers; more take turns. */
#define HF__WATCH_MAX 256

/* A claim's watch. */
struct hf__watching {
    struct hf__watch watch;
    struct hf__link link;
    struct hf__parker *parker;   /* unparked when the watch fires */
    struct hf__watcher *watcher; /* the watcher it uses; NULL: none */
    bool is_trying; /* it asks the store now; under the watcher's mutex */
    atomic_int has_fired;
};

/* What the thread is asking of the store, and what may interrupt that. */
enum hf__watcher_call {
    HF__CALL_NONE,
    HF__CALL_WAIT, /* waits: a change of the list interrupts it */
    /* drops its queue position before waiting for another name: only closing
     * interrupts it */
    HF__CALL_TO_MOVE
};

struct hf__watcher {
    const struct hf__settings *settings;
    int claims; /* that use it; under the mutex of hf__watchers */
    struct hf__mutex mutex;
    struct hf__link list; /* of hf__watching: the watches that wait */
    int trying;           /* claims that left the list and may come back */
    struct hf__conn conn; /* used by the thread alone */
    struct hf__thread thread;
    struct hf__parker parker;
    enum hf__watcher_call call;
    bool is_closing;
    atomic_bool is_elsewhere; /* as in hf__session */
    /* used by the thread alone: the store may keep a queue position for this
     * watch: */
    bool is_queued;
    struct hf__watch queue;
    char queue_key[HF__KEY_MAX];
    struct hf__watch copies[HF__WATCH_MAX];
    struct hf__watch *pointers[HF__WATCH_MAX];
    /* copied, for a claim may leave at any time */
    char keys[HF__WATCH_MAX][HF__KEY_MAX];
};

void hf__watcher_init(struct hf__watcher *, const struct hf__settings *);
/* The claim asks the store now, whether its watch fired or not. Thread:
 * user. */
void hf__watcher_pause(struct hf__watching *);

struct hf__watchers {
    const struct hf__settings *settings;
    struct hf__mutex mutex;
    struct hf__watcher *list[HF__CONNECTIONS_MAX];
    int n;
    bool is_closed;
};

void hf__watchers_init(struct hf__watchers *, const struct hf__settings *);
/* Begin or resume a watch; key, fence, token and parker are set. It fires at
 * the latest when the store could no longer be asked. False if there is no
 * memory or thread for it, or if the store cannot notify waiters: then poll. */
HF_MUST_CHECK bool hf__watchers_join(struct hf__watchers *,
                                     struct hf__watching *);
/* The claim does not come back; harmless if it has no watcher. */
void hf__watchers_leave(struct hf__watchers *, struct hf__watching *);
/* The locks are on another server: each watcher reconnects. */
void hf__watchers_move(struct hf__watchers *);
/* End the threads; fires the remaining watches. */
void hf__watchers_close(struct hf__watchers *);
void hf__watchers_fini(struct hf__watchers *);

#endif
