/* SPDX-License-Identifier: MIT */
/*
 * The ticket dispenser. A writer that sees that the turn has not moved for a
 * while moves it, so no step depends on a process that may be dead. Called by
 * the thread that runs a session, around each write transaction.
 */
#include "src/backend/sqlite/write_queue.h"

#include "src/base/rand.h"
#include "src/base/wake.h"

#include <limits.h>
#include <stddef.h>

/* A longer queue is not real: a process died between two steps long ago, or the
 * memory was damaged. */
#define PLAUSIBLE_QUEUE 4096

static size_t next_at(struct hf__write_queue_at write_queue)
{
    return write_queue.at + offsetof(struct hf__write_queue, next);
}

static size_t serving_at(struct hf__write_queue_at write_queue)
{
    return write_queue.at + offsetof(struct hf__write_queue, serving);
}

static size_t turn_at(struct hf__write_queue_at write_queue, unsigned ticket)
{
    return write_queue.at + offsetof(struct hf__write_queue, turn) +
           ticket % HF__WRITE_QUEUE_SLOTS * sizeof(atomic_uint);
}

static size_t abandoned_at(struct hf__write_queue_at write_queue,
                           unsigned ticket)
{
    return write_queue.at + offsetof(struct hf__write_queue, abandoned) +
           ticket % HF__WRITE_QUEUE_SLOTS * sizeof(atomic_uint);
}

static unsigned serving_of(struct hf__write_queue_at write_queue)
{
    return hf__words_get(write_queue.words, serving_at(write_queue));
}

/* Move in one step, so that of two writers that do it neither moves the turn
 * back. Gives the ticket whose turn it is now. */
static unsigned move_on(struct hf__write_queue_at write_queue)
{
    hf__words_add(write_queue.words, serving_at(write_queue), 1,
                  next_at(write_queue));
    return serving_of(write_queue);
}

static void call(struct hf__write_queue_at write_queue, unsigned ticket)
{
    (void)hf__words_ring(write_queue.words, turn_at(write_queue, ticket),
                         INT_MAX);
}

/* End the turn of `ticket` and begin the next one, unless another writer has
 * already done so. If two do it at once, one more ticket is passed over; its
 * writer is woken too. */
static void pass_on(struct hf__write_queue_at write_queue, unsigned ticket)
{
    unsigned serving = serving_of(write_queue);

    if (serving != ticket) {
        return;
    }
    serving = move_on(write_queue);
    /* Pass over tickets that were given up. The loop is bounded, as all may
     * look given up where the layout was truncated. */
    for (int i = 0;
         i < HF__WRITE_QUEUE_SLOTS &&
         hf__words_get(write_queue.words, abandoned_at(write_queue, serving)) ==
             serving + 1;
         i++) {
        serving = move_on(write_queue);
    }
    /* Wake also if nobody seems to wait: of two writers that came at the same
     * time, the slower one may have set `next` back. */
    call(write_queue, serving);
    if (serving != ticket + 1) {
        call(write_queue, ticket + 1);
    }
}

/* The mark is set first: either the writer that passes the turn on sees it, or
 * we see that our turn has come. */
static void give_up(struct hf__write_queue_at write_queue, unsigned ticket)
{
    hf__words_set(write_queue.words, abandoned_at(write_queue, ticket),
                  ticket + 1);
    pass_on(write_queue, ticket);
}

struct stance {
    unsigned ticket;
    unsigned serving; /* the last ticket seen in its turn */
    hf__time since;   /* when that was first seen */
};

/* Pass on a turn that has stood still for too long. It must be the turn that
 * was seen before ours, for ours may have come by now. True: go on without a
 * turn. */
static bool lose_patience(struct hf__write_queue_at write_queue,
                          struct stance *stance, unsigned serving, hf__time now)
{
    if (stance->ticket - serving > PLAUSIBLE_QUEUE) {
        hf__words_set(write_queue.words, serving_at(write_queue),
                      stance->ticket + 1);
        return true;
    }
    if (serving != stance->serving) {
        stance->serving = serving;
        stance->since = now;
    } else if (hf__between_ns(stance->since, now) >=
               HF__WRITE_QUEUE_PATIENCE_MS * HF__MS) {
        pass_on(write_queue, serving);
        stance->since = now;
    }
    return false;
}

static int wait_turn(struct hf__write_queue_at write_queue,
                     struct hf__head *head, hf__time deadline, unsigned ticket)
{
    size_t turn = turn_at(write_queue, ticket);
    struct stance stance = {ticket, ticket - 1, hf__now()};
    hf__time limit = hf__after_ms(stance.since, HF__WRITE_QUEUE_LIMIT_MS);

    for (;;) {
        unsigned seen = hf__words_get(write_queue.words, turn);
        unsigned serving = serving_of(write_queue);
        hf__time now = hf__now();

        if ((int)(ticket - serving) <= 0) {
            return HF_OK; /* our turn; or, below zero, we were passed over */
        }
        if (hf__is_interrupted(head) || !hf__before(now, deadline)) {
            give_up(write_queue, ticket);
            return HF_EUNAVAIL;
        }
        if (!hf__before(now, limit) ||
            lose_patience(write_queue, &stance, serving, now)) {
            give_up(write_queue, ticket);
            return HF_OK;
        }
        /* The jitter keeps the waiters from losing patience all at once. */
        hf__futex_wait_shared(
            hf__words_name(write_queue.words, turn), seen,
            hf__earlier(deadline, hf__after_ms(stance.since,
                                               HF__WRITE_QUEUE_PATIENCE_MS +
                                                   hf__random_between(0, 5))));
    }
}

/* A turn that is ahead of `next` was left by a writer that was slow to write
 * `next`. */
bool hf__write_queue_is_empty(const struct hf__write_queue_front *front)
{
    return (int)(front->next - front->serving) <= 0;
}

int hf__write_queue_enter(struct hf__write_queue_at write_queue,
                          struct hf__head *head, hf__time deadline,
                          unsigned *ret_ticket)
{
    struct hf__write_queue_front seen;

    hf__words_read(write_queue.words, next_at(write_queue), &seen, sizeof seen);
    *ret_ticket = hf__write_queue_is_empty(&seen) ? seen.serving : seen.next;
    hf__words_set(write_queue.words, next_at(write_queue), *ret_ticket + 1);
    return *ret_ticket == seen.serving
               ? HF_OK
               : wait_turn(write_queue, head, deadline, *ret_ticket);
}

void hf__write_queue_leave(struct hf__write_queue_at write_queue,
                           unsigned ticket)
{
    pass_on(write_queue, ticket);
}
