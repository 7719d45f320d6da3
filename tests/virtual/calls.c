/* SPDX-License-Identifier: MIT */
/*
 * The calls of the system in virtual time, each as its manual page says; the
 * linker puts them in the place of the system's own (--wrap). A thread that
 * takes no turns, and a process that has not started virtual time, get the
 * system's own.
 */
#include "tests/virtual/hosts.h"
#include "tests/virtual/system.h"
#include "tests/virtual/turns.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define MS     INT64_C(1000000)

enum { CLOCKS = HF__VIRTUAL_CLOCKS, TIMERS = 256, ARGUMENTS = 6 };

/* What the three clocks showed at the start. */
static const clockid_t clocks[CLOCKS] = {
    [HF__VIRTUAL_WALL] = CLOCK_REALTIME,
    [HF__VIRTUAL_MONOTONIC] = CLOCK_MONOTONIC,
    [HF__VIRTUAL_BOOTTIME] = CLOCK_BOOTTIME};
static int64_t started_at[CLOCKS];
static atomic_bool is_started;
/* A timer's descriptor, plus 1, and when it goes off, since the start. */
static struct timer {
    int fd;
    int64_t at;
} timers[TIMERS];

/* ---- clocks */

static int64_t in_ns(const struct timespec *t)
{
    const int64_t most = INT64_MAX / SECOND / 2;
    int64_t seconds = t->tv_sec;

    return (seconds < most ? seconds : most) * SECOND + t->tv_nsec;
}

/* Which of the three; −1: a clock that goes on as it does. */
static int place_of(clockid_t clock)
{
    for (int i = 0; i < CLOCKS; i++) {
        if (clocks[i] == clock) {
            return i;
        }
    }
    return -1;
}

void hf__virtual_start_clocks(void)
{
    for (int i = 0; i < CLOCKS; i++) {
        struct timespec t = {0, 0};

        __real_clock_gettime(clocks[i], &t);
        /* Who rounds what they show does so alike in every run of a seed. */
        started_at[i] = in_ns(&t) / SECOND * SECOND;
    }
    atomic_store(&is_started, true);
}

/* A handler may ask in a thread that takes no turns. */
static int seen_clocks(void)
{
    return hf__turns_self() == NULL ? 0 : hf__turns_self()->clocks;
}

static int64_t true_time(int place, const struct timespec *t)
{
    return hf__virtual_true(seen_clocks(), (enum hf__virtual_clock)place,
                            in_ns(t) - started_at[place]);
}

int64_t hf__virtual_boottime(int host)
{
    return started_at[HF__VIRTUAL_BOOTTIME] +
           hf__virtual_shown(host, HF__VIRTUAL_BOOTTIME, hf__virtual_elapsed());
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int place = place_of(clock);

    if (!atomic_load(&is_started) || place < 0) {
        return __real_clock_gettime(clock, t);
    }
    if (hf__virtual_is_on()) {
        hf__virtual_pass(false);
    }
    int64_t now =
        started_at[place] + hf__virtual_shown(seen_clocks(),
                                              (enum hf__virtual_clock)place,
                                              hf__virtual_now());
    if (hf__virtual_is_on() && hf__virtual_random() % 4 == 0) {
        hf__virtual_pass(false); /* what was read is old when it is used */
    }
    t->tv_sec = (time_t)(now / SECOND);
    t->tv_nsec = (long)(now % SECOND);
    return 0;
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
                           struct timespec *left)
{
    int place = place_of(clock);

    if (!hf__virtual_is_on() || place < 0) {
        return __real_clock_nanosleep(clock, flags, t, left);
    }
    int64_t until = (flags & TIMER_ABSTIME) ? true_time(place, t)
                                            : hf__virtual_now() + in_ns(t);
    hf__virtual_sleep(NULL, until);
    return 0;
}

/* ---- descriptors */

static bool is_alone;
static atomic_uint changes; /* writes, and timers that were set */

void hf__virtual_be_alone(void)
{
    is_alone = true;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    atomic_fetch_add(&changes, 1);
    return __real_write(fd, bytes, n);
}

/* Of that descriptor plus 1; of 0: one that is free. NULL: there is none. */
static struct timer *find_timer(int key)
{
    for (struct timer *t = timers; t < timers + TIMERS; t++) {
        if (t->fd == key) {
            return t;
        }
    }
    return NULL;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *t,
                           struct itimerspec *old)
{
    if (!hf__virtual_is_on()) {
        return __real_timerfd_settime(fd, flags, t, old);
    }
    int64_t at = in_ns(&t->it_value);
    struct timer *timer = find_timer(fd + 1);
    timer = timer != NULL ? timer : find_timer(0);
    if (timer == NULL) {
        errno = ENOMEM;
        return -1;
    }
    atomic_fetch_add(&changes, 1);
    timer->fd = fd + 1;
    timer->at = at == 0 ? HF__VIRTUAL_NEVER
                : (flags & TFD_TIMER_ABSTIME)
                    ? true_time(HF__VIRTUAL_BOOTTIME, &t->it_value)
                    : hf__virtual_now() + at;
    return 0;
}

/* When the descriptor goes off; never if it is no timer. */
static int64_t timer_of(int fd)
{
    const struct timer *timer = fd < 0 ? NULL : find_timer(fd + 1);

    return timer != NULL ? timer->at : HF__VIRTUAL_NEVER;
}

int __wrap_close(int fd)
{
    struct timer *timer =
        hf__virtual_is_on() && fd >= 0 ? find_timer(fd + 1) : NULL;

    if (timer != NULL) {
        timer->fd = 0;
    }
    return __real_close(fd);
}

struct polled {
    struct pollfd *fds;
    nfds_t n;
    int found;
    unsigned seen;  /* changes, when it was looked at last */
    int64_t timers; /* the first goes off then */
};

/* The timers of virtual time never go off by themselves. */
static bool look_at(void *data)
{
    struct polled *p = data;
    int64_t now = hf__virtual_now();
    unsigned seen = atomic_load(&changes);

    if (is_alone && p->found == 0 && p->seen == seen && now < p->timers) {
        return false;
    }
    p->seen = seen;
    p->timers = HF__VIRTUAL_NEVER;
    p->found = __real_poll(p->fds, p->n, 0);
    for (nfds_t i = 0; p->found >= 0 && i < p->n; i++) {
        struct pollfd *f = &p->fds[i];
        int64_t at = (f->events & POLLIN) ? timer_of(f->fd) : HF__VIRTUAL_NEVER;

        p->timers = at < p->timers ? at : p->timers;
        if (at <= now) {
            p->found += f->revents == 0;
            f->revents |= POLLIN;
        }
    }
    return p->found != 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    struct polled p = {fds, n, 0, 0, INT64_MIN};

    if (!hf__virtual_is_on()) {
        return __real_poll(fds, n, timeout);
    }
    hf__virtual_pass(false);
    if (look_at(&p) || timeout == 0) {
        return p.found;
    }
    int64_t until =
        timeout < 0 ? HF__VIRTUAL_NEVER : hf__virtual_now() + timeout * MS;
    hf__virtual_await(look_at, &p, p.timers < until ? p.timers : until);
    p.timers = INT64_MIN; /* to be looked at in any case */
    (void)look_at(&p);
    return p.found;
}

ssize_t __wrap_getrandom(void *to, size_t size, unsigned flags)
{
    if (!hf__virtual_is_on()) {
        return __real_getrandom(to, size, flags);
    }
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)to)[i] = (unsigned char)hf__virtual_random();
    }
    return (ssize_t)size;
}

/* ---- futexes */

static long fail(int number)
{
    errno = number;
    return -1;
}

static long wait_at(atomic_uint *word, unsigned seen,
                    const struct timespec *until)
{
    if (atomic_load(word) != seen) {
        return fail(EAGAIN);
    }
    int64_t at = until == NULL ? HF__VIRTUAL_NEVER
                               : true_time(HF__VIRTUAL_MONOTONIC, until);
    return hf__virtual_sleep(word, at) ? 0 : fail(ETIMEDOUT);
}

/* As base does it: to add to the one word and to wake at the other. Nobody
 * sleeps at the first who does not at the second. */
static long add_and_wake(atomic_uint *word, atomic_uint *sleepers, int count,
                         unsigned op)
{
    int by = (int)(op << 8) >> 20; /* twelve bits with a sign */

    if (op >> 28 != FUTEX_OP_ADD) {
        return fail(ENOSYS);
    }
    atomic_fetch_add(word, (unsigned)by);
    return hf__virtual_ring(sleepers, count);
}

static long futex(const long a[ARGUMENTS])
{
    atomic_uint *word = (atomic_uint *)a[0]; /* NOLINT */
    long woken;

    switch ((int)a[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT_BITSET:
        return wait_at(word, (unsigned)a[2],
                       (const struct timespec *)a[3]); /* NOLINT */
    case FUTEX_WAKE:
        woken = hf__virtual_ring(word, (int)a[2]);
        break;
    case FUTEX_WAKE_OP:
        woken = add_and_wake((atomic_uint *)a[4], word, (int)a[2], /* NOLINT */
                             (unsigned)a[5]);
        break;
    default:
        return fail(ENOSYS);
    }
    if (hf__virtual_is_on()) {
        hf__virtual_pass(false);
    }
    return woken;
}

/* As the system's it takes six, whatever was given: what was not is handed on
 * and looked at by nobody. */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
    long a[ARGUMENTS];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < ARGUMENTS; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    /* A handler's wake comes from a thread whose turn it may not be. */
    if (number == SYS_futex && atomic_load(&is_started) &&
        (hf__virtual_is_on() ||
         ((int)a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET)) {
        return futex(a);
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- threads */

int hf__virtual_pthread_create(pthread_t *native, const pthread_attr_t *attr,
                               void *(*run)(void *), void *arg)
{
    return hf__virtual_is_on() ? hf__virtual_create(native, attr, run, arg)
                               : __real_pthread_create(native, attr, run, arg);
}

__attribute__((weak)) int __wrap_pthread_create(pthread_t *native,
                                                const pthread_attr_t *attr,
                                                void *(*run)(void *), void *arg)
{
    return hf__virtual_pthread_create(native, attr, run, arg);
}

int __wrap_pthread_join(pthread_t native, void **result)
{
    return hf__virtual_is_on() ? hf__virtual_join(native, result)
                               : __real_pthread_join(native, result);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    int r;

    if (!hf__virtual_is_on()) {
        return __real_pthread_mutex_lock(m);
    }
    hf__virtual_pass(false);
    while ((r = pthread_mutex_trylock(m)) == EBUSY) {
        hf__virtual_sleep(m, HF__VIRTUAL_NEVER);
    }
    hf__turns_self()->locks += r == 0;
    return r;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    int r = __real_pthread_mutex_unlock(m);

    if (hf__virtual_is_on()) {
        hf__turns_self()->locks -= r == 0;
        hf__virtual_ring(m, INT_MAX);
        hf__virtual_pass(false);
    }
    return r;
}

pid_t __wrap_fork(void)
{
    return hf__virtual_is_on() ? hf__virtual_fork() : __real_fork();
}
