/* SPDX-License-Identifier: MIT */
/*
 * Posting events and calling their callbacks. This file ensures that each
 * event's callback runs once, on the thread that dispatches, and that the
 * descriptor shows when there are events. Events may be posted by any thread,
 * under any lock of ours: the event queue's comes last in the lock order.
 */
#include "src/core/event_queue.h"

#include "src/base/fork.h"

#include <sys/eventfd.h>
#include <unistd.h>

/* A thread that dispatches; the struct is on its stack. The event may be freed
 * meanwhile and another be created at its address, so the serial number
 * identifies it. */
struct teller {
    struct hf__link link;
    uint64_t serial; /* 0: not in a callback */
    unsigned thread;
};

void hf__event_queue_init(struct hf__event_queue *b)
{
    hf__mutex_init(&b->mutex);
    hf__list_init(&b->list);
    hf__list_init(&b->tellers);
    b->fd = -1;
}

void hf__event_queue_fini(struct hf__event_queue *b)
{
    hf__fd_close(b->fd);
    hf__mutex_fini(&b->mutex);
}

/* ---- the descriptor; under the mutex */

static void show(const struct hf__event_queue *b)
{
    const uint64_t one = 1;

    if (b->fd >= 0 && write(b->fd, &one, sizeof one) < 0) {
        /* Its counter is full, so it is readable already. */
    }
}

static void unshow(const struct hf__event_queue *b)
{
    uint64_t count = 0;

    if (b->fd >= 0 && read(b->fd, &count, sizeof count) < 0) {
        /* The application has read it, so it is no longer readable already. */
    }
}

static void take_off(struct hf__event_queue *b, struct hf__event *n)
{
    hf__list_remove(&n->link);
    if (--b->count == 0) {
        unshow(b);
    }
}

int hf__event_queue_fd(struct hf__event_queue *b)
{
    HF_SCOPED_LOCK(&b->mutex);
    int fd = b->fd;
    int r = HF_OK;

    if (fd >= 0) {
        return fd;
    }
    fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
        return HF_EUNAVAIL;
    }
    r = hf__fd_register(fd);
    if (r != HF_OK) {
        close(fd);
        return r;
    }
    b->fd = fd;
    if (b->count > 0) {
        show(b);
    }
    return fd;
}

/* ---- posting */

void hf__event_queue_post(struct hf__event_queue *b, struct hf__event *n)
{
    HF_SCOPED_LOCK(&b->mutex);

    if (b->is_closed || !hf__list_is_empty(&n->link)) {
        return;
    }
    if (n->serial == 0) {
        n->serial = ++b->last_serial;
    }
    hf__list_push(&b->list, &n->link);
    if (b->count++ == 0) {
        show(b);
    }
}

/* Under the mutex. A callback may itself release the lock that it is about. */
static bool is_told_elsewhere(const struct hf__event_queue *b, uint64_t serial,
                              unsigned self)
{
    HF__LIST_EACH (link, &b->tellers) {
        const struct teller *t = HF__ELEMENT(link, struct teller, link);

        if (t->serial == serial && t->thread != self) {
            return true;
        }
    }
    return false;
}

bool hf__event_queue_retract(struct hf__event_queue *b, struct hf__event *n)
{
    uint64_t serial = 0;
    unsigned self = 0;

    hf__mutex_lock(&b->mutex);
    serial = n->serial;
    if (!hf__list_is_empty(&n->link)) {
        take_off(b, n);
        hf__mutex_unlock(&b->mutex);
        return true;
    }
    self = serial == 0 || hf__list_is_empty(&b->tellers) ? 0 : hf__thread_id();
    while (self != 0 && is_told_elsewhere(b, serial, self)) {
        unsigned seen = hf__parker_seen(&b->told);

        hf__mutex_unlock(&b->mutex);
        hf__park(&b->told, seen, HF__NEVER);
        hf__mutex_lock(&b->mutex);
    }
    hf__mutex_unlock(&b->mutex);
    return false;
}

/* ---- dispatching */

/* Not inlined, so that compilers do not warn of a pointer to the stack: the
 * teller leaves the list before tell() returns. */
__attribute__((noinline)) static void begin_telling(struct hf__event_queue *b,
                                                    struct teller *t)
{
    t->thread = hf__thread_id();
    t->serial = 0;
    hf__list_push(&b->tellers, &t->link);
}

/* Called and returns with the mutex held. */
static void tell_one(struct hf__event_queue *b, struct teller *t,
                     struct hf__event *event)
{
    take_off(b, event);
    t->serial = event->serial;
    hf__mutex_unlock(&b->mutex);
    event->tell(event);
    hf__mutex_lock(&b->mutex);
    t->serial = 0;
    hf__unpark(&b->told);
}

/* Dispatch up to `most` events. Called and returns with the mutex held. */
static int tell(struct hf__event_queue *b, int most)
{
    struct teller t;
    int n = 0;

    begin_telling(b, &t);
    while (n < most && !hf__list_is_empty(&b->list)) {
        tell_one(b, &t, HF__ELEMENT(b->list.next, struct hf__event, link));
        n++;
    }
    hf__list_remove(&t.link);
    return n;
}

int hf__event_queue_dispatch(struct hf__event_queue *b)
{
    HF_SCOPED_LOCK(&b->mutex);
    return b->count == 0 ? 0 : tell(b, b->count);
}

void hf__event_queue_close(struct hf__event_queue *b)
{
    HF_SCOPED_LOCK(&b->mutex);
    b->is_closed = true;
}

bool hf__event_queue_is_closed(struct hf__event_queue *b)
{
    HF_SCOPED_LOCK(&b->mutex);
    return b->is_closed;
}
