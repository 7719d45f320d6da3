/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is. The threads are real ones; all but one sleep in the kernel
 * until they are handed the turn, so what is here needs no lock.
 *
 * The seed picks one of three manners: now and then another thread, very
 * often another one, or always the one of the highest rank, where ranks are
 * drawn and the one who runs loses its own at a few points. The last finds
 * what needs one thread to be held up for long.
 */
#include "tests/virtual/turns.h"

#include "tests/lib/test.h"
#include "tests/virtual/hosts.h"
#include "tests/virtual/system.h"

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The streak is how often somebody may go on who neither sleeps nor yields;
 * who waits for something outside has that many looks, of 10 ms, at most. */
enum { THREADS = 1024, RINGS = 64, STREAK = 2000, LOOKS = 1000 };
enum { LOOK_MS = 10, LOOK_NS = 1000 };
enum lock_mode { OFTEN, VERY_OFTEN, BY_RANK, MANNERS };

static struct hf__turns_thread threads[THREADS];
static int n_threads; /* all beyond are free */
static _Atomic(struct hf__turns_thread *) running;
static __thread struct hf__turns_thread *self;
static __thread volatile bool is_inside; /* a handler may come in between */
static _Atomic(const void *) rings[RINGS];
static atomic_bool is_any_rung;
static _Atomic int64_t elapsed;
static uint64_t generator;
static enum lock_mode lock_mode;
static unsigned streak;
static void (*watch)(void);

bool hf__virtual_is_on(void)
{
    hf__turns_look_for_fork();
    return self != NULL && atomic_load(&running) == self && !is_inside;
}

int64_t hf__virtual_now(void)
{
    return atomic_fetch_add(&elapsed, LOOK_NS);
}

uint64_t hf__virtual_random(void)
{
    return hf__test_random(&generator);
}

/* ---- the turn */

static void hand_to(struct hf__turns_thread *t)
{
    atomic_store(&running, t);
    atomic_store(&t->turn, 1);
    __real_syscall(SYS_futex, &t->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await_turn(struct hf__turns_thread *t)
{
    while (atomic_exchange(&t->turn, 0) == 0) {
        __real_syscall(SYS_futex, &t->turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL,
                       0);
    }
}

/* ---- who can run */

static int wake_at(const void *place, int count)
{
    int woken = 0;

    for (int i = 0; i < n_threads && woken < count; i++) {
        struct hf__turns_thread *t = &threads[i];

        if (t->state == ASLEEP && t->place == place && place != NULL) {
            t->state = READY;
            t->is_rung = true;
            woken++;
        }
    }
    return woken;
}

static void take_rings(void)
{
    if (!atomic_exchange(&is_any_rung, false)) {
        return;
    }
    for (int i = 0; i < RINGS; i++) {
        const void *place = atomic_exchange(&rings[i], NULL);

        if (place != NULL) {
            wake_at(place, INT_MAX);
        }
    }
}

/* It goes on when its host does, but for who holds a mutex. */
static int64_t stands_until(const struct hf__turns_thread *t)
{
    return t->locks > 0 ? 0 : hf__turns_stands_until(t->host);
}

static bool can_run(struct hf__turns_thread *t, int64_t now)
{
    if (now < stands_until(t)) {
        return false;
    }
    if (t->state != ASLEEP) {
        return t->state == READY;
    }
    if (t->is_due != NULL && t->is_due(t->data)) {
        t->is_rung = true;
        return true;
    }
    return t->deadline <= now;
}

/* Those who can run now. */
static int find_ready(struct hf__turns_thread *found[THREADS])
{
    int64_t now = atomic_load(&elapsed);
    int n = 0;

    take_rings();
    for (int i = 0; i < n_threads; i++) {
        if (can_run(&threads[i], now)) {
            found[n++] = &threads[i];
        }
    }
    return n;
}

/* All sleep: the clock goes on to the first deadline. Where there is none,
 * somebody outside has to do something. */
static void go_on(int *looks)
{
    int64_t earliest = HF__VIRTUAL_NEVER;
    bool can_wait = false;

    for (int i = 0; i < n_threads; i++) {
        struct hf__turns_thread *t = &threads[i];
        int64_t at = stands_until(t);

        if (t->state == ASLEEP) {
            at = t->deadline > at ? t->deadline : at;
            can_wait |= t->is_due != NULL;
        }
        if (t->state == ASLEEP || t->state == READY) {
            earliest = at < earliest ? at : earliest;
        }
    }
    if (earliest != HF__VIRTUAL_NEVER) {
        if (earliest > atomic_load(&elapsed)) {
            atomic_store(&elapsed, earliest);
        }
    } else if (can_wait && (*looks)++ < LOOKS) {
        (void)__real_poll(NULL, 0, LOOK_MS);
    } else {
        hf__turns_tell_deadlock();
    }
}

static struct hf__turns_thread *highest(struct hf__turns_thread **found, int n)
{
    struct hf__turns_thread *best = found[0];

    for (int i = 1; i < n; i++) {
        best = found[i]->rank > best->rank ? found[i] : best;
    }
    return best;
}

static struct hf__turns_thread *pick(void)
{
    static struct hf__turns_thread *found[THREADS];
    int looks = 0;
    int n;

    while ((n = find_ready(found)) == 0) {
        go_on(&looks);
    }
    return lock_mode == BY_RANK ? highest(found, n)
                                : found[hf__virtual_random() % (unsigned)n];
}

static void look(void)
{
    if (watch != NULL) {
        watch();
    }
}

/* The next one's turn; returns when it is the caller's again. */
static void give_turn(void)
{
    look();
    struct hf__turns_thread *next = pick();

    if (next != self) {
        streak = 0;
        hand_to(next);
        await_turn(self);
    }
    look();
    self->state = READY;
    self->place = NULL;
    self->is_due = NULL;
}

/* ---- what the calls are made of */

/* A turn lasts eight or two calls on average; by rank it lasts, but for one
 * call in 64 that costs its thread the rank. */
static bool is_time_to_pass(void)
{
    static const unsigned calls[] = {
        [OFTEN] = 8, [VERY_OFTEN] = 2, [BY_RANK] = 64};

    return hf__virtual_random() % calls[lock_mode] == 0;
}

void hf__virtual_pass(bool must_pass)
{
    is_inside = true;
    must_pass |= ++streak % STREAK == 0;
    if (must_pass || is_time_to_pass()) {
        /* Below all that were drawn, and below who lost its own before. */
        static uint64_t lowest = UINT64_MAX / 2;

        self->rank = lowest--;
        give_turn();
    } else if (lock_mode == BY_RANK) {
        give_turn();
    }
    is_inside = false;
}

static bool sleep_as(int64_t deadline)
{
    self->deadline = deadline;
    self->is_rung = false;
    self->state = ASLEEP;
    give_turn();
    is_inside = false;
    return self->is_rung;
}

bool hf__virtual_sleep(const void *place, int64_t deadline)
{
    is_inside = true;
    self->place = place;
    return sleep_as(deadline);
}

bool hf__virtual_await(bool (*is_due)(void *), void *data, int64_t deadline)
{
    is_inside = true;
    self->is_due = is_due;
    self->data = data;
    return sleep_as(deadline);
}

static void ring_later(const void *place)
{
    for (int i = 0;; i = (i + 1) % RINGS) {
        const void *none = NULL;

        if (atomic_load(&rings[i]) == place ||
            atomic_compare_exchange_strong(&rings[i], &none, place)) {
            atomic_store(&is_any_rung, true);
            return;
        }
    }
}

int hf__virtual_ring(const void *place, int count)
{
    if (!hf__virtual_is_on()) {
        ring_later(place);
        return 0;
    }
    is_inside = true;
    int woken = wake_at(place, count);
    is_inside = false;
    return woken;
}

/* ---- threads begin and end */

struct hf__turns_thread *hf__turns_add(void)
{
    int i = 0;

    while (i < n_threads && threads[i].state != FREE) {
        i++;
    }
    if (i == THREADS) {
        return NULL;
    }
    n_threads = i == n_threads ? i + 1 : n_threads;
    threads[i] = (struct hf__turns_thread){.state = READY};
    if (self != NULL) {
        threads[i].host = self->host;
        threads[i].clocks = self->clocks;
    }
    threads[i].rank = UINT64_MAX / 2 + hf__virtual_random() / 2;
    return &threads[i];
}

void hf__turns_begin(struct hf__turns_thread *t)
{
    self = t;
    await_turn(t);
}

void hf__turns_end(struct hf__turns_thread *t)
{
    is_inside = true;
    t->state = ENDED;
    wake_at(t, INT_MAX);
    hand_to(pick());
}

void hf__turns_forget_others(void)
{
    for (int i = 0; i < n_threads; i++) {
        if (&threads[i] != self) {
            threads[i].state = FREE;
        }
    }
}

int64_t hf__virtual_elapsed(void)
{
    return atomic_load(&elapsed);
}

struct hf__turns_thread *hf__turns_at(int i)
{
    return i < n_threads ? &threads[i] : NULL;
}

struct hf__turns_thread *hf__turns_self(void)
{
    return self;
}

void hf__virtual_watch(void (*look_on)(void))
{
    watch = look_on;
}

void hf__virtual_start(uint64_t seed)
{
    generator = seed;
    lock_mode = (enum lock_mode)(seed % MANNERS);
    self = hf__turns_add();
    if (self == NULL) {
        abort(); /* it is the first */
    }
    self->native = pthread_self();
    atomic_store(&running, self);
    hf__virtual_start_clocks();
}
