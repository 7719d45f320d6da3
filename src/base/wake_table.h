/* SPDX-License-Identifier: MIT */
/*
 * Words in shared memory by which threads of all processes wake each other. The
 * words of a name are found by its hash.
 *
 * A channel has a word that is bumped after each change of a record while
 * anybody sleeps there, and a count of the sleepers, so a release with nobody
 * waiting wakes nobody. A release wakes one sleeper, or all of them where two
 * names share the channel. A woken waiter has some milliseconds of grace, in
 * which processes that did not wait hold back; otherwise a process that
 * releases and acquires in a loop would always be faster than the waiter, and
 * starve it.
 *
 * A waiter with a ticket sleeps on a channel of its own, found by its token. It
 * is woken when its turn has come, and needs no grace: the store keeps the
 * order. Beside the channels is a table of when each of these waiters was last
 * seen.
 *
 * All of it is a hint. A sleeper that was killed stays counted, which costs a
 * system call; a waiter that was not woken looks by itself. Thread: any.
 */
#ifndef HF_BASE_WAKE_TABLE_H
#define HF_BASE_WAKE_TABLE_H

#include "src/base/base.h"
#include "src/base/time.h"
#include "src/base/words.h"

#include <stdatomic.h>

#define HF__WAKE_CHANNELS 4096
#define HF__GRACE_MS      10

/* Sleepers of all names with one hash. */
struct hf__wake_channel {
    _Alignas(8) atomic_uint word; /* bumped when a record changed */
    atomic_uint sleepers;         /* at least so many; dead ones stay counted */
    atomic_uint tag;              /* of the name waited for; 0: of several */
    atomic_uint grace;            /* until when a woken waiter goes first */
};

/* What is read of all channels at once: with nobody asleep no channel is looked
 * at.
 */
struct hf__wake_summary {
    _Alignas(8) atomic_uint sleepers; /* of all channels, counted like theirs */
    atomic_uint grace;           /* until when some woken waiter goes first */
    struct hf__wake_channel any; /* for who waits for several names */
};

/* In shared memory; all zero is ready for use. */
struct hf__wake_table {
    struct hf__wake_summary summary;
    struct hf__wake_channel channel[HF__WAKE_CHANNELS];
};

/* Near its place by hash a time last seen is looked for among so many. */
#define HF__LAST_SEEN_REACH 8

/* When those who wait in the queue were last seen, by the boot clock. In shared
 * memory; all zero is never. Each has a time last seen of its own, told apart
 * by 24 bits, so that one who waits elsewhere keeps no dead one alive; where
 * too many are near each other the one that was not seen longest loses its
 * own. */
struct hf__last_seen {
    _Atomic uint64_t stamp[HF__WAKE_CHANNELS];
};

#define HF__GOES_FIRST 1
#define HF__WENT_FIRST 2

/* A table as one process sees it. */
struct hf__wake_view {
    const struct hf__words *words;
    size_t at; /* of the table in them */
    /* HF__GOES_FIRST when a waiter of this process was woken: it may acquire
     * within the grace that others must let pass. HF__WENT_FIRST when it tries
     * to: the grace ends with its grant. */
    atomic_uchar passes[HF__WAKE_CHANNELS];
};

/* A name, by what it is told apart. */
struct hf__wake_key {
    const char *bytes;
    size_t length;
};

unsigned hf__wake_channel_index(struct hf__wake_key);
/* The word on which those sleep who wait for that name alone; for several. */
size_t hf__wake_table_word(const struct hf__wake_view *, struct hf__wake_key);
size_t hf__wake_table_any(const struct hf__wake_view *);

/* What stands in the summary now. */
void hf__wake_table_look(const struct hf__wake_view *,
                         struct hf__wake_summary *ret_summary);

/* After the change. summary: seen before it, for one that was free, since
 * whoever is counted meanwhile sees that; else after it. */
void hf__wake_table_taken(struct hf__wake_view *, struct hf__wake_key,
                          const struct hf__wake_summary *summary);
void hf__wake_table_freed(struct hf__wake_view *, struct hf__wake_key);

/* Wake all who sleep there, without grace: the one in the queue whose turn has
 * come, or all at a name that several may have. */
void hf__wake_table_notify(struct hf__wake_view *, struct hf__wake_key);

/* A watch of this process on the name fired: it goes first, once. */
void hf__wake_table_allow(struct hf__wake_view *, struct hf__wake_key);
/* Must an acquire of the name still hold back for a woken waiter? Takes the
 * permission that hf__wake_table_allow() gave. summary: as just seen. */
bool hf__wake_table_must_hold_back(struct hf__wake_view *, struct hf__wake_key,
                                   const struct hf__wake_summary *summary,
                                   hf__time now);

/* Count as a sleeper, before reading the record, and no longer. Alone: on
 * the name's own word; else on that for several names. */
void hf__wake_table_subscribe(struct hf__wake_view *, struct hf__wake_key,
                              bool is_alone);
void hf__wake_table_unsubscribe(struct hf__wake_view *, struct hf__wake_key,
                                bool is_alone);

/* Whoever has this time last seen is there; when was it last? `at`: of the
 * times last seen. */
void hf__last_seen_set(struct hf__words *, size_t at, struct hf__wake_key,
                       hf__time now);
hf__time hf__last_seen_get(const struct hf__words *, size_t at,
                           struct hf__wake_key);

#endif
