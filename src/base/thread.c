/* SPDX-License-Identifier: MIT */
/*
 * Mutexes, threads and the signal mask. A thread of ours does not disturb the
 * application: it receives none of its signals, its stack is small, and its
 * name can be read in ps. Thread: any.
 */
#include "src/base/thread.h"

#include "src/base/time.h"
#include "src/base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sanitizers keep much data of their own on the stack. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

enum { STACK_SIZE = 256 * 1024 };
enum { ASKED_MAX = 4, ASKED_ROOM = 1024 * 1024, GONE_WITHIN_MS = 100 };

void hf__mutex_init(struct hf__mutex *m)
{
    HF_ASSERT(pthread_mutex_init(&m->native, NULL) == 0);
}

void hf__mutex_fini(struct hf__mutex *m)
{
    HF_ASSERT(pthread_mutex_destroy(&m->native) == 0);
}

void hf__mutex_lock(struct hf__mutex *m)
{
    HF_ASSERT(pthread_mutex_lock(&m->native) == 0);
}

void hf__mutex_unlock(struct hf__mutex *m)
{
    HF_ASSERT(pthread_mutex_unlock(&m->native) == 0);
}

struct hf__mutex *hf__mutex_hold(struct hf__mutex *m)
{
    hf__mutex_lock(m);
    return m;
}

void hf__mutex_unlock_auto(struct hf__mutex **m)
{
    hf__mutex_unlock(*m);
}

static void *run(void *arg)
{
    struct hf__thread *t = arg;

    /* The name only helps people; failing to set it is no error. */
    (void)pthread_setname_np(pthread_self(), t->name);
    t->fn(t->arg);
    return NULL;
}

static void set_stack(pthread_attr_t *attr)
{
    long least = PTHREAD_STACK_MIN;

    if (!HAS_SANITIZER) {
        /* If this fails, the system's default stays. */
        (void)pthread_attr_setstacksize(
            attr, least > STACK_SIZE ? (size_t)least : (size_t)STACK_SIZE);
    }
}

int hf__thread_start(struct hf__thread *t, const char *name, void (*fn)(void *),
                     void *arg)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t old;

    t->fn = fn;
    t->arg = arg;
    t->is_running = false;
    hf__utf8_copy(t->name, sizeof t->name, name);
    if (pthread_attr_init(&attr) != 0) {
        return HF_EUNAVAIL;
    }
    set_stack(&attr);
    /* A new thread inherits the mask, so it never runs without it. */
    sigfillset(&all);
    HF_ASSERT(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
    int failed = pthread_create(&t->native, &attr, run, t);
    HF_ASSERT(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
    pthread_attr_destroy(&attr);
    t->is_running = failed == 0;
    return failed == 0 ? HF_OK : HF_EUNAVAIL;
}

/* A thread that hf__threads_ask() starts. */
struct asked {
    pthread_t native;
    pid_t number;
    struct hf__mutex *gate;
};

static void *pass_gate(void *arg)
{
    struct asked *a = arg;

    a->number = gettid();
    hf__mutex_lock(a->gate);
    hf__mutex_unlock(a->gate);
    return NULL;
}

static bool start_asked(struct asked *a, struct hf__mutex *gate,
                        const pthread_attr_t *usual)
{
    a->gate = gate;
    return pthread_create(&a->native, usual, pass_gate, a) == 0;
}

/* Can a megabyte be mapped? If not, hardly any memory is left. */
static bool has_room(void)
{
    void *room =
        mmap(NULL, ASKED_ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return room != MAP_FAILED && munmap(room, ASKED_ROOM) == 0;
}

/* The kernel may still count a joined thread for a moment. */
static void await_gone(pid_t number, hf__time until)
{
    while (syscall(SYS_tgkill, getpid(), number, 0) == 0 &&
           hf__before(hf__now(), until)) {
        hf__thread_yield();
    }
}

int hf__threads_ask(int n)
{
    struct hf__mutex gate = HF__MUTEX_INIT;
    struct asked asked[ASKED_MAX];
    pthread_attr_t usual;
    int started = 0;

    HF_ASSERT(n <= ASKED_MAX);
    if (pthread_attr_init(&usual) != 0) {
        return HF_ENOMEM;
    }
    hf__mutex_lock(&gate); /* keeps all of them until the last has started */
    while (started < n && start_asked(&asked[started], &gate, &usual)) {
        started++;
    }
    bool is_had = started == n && has_room();
    hf__mutex_unlock(&gate);
    for (int i = 0; i < started; i++) {
        HF_ASSERT(pthread_join(asked[i].native, NULL) == 0);
    }
    hf__time until = hf__after_ms(hf__now(), GONE_WITHIN_MS);
    for (int i = 0; i < started; i++) {
        await_gone(asked[i].number, until);
    }
    pthread_attr_destroy(&usual);
    hf__mutex_fini(&gate);
    return is_had ? HF_OK : HF_ENOMEM;
}

void hf__thread_stop(struct hf__thread *t)
{
    if (t->is_running) {
        HF_ASSERT(pthread_join(t->native, NULL) == 0);
        t->is_running = false;
    }
}

unsigned hf__thread_id(void)
{
    return (unsigned)gettid();
}

void hf__thread_yield(void)
{
    (void)sched_yield();
}

void hf__thread_name(char *buf, size_t size)
{
    char name[16] = "";
    size_t at = 0;
    size_t n = 0;

    if (pthread_getname_np(pthread_self(), name, sizeof name) != 0) {
        name[0] = '\0';
    }
    /* The kernel cuts names at any byte: keep the whole characters. */
    size_t length = strlen(name);
    while ((n = hf__utf8_length(name + at, length - at)) > 0) {
        at += n;
    }
    name[at] = '\0';
    hf__utf8_copy(buf, size, name);
}

void hf__once_run(hf__once_flag *once, void (*fn)(void))
{
    HF_ASSERT(pthread_once(once, fn) == 0);
}

void hf__signals_block(struct hf__signals *s)
{
    sigset_t all;

    sigfillset(&all);
    HF_ASSERT(pthread_sigmask(SIG_SETMASK, &all, &s->before) == 0);
}

void hf__signals_restore(const struct hf__signals *s)
{
    HF_ASSERT(pthread_sigmask(SIG_SETMASK, &s->before, NULL) == 0);
}

static bool is_sigpipe_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

static void only_sigpipe(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGPIPE);
}

void hf__sigpipe_block(struct hf__sigpipe *s)
{
    sigset_t set;
    sigset_t old;

    /* A pending one is the application's, and stays pending. */
    s->was_pending = is_sigpipe_pending();
    only_sigpipe(&set);
    HF_ASSERT(pthread_sigmask(SIG_BLOCK, &set, &old) == 0);
    s->was_blocked = sigismember(&old, SIGPIPE) == 1;
}

void hf__sigpipe_restore(const struct hf__sigpipe *s)
{
    const struct timespec at_once = {0, 0};
    int saved = errno;
    sigset_t set;

    only_sigpipe(&set);
    if (!s->was_pending && is_sigpipe_pending()) {
        while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR) {
            /* Another signal's handler ran; SIGPIPE is still pending. */
        }
    }
    if (!s->was_blocked) {
        HF_ASSERT(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
    }
    errno = saved;
}
