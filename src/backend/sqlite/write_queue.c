/* SPDX-License-Identifier: MIT */
/*
 * The ticket dispenser. Whoever sees that the turn has not moved for a while
 * moves it, so no step depends on a process that may be dead. Called by the
 * thread that runs a session, around each write transaction.
 */
#include "src/backend/sqlite/write_queue.h"

#include "src/base/rand.h"
#include "src/base/wake.h"

#include <limits.h>
#include <stddef.h>

/* A queue longer than this is not one: a process died between two steps long
 * ago, or the memory was damaged. */
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

/* In one step, so that of two who do it neither sets it back. Gives whose turn
 * it is now. */
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

/* The turn of `ticket` is over: the next one's begins, unless somebody else
 * has already said so. If two say it at once one ticket more is passed over,
 * whose holder is called all the same. */
static void pass_on(struct hf__write_queue_at write_queue, unsigned ticket)
{
    unsigned serving = serving_of(write_queue);

    if (serving != ticket) {
        return;
    }
    serving = move_on(write_queue);
    /* Tickets that were given up are passed over; where the layout was cut off
     * it may look as if all were. */
    for (int i = 0;
         i < HF__WRITE_QUEUE_SLOTS &&
         hf__words_get(write_queue.words, abandoned_at(write_queue, serving)) ==
             serving + 1;
         i++) {
        serving = move_on(write_queue);
    }
    /* Also where nobody seems to wait: of two who came at the same time the
     * slower one may have set `next` back. */
    call(write_queue, serving);
    if (serving != ticket + 1) {
        call(write_queue, ticket + 1);
    }
}

/* The mark comes first: either who passes the turn on sees it, or we see
 * that the turn has come. */
static void give_up(struct hf__write_queue_at write_queue, unsigned ticket)
{
    hf__words_set(write_queue.words, abandoned_at(write_queue, ticket),
                  ticket + 1);
    pass_on(write_queue, ticket);
}

struct stance {
    unsigned ticket;
    unsigned serving; /* last seen */
    hf__time since;   /* when it was first seen so */
};

/* Move a turn that has stood still for too long: the one that was just seen to
 * be before ours, for by now ours may have come. True: go without a turn. */
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
            return HF_OK; /* ours; below zero: we were passed over */
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
        /* The jitter keeps all who wait from losing patience at once. */
        hf__futex_wait_shared(
            hf__words_name(write_queue.words, turn), seen,
            hf__earlier(deadline, hf__after_ms(stance.since,
                                               HF__WRITE_QUEUE_PATIENCE_MS +
                                                   hf__random_between(0, 5))));
    }
}

/* Behind the turn was left by one who was slow to write it. */
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
