/* SPDX-License-Identifier: MIT */
/*
 * Writers in the order in which they came: which one tries for SQLite's write
 * lock next. It only keeps the order. SQLite's own lock decides, so a mistake
 * here costs time and never a lock. That is why it can be simple: a ticket
 * dispenser in shared words, read and written without a lock, so that two
 * writers that come at the very same time may get the same ticket. A process
 * that was killed or stopped with a ticket is passed over after
 * HF__WRITE_QUEUE_PATIENCE_MS, and no writer waits longer than
 * HF__WRITE_QUEUE_LIMIT_MS before it tries out of turn. (A robust
 * priority-inheriting mutex would do this in the kernel, but it names its owner
 * by a thread id, and the C library aborts the process if that id means
 * nothing, as between two containers.) Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_WRITE_QUEUE_H
#define HF_BACKEND_SQLITE_WRITE_QUEUE_H

#include "src/backend/backend.h"
#include "src/base/words.h"

#define HF__WRITE_QUEUE_SLOTS       64
#define HF__WRITE_QUEUE_PATIENCE_MS 40
#define HF__WRITE_QUEUE_LIMIT_MS    250

/* In shared words; all zero is an empty write queue. */
struct hf__write_queue {
    /* Indexed by ticket modulo HF__WRITE_QUEUE_SLOTS: */
    _Alignas(8) atomic_uint turn[HF__WRITE_QUEUE_SLOTS]; /* rises at its turn */
    atomic_uint
        abandoned[HF__WRITE_QUEUE_SLOTS]; /* a ticket that was given up, + 1 */
    /* Read together, see hf__write_queue_front. */
    _Alignas(8) atomic_uint next; /* the ticket for the next writer */
    atomic_uint serving;          /* the ticket whose turn it is */
};

/* Both ends of a write queue, as read at one moment. */
struct hf__write_queue_front {
    unsigned next;
    unsigned serving;
};

/* Where a write queue is in the shared words. */
struct hf__write_queue_at {
    const struct hf__words *words;
    size_t at;
};

/* Is the queue empty? Then a writer may try for the write lock at once, and
 * queue for a turn only if that fails: it overtakes a waiting writer by that
 * one try at most. */
bool hf__write_queue_is_empty(const struct hf__write_queue_front *);

/* Wait for a turn. HF_OK: go on, then call leave() with the ticket.
 * HF_EUNAVAIL: the deadline passed or the call was interrupted; there is no
 * ticket. */
HF_MUST_CHECK int hf__write_queue_enter(struct hf__write_queue_at write_queue,
                                        struct hf__head *head,
                                        hf__time deadline,
                                        unsigned *ret_ticket);
/* Pass the turn on; harmless if somebody else has done so already. */
void hf__write_queue_leave(struct hf__write_queue_at write_queue,
                           unsigned ticket);

#endif
