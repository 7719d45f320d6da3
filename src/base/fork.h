/* SPDX-License-Identifier: MIT */
/*
 * How the library survives fork(). A child inherits descriptors and would keep
 * a lock alive with them that its parent released. So every descriptor of ours
 * is CLOEXEC and registered here, and the fork handler closes it in the child
 * by close() alone: nothing is sent, and no client library's own close runs.
 * The generation tells clients and locks in a child that they belong to its
 * parent. Thread: any.
 */
#ifndef HF_BASE_FORK_H
#define HF_BASE_FORK_H

#include "src/base/base.h"
#include "src/base/thread.h"

#include <stdatomic.h>

/* HF_OK if the fork handlers are installed, which is done when the library is
 * loaded; HF_ENOMEM if there was no memory for them. */
HF_MUST_CHECK int hf__fork_watch(void);
/* Rises by one in each forked child; it is 1 in the process that loaded the
 * library. */
HF_MODULE_API unsigned hf__fork_generation(void);

/* No fork() of this process happens between the two calls. They protect work
 * that a child must not inherit half done. One thread must not forbid twice. */
HF_MODULE_API void hf__fork_forbid(void);
HF_MODULE_API void hf__fork_allow(void);

/*
 * A mutex of the whole process, in static memory, zeroed. From its first use on
 * every fork() holds it, so that a child finds it free and the data that it
 * guards complete. A thread that holds one must not lock another nor forbid
 * forks; a thread that forbids forks may lock one.
 */
struct hf__process_mutex {
    struct hf__mutex mutex;
    atomic_bool is_known; /* in the list that fork() locks */
    struct hf__process_mutex *next;
};
/* Gives the mutex to lock, as in HF_SCOPED_LOCK(hf__process_mutex(&m)), and
 * makes it known to fork() at its first use. */
HF_MODULE_API struct hf__mutex *hf__process_mutex(struct hf__process_mutex *);

/* Close fd in every later child of this process. HF_OK or HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__fd_register(int fd);
/* Unregister fd, before it is closed. Harmless if it is not registered. */
void hf__fd_unregister(int fd);
/* For a descriptor that a client library opens without CLOEXEC and may close in
 * any call. Adopt it after each such call: then it is CLOEXEC, registered and
 * in *kept. Leave it before the next call. −1 means none, in fd and in *kept.
 * HF_OK or HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__fd_adopt(int *kept, int fd);
HF_MODULE_API void hf__fd_leave(int *kept);
/* Unregister and close; takes −1. */
HF_MODULE_API void hf__fd_close(int fd);

#endif
