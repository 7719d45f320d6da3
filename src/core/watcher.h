/* SPDX-License-Identifier: MIT */
/*
 * One thread and one connection of a client that wait, for all its waiting
 * contenders, until a name's record changes. A wake is a hint, never a
 * grant: the contender asks again. When the connection fails, every watch
 * fires after a pause, so that waiting falls back to polling. The thread
 * starts with the first watch and ends with the client.
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
    struct hf__parker *parker; /* unparked when it fires */
    atomic_int has_fired;
};

struct hf__watcher {
    const struct hf__settings *settings;
    struct hf__mutex mutex;
    struct hf__link list; /* of hf__watching */
    struct hf__conn conn; /* the thread's */
    struct hf__thread thread;
    struct hf__parker parker;
    bool is_waiting; /* on the store; may be interrupted */
    bool is_closing;
    struct hf__watch copies[HF__WATCH_MAX];
    struct hf__watch *pointers[HF__WATCH_MAX];
    char keys[HF__WATCH_MAX][HF__KEY_MAX]; /* a contender may leave any time */
};

void hf__watcher_init(struct hf__watcher *, const struct hf__settings *);
/* Begin to watch; key, fence, token and parker are set. Fires at the latest
 * when the store could be asked no longer. False if the system gives no
 * thread for it: then poll. Thread: user. */
HF_MUST_CHECK bool hf__watcher_add(struct hf__watcher *, struct hf__watching *);
/* End it; harmless after it fired. Thread: user. */
void hf__watcher_remove(struct hf__watcher *, struct hf__watching *);
/* Interrupts and joins; fires what is left. */
void hf__watcher_close(struct hf__watcher *);

#endif
