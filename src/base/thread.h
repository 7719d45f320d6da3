/* SPDX-License-Identifier: MIT */
/*
 * Mutexes and threads; but for fork.c no other file of the library calls
 * pthread_ functions. A mutex that can't be locked is a bug, not an outcome, so
 * the calls return nothing.
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
    void (*fn)(void *); /* the new thread reads it: do not move the struct */
    void *arg;
    char name[16];
};

/*
 * Start fn(arg) in a thread with every signal blocked (they are the
 * application's), a small stack, and `name` (≤ 15 bytes) for ps. HF_OK, or
 * HF_EUNAVAIL when the system gives no thread.
 */
HF_MUST_CHECK int hf__thread_start(struct hf__thread *, const char *name,
                                   void (*fn)(void *), void *arg);
/*
 * Tests, for a client library that can't work without its threads, whether the
 * system gives n (≤ 4) threads with stacks of the usual size and a megabyte
 * besides. It starts them, and they have ended when it returns. HF_OK, or
 * HF_ENOMEM. It reserves nothing: others may take the memory a moment later.
 */
HF_MODULE_API HF_MUST_CHECK int hf__threads_ask(int n);
/* Join the thread; harmless if it was never started. */
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

/* Between the two calls all signals are blocked for this thread; threads that
 * it starts meanwhile keep them blocked. */
struct hf__signals {
    sigset_t before;
};
HF_MODULE_API void hf__signals_block(struct hf__signals *);
HF_MODULE_API void hf__signals_restore(const struct hf__signals *);

/* Between the two calls SIGPIPE is blocked for this thread, and one that arises
 * then is swallowed. The signal's disposition is not touched. */
struct hf__sigpipe {
    bool was_blocked;
    bool was_pending;
};
HF_MODULE_API void hf__sigpipe_block(struct hf__sigpipe *);
HF_MODULE_API void hf__sigpipe_restore(const struct hf__sigpipe *);

/* ThreadSanitizer ignores writes between these: for a known race in a client
 * library that can't be helped here. */
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
