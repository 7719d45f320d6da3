/* SPDX-License-Identifier: MIT */
/*
 * One thread and one connection of a client that wait, for all its guests (the
 * contenders that watchers.h sends it), until a name's record changes. A wake
 * is a hint, never a grant: the contender asks again. When the connection
 * fails, every watch fires after a pause, so that waiting falls back to
 * polling. The thread starts with the first watch and ends with the client.
 *
 * A guest that tries keeps the place that the store may have given it in a
 * queue. Once none waits or tries the store is told to let go of it.
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
    int guests; /* of watchers.c, under its mutex */
    struct hf__mutex mutex;
    struct hf__link list; /* of hf__watching */
    int trying;           /* guests that left it and may come back */
    struct hf__conn conn; /* the thread's */
    struct hf__thread thread;
    struct hf__parker parker;
    enum hf__watcher_call call;
    bool is_closing;
    atomic_bool is_elsewhere; /* as hf__session's */
    bool has_place; /* the thread's: the store may keep one, that of: */
    struct hf__watch place;
    char place_key[HF__KEY_MAX];
    struct hf__watch copies[HF__WATCH_MAX];
    struct hf__watch *pointers[HF__WATCH_MAX];
    char keys[HF__WATCH_MAX][HF__KEY_MAX]; /* a contender may leave any time */
};

void hf__watcher_init(struct hf__watcher *, const struct hf__settings *);
/* Begin to watch for a guest. False without a thread for it, and once closed.
 * Thread: user. */
HF_MUST_CHECK bool hf__watcher_add(struct hf__watching *);
/* The guest tries, whether it was woken or not. Thread: user. */
void hf__watcher_pause(struct hf__watching *);
/* It neither watches nor tries any more. Thread: user. */
void hf__watcher_remove(struct hf__watching *);
/* The locks are on another server: it waits there. Thread: any. */
void hf__watcher_move(struct hf__watcher *);
/* Interrupts and joins; fires what is left. The guests may still leave. */
void hf__watcher_close(struct hf__watcher *);

#endif
