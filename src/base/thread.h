/* SPDX-License-Identifier: MIT */
/*
 * Mutexes and threads; the only file that says pthread_. A mutex that can't
 * be locked is a bug, not an outcome, so the calls return nothing.
 */
#ifndef HF_BASE_THREAD_H
#define HF_BASE_THREAD_H

#include "src/base/base.h"

#include <pthread.h>
#include <signal.h>

struct hf__mutex {
    pthread_mutex_t native;
};
#define HF__MUTEX_INIT                                                         \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER                                              \
    }

HF_MODULE_API void hf__mutex_init(struct hf__mutex *);
HF_MODULE_API void hf__mutex_fini(struct hf__mutex *);
HF_MODULE_API void hf__mutex_lock(struct hf__mutex *);
HF_MODULE_API void hf__mutex_unlock(struct hf__mutex *);
/* For HF_SCOPED_LOCK. */
HF_MODULE_API struct hf__mutex *hf__mutex_hold(struct hf__mutex *);
HF_MODULE_API void hf__mutex_unlock_auto(struct hf__mutex **);

struct hf__thread {
    pthread_t native;
    bool is_running;
    void (*fn)(void *); /* what the new thread reads; not to be moved */
    void *arg;
    char name[16];
};

/*
 * Start fn(arg) with every signal blocked (they are the application's), a
 * small stack, and `name` (≤ 15 bytes) for people who look. HF_OK, or
 * HF_EUNAVAIL when the system gives no thread.
 */
HF_MUST_CHECK int hf__thread_start(struct hf__thread *, const char *name,
                                   void (*fn)(void *), void *arg);
/*
 * Ask for a library that does not live without its threads: can it have n (≤ 4)
 * with stacks of the usual size, and a megabyte beside? They are started, and
 * are gone when it returns. HF_OK, or HF_ENOMEM. Whoever takes what is there a
 * moment later is not kept from it.
 */
HF_MODULE_API HF_MUST_CHECK int hf__threads_ask(int n);
/* Joins; harmless if it was never started. */
void hf__thread_stop(struct hf__thread *);
/* The kernel's number of the calling thread; never 0. */
unsigned hf__thread_id(void);
/* Let others run first, if any are ready. */
void hf__thread_yield(void);
/* The name of the calling thread; "" if it has none. */
void hf__thread_name(char *buf, size_t size);

/* Run fn once in this process. */
#define HF__ONCE_INIT PTHREAD_ONCE_INIT
typedef pthread_once_t hf__once_flag;
HF_MODULE_API void hf__once_run(hf__once_flag *, void (*fn)(void));

/* All signals are blocked for this thread between the two, and for good in the
 * threads that it starts meanwhile. */
struct hf__signals {
    sigset_t before;
};
HF_MODULE_API void hf__signals_block(struct hf__signals *);
HF_MODULE_API void hf__signals_restore(const struct hf__signals *);

/* SIGPIPE is blocked for this thread between the two; one that arose in
 * between is swallowed, no disposition is touched. */
struct hf__sigpipe {
    bool was_blocked;
    bool was_pending;
};
HF_MODULE_API void hf__sigpipe_block(struct hf__sigpipe *);
HF_MODULE_API void hf__sigpipe_restore(const struct hf__sigpipe *);

/* What a library writes between these is no race to ThreadSanitizer: for one
 * that is known and can't be helped. */
#if defined(__SANITIZE_THREAD__)
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define HF_RACE_BEGIN() AnnotateIgnoreWritesBegin(__FILE__, __LINE__)
#define HF_RACE_END()   AnnotateIgnoreWritesEnd(__FILE__, __LINE__)
#else
#define HF_RACE_BEGIN() ((void)0)
#define HF_RACE_END()   ((void)0)
#endif

#endif
