/* SPDX-License-Identifier: MIT */
/*
 * Futexes, the waker and the alarm: how to sleep and how to wake, never why.
 *
 * The lowest bit of a parker's word says that somebody may sleep there; the
 * rest counts the wakes. A sleeper sets the bit and sleeps only as long as
 * the word is exactly what it saw with the bit set, which the kernel compares
 * under its own lock. A wake changes the count, clears the bit and, if it was
 * set, calls the kernel. So a wake that finds the bit clear has moved the
 * count before any sleeper could fall asleep on the old one: the kernel's
 * comparison fails and nobody is missed. Thread: any.
 */
#include "src/base/wake.h"

#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/list.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SLEEPER   1u
#define ONE_WAKE  2u
#define MAX_SLEEP (INT64_C(86400) * 1000 * HF__SECOND)
#define GONE_MS   10

/* A time as SYS_futex takes it, whatever the C library's time_t is. */
struct futex_time {
    long seconds;
    long ns;
};

/* CLOCK_MONOTONIC and CLOCK_BOOTTIME run alike while the machine is awake, and
 * through a suspend the futex sleeps on: callers look at hf__now() again after
 * each return. */
static struct futex_time monotonic_limit(int64_t left_ns)
{
    int64_t capped = left_ns < MAX_SLEEP ? left_ns : MAX_SLEEP;
    int64_t at = hf__monotonic_ns() + capped;

    return (struct futex_time){(long)(at / HF__SECOND),
                               (long)(at % HF__SECOND)};
}

/* False: there is no memory at the word's address. */
static bool futex_wait(atomic_uint *word, unsigned seen, hf__time limit,
                       int flags)
{
    int saved = errno;
    bool is_there;

    struct futex_time until = {0, 0};
    bool is_limited = !hf__is_never(limit);

    if (is_limited) {
        hf__time now = hf__now();
        if (!hf__before(now, limit)) {
            return true;
        }
        until = monotonic_limit(hf__between_ns(now, limit));
    }
    /* Only EFAULT matters: any other return may be spurious. */
    is_there = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | flags, seen,
                       is_limited ? &until : NULL, NULL,
                       FUTEX_BITSET_MATCH_ANY) >= 0 ||
               errno != EFAULT;
    errno = saved;
    return is_there;
}

static void futex_wake(atomic_uint *word, int count)
{
    int saved = errno;

    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL,
                  NULL, 0);
    errno = saved;
}

unsigned hf__parker_seen(const struct hf__parker *p)
{
    return atomic_load(&p->word) & ~SLEEPER;
}

void hf__park(struct hf__parker *p, unsigned seen, hf__time limit)
{
    unsigned word = seen;

    /* This fails only if the word is not `seen`: then either the bit is set
     * already, or there was a wake. */
    if (!atomic_compare_exchange_strong(&p->word, &word, seen | SLEEPER) &&
        word != (seen | SLEEPER)) {
        return;
    }
    (void)futex_wait(&p->word, seen | SLEEPER, limit, FUTEX_PRIVATE_FLAG);
}

void hf__run_steps(struct hf__parker *p, hf__step_fn step, void *arg)
{
    for (;;) {
        unsigned seen = hf__parker_seen(p); /* before the step looks */
        hf__time until = HF__NEVER;

        if (step(arg, &until)) {
            return;
        }
        /* Without a pause, parking would cost the next wake a system call. */
        if (until.ns != 0) {
            hf__park(p, seen, until);
        }
    }
}

void hf__sleep_until(hf__time limit)
{
    struct hf__parker nobody = {0};

    while (hf__before(hf__now(), limit)) {
        hf__park(&nobody, hf__parker_seen(&nobody), limit);
    }
}

/* Puts an item on its list. Gives the parker of the list; NULL if the item is
 * on the list already. The item may be freed as soon as it is on the list. */
static struct hf__parker *call_member(struct hf__parker *p)
{
    struct hf__ready_list *ready_list = p->ready_list;
    struct hf__ready_item *m = HF__ELEMENT(p, struct hf__ready_item, parker);
    struct hf__ready_item *head = NULL;

    if (atomic_exchange(&m->is_called, true)) {
        return NULL;
    }
    head = atomic_load(&ready_list->called);
    do {
        m->next = head;
    } while (!atomic_compare_exchange_weak(&ready_list->called, &head, m));
    return &ready_list->parker;
}

void hf__ready_list_join(struct hf__ready_list *ready_list,
                         struct hf__ready_item *m)
{
    m->parker.ready_list = ready_list;
    m->next = NULL;
    atomic_init(&m->is_called, true);
}

struct hf__ready_item *hf__ready_list_take(struct hf__ready_list *ready_list)
{
    struct hf__ready_item *last = NULL;
    struct hf__ready_item *m = NULL;

    if (atomic_load(&ready_list->called) != NULL) {
        last = atomic_exchange(&ready_list->called, NULL);
    }
    while (last != NULL) {
        struct hf__ready_item *before = last->next;

        last->next = m;
        m = last;
        last = before;
    }
    return m;
}

void hf__ready_item_answer(struct hf__ready_item *m)
{
    atomic_store(&m->is_called, false);
}

bool hf__ready_item_retire(struct hf__ready_item *m)
{
    return !atomic_exchange(&m->is_called, true);
}

atomic_uint *hf__unpark_begin(struct hf__parker *p)
{
    unsigned old = 0;

    if (p->ready_list != NULL) {
        p = call_member(p);
    }
    if (p == NULL) {
        return NULL;
    }
    old = atomic_load(&p->word);
    while (!atomic_compare_exchange_weak(&p->word, &old,
                                         (old & ~SLEEPER) + ONE_WAKE)) {
        /* old is what the word is now. */
    }
    return (old & SLEEPER) != 0 ? &p->word : NULL;
}

void hf__unpark_end(atomic_uint *word)
{
    /* A woken thread may have freed the word: the kernel takes the address only
     * as a name. */
    if (word != NULL) {
        futex_wake(word, INT_MAX);
    }
}

void hf__unpark(struct hf__parker *p)
{
    hf__unpark_end(hf__unpark_begin(p));
}

/* Called once for each operation of a caller, so it has only the memory order
 * of a lock: acquire here, release in disengage. */
bool hf__parker_engage(struct hf__parker *p)
{
    return !atomic_load_explicit(&p->is_engaged, memory_order_relaxed) &&
           !atomic_exchange_explicit(&p->is_engaged, true,
                                     memory_order_acquire);
}

void hf__parker_disengage(struct hf__parker *p)
{
    atomic_store_explicit(&p->is_engaged, false, memory_order_release);
}

bool hf__parker_is_engaged(const struct hf__parker *p)
{
    return atomic_load(&p->is_engaged);
}

void hf__futex_wait_shared(atomic_uint *word, unsigned seen, hf__time limit)
{
    if (!futex_wait(word, seen, limit, 0)) {
        hf__sleep_until(hf__earlier(limit, hf__after_ms(hf__now(), GONE_MS)));
    }
}

int hf__futex_add_shared(atomic_uint *word, int by, atomic_uint *sleepers,
                         int count)
{
    /* If the word was -2048, a thread that sleeps on it may wake for
     * nothing. */
    unsigned op = (unsigned)FUTEX_OP_ADD << 28 |
                  (unsigned)FUTEX_OP_CMP_EQ << 24 |
                  ((unsigned)by & 0xfffu) << 12 | 0x800u;
    int saved = errno;
    long n = syscall(SYS_futex, sleepers, FUTEX_WAKE_OP, count, NULL, word, op);

    errno = saved;
    return n > 0 ? (int)n : 0;
}

int hf__futex_ring_shared(atomic_uint *word, int count)
{
    return hf__futex_add_shared(word, 1, word, count);
}

static void ring(int fd)
{
    const uint64_t one = 1;
    int saved = errno;

    if (write(fd, &one, sizeof one) < 0) {
        /* The counter is full, so the sleeper wakes anyway. */
    }
    errno = saved;
}

static void drain(int fd)
{
    uint64_t count = 0;

    if (read(fd, &count, sizeof count) < 0) {
        /* This descriptor had nothing: the alarm's other one fired. */
    }
}

int hf__waker_init(struct hf__waker *w, hf_error *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0) {
        return hf__fail(err, HF_EUNAVAIL, "out of descriptors (ulimit -n)");
    }
    atomic_store(&w->fd, fd + 1);
    return hf__fd_register(fd) == HF_OK
               ? HF_OK
               : hf__fail(err, HF_ENOMEM, "out of memory for a session");
}

int hf__waker_fd(const struct hf__waker *w)
{
    return atomic_load(&w->fd) - 1;
}

void hf__waker_fini(struct hf__waker *w)
{
    hf__fd_close(hf__waker_fd(w));
    atomic_store(&w->fd, 0);
}

void hf__waker_wake(struct hf__waker *w)
{
    int fd = hf__waker_fd(w);

    if (fd >= 0) {
        ring(fd);
    }
}

void hf__waker_drain(struct hf__waker *w)
{
    drain(hf__waker_fd(w));
}

int hf__alarm_init(struct hf__alarm *a)
{
    a->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    a->poke_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (a->timer_fd < 0 || a->poke_fd < 0) {
        hf__alarm_fini(a);
        return HF_EUNAVAIL;
    }
    int r = hf__fd_register(a->timer_fd);
    if (r == HF_OK) {
        r = hf__fd_register(a->poke_fd);
    }
    if (r != HF_OK) {
        hf__alarm_fini(a);
    }
    return r;
}

void hf__alarm_fini(struct hf__alarm *a)
{
    hf__fd_close(a->timer_fd);
    hf__fd_close(a->poke_fd);
    a->timer_fd = -1;
    a->poke_fd = -1;
}

static void set_timer(int fd, hf__time limit)
{
    /* An all-zero time disarms the timer, which is right for "never"; a point
     * before the boot must fire at once, so it becomes 1 ns. */
    int64_t at = limit.ns > 0 ? limit.ns : 1;
    struct itimerspec t = {{0, 0}, {0, 0}};

    if (!hf__is_never(limit)) {
        t.it_value.tv_sec = (time_t)(at / HF__SECOND);
        t.it_value.tv_nsec = (long)(at % HF__SECOND);
    }
    HF_ASSERT(timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL) == 0);
}

void hf__alarm_sleep(struct hf__alarm *a, hf__time limit)
{
    struct pollfd fds[] = {
        {.fd = a->timer_fd, .events = POLLIN},
        {.fd = a->poke_fd, .events = POLLIN},
    };

    set_timer(a->timer_fd, limit);
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
        /* A signal is not a reason to return. */
    }
    drain(a->timer_fd);
    drain(a->poke_fd);
}

void hf__alarm_poke(struct hf__alarm *a)
{
    ring(a->poke_fd);
}
