/* SPDX-License-Identifier: MIT */
/*
 * A watcher is one thread and one connection of a client that wait, for all its
 * guests (contenders), until a name's record changes. A wake is a hint, never a
 * grant: the contender asks again. When the connection fails, every watch fires
 * after a pause, so that waiting falls back to polling. The thread starts with
 * the first watch and ends with the client. A guest that tries keeps the place
 * that the store may have given it in a queue; once none waits or tries the
 * store is told to let go of it.
 *
 * One watcher is enough for most stores. Where a session waits well for one
 * name only, each contender has one to itself as long as there are some,
 * started at first need; the rest share the last. A guest keeps its watcher
 * until it leaves. Thread: any; the mutex of all comes before a watcher's.
 */
#ifndef HF_CORE_WATCHER_H
#define HF_CORE_WATCHER_H

#include "src/core/session.h"

/* Names that one wait covers; more than this many take turns. */
#define HF__WATCH_MAX 256

/* A watch in its contender. */
struct hf__watching {
    struct hf__watch watch;
    struct hf__link link;
    struct hf__parker *parker;   /* unparked when it fires */
    struct hf__watcher *watcher; /* whose guest it is; NULL: nobody's */
    bool is_trying;              /* under the watcher's mutex */
    atomic_int has_fired;
};

/* What the thread asks of the store, and what interrupts it. */
enum hf__watcher_call {
    HF__CALL_NONE,
    HF__CALL_WAIT,   /* each change of the list */
    HF__CALL_TO_MOVE /* letting go to wait elsewhere: closing alone */
};

struct hf__watcher {
    const struct hf__settings *settings;
    int guests; /* under the mutex of all */
    struct hf__mutex mutex;
    struct hf__link list; /* of hf__watching */
    int trying;           /* guests that left it and may come back */
    struct hf__conn conn; /* the thread's */
    struct hf__thread thread;
    struct hf__parker parker;
    enum hf__watcher_call call;
    bool is_closing;
    atomic_bool is_elsewhere; /* as hf__session's */
    bool is_queued; /* the thread's: the store may keep one, that of: */
    struct hf__watch queue;
    char queue_key[HF__KEY_MAX];
    struct hf__watch copies[HF__WATCH_MAX];
    struct hf__watch *pointers[HF__WATCH_MAX];
    char keys[HF__WATCH_MAX][HF__KEY_MAX]; /* a contender may leave any time */
};

void hf__watcher_init(struct hf__watcher *, const struct hf__settings *);
/* The guest tries, whether it was woken or not. Thread: user. */
void hf__watcher_pause(struct hf__watching *);

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
/* Their sessions' servers have moved: each asks anew. */
void hf__watchers_move(struct hf__watchers *);
/* Ends their threads; fires what is left. */
void hf__watchers_close(struct hf__watchers *);
void hf__watchers_fini(struct hf__watchers *);

#endif
