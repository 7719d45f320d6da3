/* SPDX-License-Identifier: MIT */
/*
 * Words in shared memory by which threads of all processes wake each other,
 * told apart by the hash of a name.
 *
 * A name's bucket has a word that is bumped after each change of its record
 * while anybody sleeps, and a count of those who sleep on it, so that a release
 * with nobody waiting wakes nobody. A release wakes one sleeper, or all where
 * names share the bucket. The one that was woken has some milliseconds of
 * grace, in which processes that did not wait hold back: else whoever releases
 * and acquires in a loop would always win against the sleeper's wake-up, and
 * starve it.
 *
 * Who waits in the queue sleeps on a bell of its own, told apart by its token:
 * it is rung when its turn has come, and needs no grace, for the order is kept
 * by the store. Beside the bells are stamps: when each of those was last seen.
 *
 * All of it is only a hint. A sleeper that was killed stays counted, which
 * costs a call; one that was not woken looks by itself. Thread: any.
 */
#ifndef HF_BASE_BELLS_H
#define HF_BASE_BELLS_H

#include "src/base/base.h"
#include "src/base/time.h"
#include "src/base/words.h"

#include <stdatomic.h>

#define HF__BELLS    4096
#define HF__GRACE_MS 10

/* Sleepers of all names with one hash. */
struct hf__bell {
    _Alignas(8) atomic_uint word; /* bumped when a record changed */
    atomic_uint sleepers;         /* at least so many; dead ones stay counted */
    atomic_uint tag;              /* of the name waited for; 0: of several */
    atomic_uint grace;            /* until when a woken waiter goes first */
};

/* What is read of all bells at once: with nobody asleep no bell is looked at.
 */
struct hf__lobby {
    _Alignas(8) atomic_uint sleepers; /* of all bells, counted like theirs */
    atomic_uint grace;   /* until when some woken waiter goes first */
    struct hf__bell any; /* for who waits for several names */
};

/* In shared memory; all zero is ready for use. */
struct hf__belfry {
    struct hf__lobby lobby;
    struct hf__bell bell[HF__BELLS];
};

/* Near its place by hash a stamp is looked for among so many. */
#define HF__STAMP_REACH 8

/* When those who wait in the queue were last seen, by the boot clock. In shared
 * memory; all zero is never. Each has a stamp of its own, told apart by 24
 * bits, so that one who waits elsewhere keeps no dead one alive; where too
 * many are near each other the one that was not seen longest loses its own. */
struct hf__stamps {
    _Atomic uint64_t stamp[HF__BELLS];
};

#define HF__GOES_FIRST 1
#define HF__WENT_FIRST 2

/* A belfry as one process sees it. */
struct hf__bells {
    const struct hf__words *words;
    size_t at; /* of the belfry in them */
    /* HF__GOES_FIRST when a waiter of this process was woken: it may acquire
     * within the grace that others must let pass. HF__WENT_FIRST when it tries
     * to: the grace ends with its grant. */
    atomic_uchar passes[HF__BELLS];
};

/* A name, by what it is told apart. */
struct hf__chime {
    const char *bytes;
    size_t length;
};

unsigned hf__bell_index(struct hf__chime);
/* The word on which those sleep who wait for that name alone; for several. */
size_t hf__bells_word(const struct hf__bells *, struct hf__chime);
size_t hf__bells_any(const struct hf__bells *);

/* What stands in the lobby now. */
void hf__bells_look(const struct hf__bells *, struct hf__lobby *ret_lobby);

/* After the change. lobby: seen before it, for one that was free, since whoever
 * is counted meanwhile sees that; else after it. */
void hf__bells_taken(struct hf__bells *, struct hf__chime,
                     const struct hf__lobby *lobby);
void hf__bells_freed(struct hf__bells *, struct hf__chime);

/* Wake all who sleep there, without grace: the one in the queue whose turn has
 * come, or all at a name that several may have. */
void hf__bells_ring(struct hf__bells *, struct hf__chime);

/* A watch of this process on the name fired: it goes first, once. */
void hf__bells_allow(struct hf__bells *, struct hf__chime);
/* Must an acquire of the name still hold back for a woken waiter? Takes the
 * permission that hf__bells_allow() gave. lobby: as just seen. */
bool hf__bells_must_hold_back(struct hf__bells *, struct hf__chime,
                              const struct hf__lobby *lobby, hf__time now);

/* Count as a sleeper, before reading the record, and no longer. Alone: on
 * the name's own word; else on that for several names. */
void hf__bells_arm(struct hf__bells *, struct hf__chime, bool is_alone);
void hf__bells_disarm(struct hf__bells *, struct hf__chime, bool is_alone);

/* Whoever has this stamp is there; when was it last? `at`: of the stamps. */
void hf__stamps_set(struct hf__words *, size_t at, struct hf__chime,
                    hf__time now);
hf__time hf__stamps_get(const struct hf__words *, size_t at, struct hf__chime);

#endif
