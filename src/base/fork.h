/* SPDX-License-Identifier: MIT */
/*
 * What fork() does to us. A child inherits descriptors, and with them would
 * keep a lock alive that its parent let go; so every descriptor of ours is
 * CLOEXEC and registered here, and the handler closes it raw in the child:
 * nothing is sent, no library's close is called. The generation tells every
 * handle that it belongs to the parent.
 * Thread: any.
 */
#ifndef HF_BASE_FORK_H
#define HF_BASE_FORK_H

#include "src/base/base.h"
#include "src/base/thread.h"

#include <stdatomic.h>

/* Are the handlers installed? They are since the library was loaded. HF_OK,
 * or HF_ENOMEM if there was no memory for that. */
HF_MUST_CHECK int hf__fork_watch(void);
/* Rises by one in each forked child; 1 in the process that loaded us. */
HF_MODULE_API unsigned hf__fork_generation(void);

/* No fork() of this process happens between the two. For what would be half
 * done in the child for ever. Not to be called twice by one thread. */
HF_MODULE_API void hf__fork_forbid(void);
HF_MODULE_API void hf__fork_allow(void);

/*
 * A mutex of the whole process, in static memory, zeroed. Every fork() holds it
 * from its first use on, so that a child finds it free, and what it guards
 * whole. Who has one takes no other, and forbids no fork; who forbids forks may
 * take one.
 */
struct hf__process_mutex {
    struct hf__mutex mutex;
    atomic_bool is_known; /* to fork() */
    struct hf__process_mutex *next;
};
/* To be locked: HF_SCOPED_LOCK(hf__process_mutex(&its_mutex)). */
HF_MODULE_API struct hf__mutex *hf__process_mutex(struct hf__process_mutex *);

/* Close fd in every later child of this process. HF_OK or HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__fd_register(int fd);
/* Forget it; before closing. Harmless if it is not registered. */
void hf__fd_unregister(int fd);
/* A library's descriptor, which it opens without a flag and may close at any
 * call: *kept is registered, and CLOEXEC, from after a call until before the
 * next one. −1, here as there, is none. HF_OK or HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__fd_adopt(int *kept, int fd);
HF_MODULE_API void hf__fd_leave(int *kept);
/* Unregister and close; takes −1. */
HF_MODULE_API void hf__fd_close(int fd);

#endif
