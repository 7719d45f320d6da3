/* SPDX-License-Identifier: MIT */
/*
 * Writers in the order in which they came: which one tries for SQLite's write
 * lock next. It only keeps the order; SQLite's own lock is the truth, so a
 * mistake here costs time and never a lock. That is why it can be simple: a
 * ticket dispenser in shared words, read and written without a lock, so that
 * two writers that come at the very same time may get the same ticket. A
 * process that was killed or stopped with a ticket is passed over after
 * HF__WRITE_QUEUE_PATIENCE_MS, and nobody waits longer than
 * HF__WRITE_QUEUE_LIMIT_MS before it tries without its turn. (A robust
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

/* In shared words; all zero is a write queue that nobody stands at. */
struct hf__write_queue {
    /* By ticket modulo HF__WRITE_QUEUE_SLOTS: */
    _Alignas(8)
        atomic_uint turn[HF__WRITE_QUEUE_SLOTS]; /* bumped when it comes */
    atomic_uint
        abandoned[HF__WRITE_QUEUE_SLOTS]; /* ticket + 1 that was given up */
    /* Seen together, see hf__write_queue_front. */
    _Alignas(8) atomic_uint next; /* the ticket for the next who comes */
    atomic_uint serving;          /* the ticket whose turn it is */
};

/* The end of a write queue, as once seen. */
struct hf__write_queue_front {
    unsigned next;
    unsigned serving;
};

/* Where one is. */
struct hf__write_queue_at {
    const struct hf__words *words;
    size_t at;
};

/* Does nobody queue? Then a turn may be done without: who tries for the write
 * lock at once, and comes in for a turn if it is not to be had, passes nobody
 * who waits by more than that one try. */
bool hf__write_queue_is_empty(const struct hf__write_queue_front *);

/* Wait for a turn. HF_OK: go on, and leave() with the ticket. HF_EUNAVAIL:
 * the deadline passed or the call was interrupted; there is no ticket. */
HF_MUST_CHECK int hf__write_queue_enter(struct hf__write_queue_at write_queue,
                                        struct hf__head *head,
                                        hf__time deadline,
                                        unsigned *ret_ticket);
/* Harmless if the turn was passed on meanwhile. */
void hf__write_queue_leave(struct hf__write_queue_at write_queue,
                           unsigned ticket);

#endif
