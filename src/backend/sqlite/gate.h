/* SPDX-License-Identifier: MIT */
/*
 * The writers' gate: who may try for SQLite's write lock next, in the order
 * of coming. It is for order alone; SQLite's own lock is the truth, so a
 * mistake here costs time and never a lock. That is why it can be simple: a
 * ticket dispenser in shared words, read and written without a lock, so that
 * two who come at the very same time may have the same turn. A process that was
 * killed or stopped with a ticket in its hand is passed over after
 * HF__GATE_PATIENCE_MS, and nobody waits longer than HF__GATE_LIMIT_MS before
 * trying without a turn. (A robust, priority- inheriting mutex would do it in
 * the kernel, but it names its owner by a thread id, and the C library aborts
 * the process when that id means nothing, as between two containers.) Thread:
 * any.
 */
#ifndef HF_BACKEND_SQLITE_GATE_H
#define HF_BACKEND_SQLITE_GATE_H

#include "src/backend/backend.h"
#include "src/base/words.h"

#define HF__GATE_SLOTS       64
#define HF__GATE_PATIENCE_MS 40
#define HF__GATE_LIMIT_MS    250

/* In shared words; all zero is a gate that nobody stands at. */
struct hf__gate {
    /* By ticket modulo HF__GATE_SLOTS: */
    _Alignas(8) atomic_uint turn[HF__GATE_SLOTS]; /* bumped when it comes */
    atomic_uint abandoned[HF__GATE_SLOTS]; /* ticket + 1 that was given up */
    /* Seen together, see hf__gate_front. */
    _Alignas(8) atomic_uint next; /* the ticket for the next who comes */
    atomic_uint serving;          /* the ticket whose turn it is */
};

/* The end of a gate, as once seen. */
struct hf__gate_front {
    unsigned next;
    unsigned serving;
};

/* Where one is. */
struct hf__gate_at {
    const struct hf__words *words;
    size_t at;
};

/* Does nobody queue? Then a turn may be done without: who tries for the write
 * lock at once, and comes in for a turn if it is not to be had, passes nobody
 * who waits by more than that one try. */
bool hf__gate_is_empty(const struct hf__gate_front *);

/* Wait for a turn. HF_OK: go on, and leave() with the ticket. HF_EUNAVAIL:
 * the deadline passed or the call was interrupted; there is no ticket. */
HF_MUST_CHECK int hf__gate_enter(struct hf__gate_at gate, struct hf__head *head,
                                 hf__time deadline, unsigned *ret_ticket);
/* Harmless if the turn was passed on meanwhile. */
void hf__gate_leave(struct hf__gate_at gate, unsigned ticket);

#endif
