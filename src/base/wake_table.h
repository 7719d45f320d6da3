/* SPDX-License-Identifier: MIT */
/*
 * Words in shared memory by which threads of all processes wake each other. The
 * words of a name are found by its hash.
 *
 * A channel has a word that is bumped after each change of a record while
 * anybody sleeps there, and a count of the sleepers, so a release with nobody
 * waiting wakes nobody. A release wakes one sleeper, or all of them where two
 * names share the channel. A woken waiter gets some milliseconds of grace, in
 * which processes that did not wait hold back; otherwise a process that
 * releases and acquires in a loop would starve the waiter.
 *
 * A waiter with a ticket sleeps on a channel of its own, found by its token. It
 * is woken when its turn has come, and needs no grace: the store keeps the
 * order. Beside the channels is a table of when each of these waiters was last
 * seen.
 *
 * All of it is a hint. A sleeper that was killed stays counted, which costs a
 * system call; a waiter that was not woken looks again by itself. Thread: any.
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
    atomic_uint sleepers;         /* at most so many sleep; killed ones count */
    atomic_uint tag;   /* hash bits of the name; 0: of several names */
    atomic_uint grace; /* a woken waiter goes first until then */
};

/* Read before any channel: while nobody sleeps, no channel is looked at. */
struct hf__wake_summary {
    _Alignas(8) atomic_uint sleepers; /* of all channels, killed ones too */
    atomic_uint grace;           /* some woken waiter goes first until then */
    struct hf__wake_channel any; /* for waits for several names */
};

/* In shared memory; all zero is ready for use. */
struct hf__wake_table {
    struct hf__wake_summary summary;
    struct hf__wake_channel channel[HF__WAKE_CHANNELS];
};

/* A time last seen is looked for in so many entries from its index by hash
 * on. */
#define HF__LAST_SEEN_REACH 8

/* When each waiter in a queue was last seen, by the boot clock. In shared
 * memory; all zero is never. Each waiter has its own entry, told apart by 24
 * bits, so that a waiter for another name does not keep a dead one alive. If
 * too many waiters fall near each other, the one that was seen longest ago
 * loses its entry. */
struct hf__last_seen {
    _Atomic uint64_t stamp[HF__WAKE_CHANNELS];
};

#define HF__GOES_FIRST 1
#define HF__WENT_FIRST 2

/* A table as one process sees it. */
struct hf__wake_view {
    const struct hf__words *words;
    size_t at; /* offset of the table in the words */
    /* HF__GOES_FIRST once a waiter of this process was woken: it may acquire
     * within the grace that others must let pass. HF__WENT_FIRST once it tries
     * to, or an acquire of this process met a grace: its grant ends the grace.
     */
    atomic_uchar passes[HF__WAKE_CHANNELS];
};

/* The bytes by which a name or a ticket is told apart. */
struct hf__wake_key {
    const char *bytes;
    size_t length;
};

unsigned hf__wake_channel_index(struct hf__wake_key);
/* The word for waits for that name alone, and the one for waits for several
 * names. */
size_t hf__wake_table_word(const struct hf__wake_view *, struct hf__wake_key);
size_t hf__wake_table_any(const struct hf__wake_view *);

/* Read the summary as it is now. */
void hf__wake_table_look(const struct hf__wake_view *,
                         struct hf__wake_summary *ret_summary);

/* Call these after the change. summary: read before the change if the name was
 * free, since a sleeper that is counted meanwhile sees the change; else read
 * after it. */
void hf__wake_table_taken(struct hf__wake_view *, struct hf__wake_key,
                          const struct hf__wake_summary *summary);
void hf__wake_table_freed(struct hf__wake_view *, struct hf__wake_key);

/* Wake all who sleep on this key, without grace: the waiter whose turn in the
 * queue has come, or all at a name that several may hold. */
void hf__wake_table_notify(struct hf__wake_view *, struct hf__wake_key);

/* A watch of this process on the name fired: its next acquire goes first,
 * once. */
void hf__wake_table_allow(struct hf__wake_view *, struct hf__wake_key);
/* Must an acquire of the name still hold back for a woken waiter? Uses up the
 * permission that hf__wake_table_allow() gave. summary: just read. */
bool hf__wake_table_must_hold_back(struct hf__wake_view *, struct hf__wake_key,
                                   const struct hf__wake_summary *summary,
                                   hf__time now);

/* Count as a sleeper from before the record is read until the wait ends.
 * is_alone: on the name's own word; else on that for several names. */
void hf__wake_table_subscribe(struct hf__wake_view *, struct hf__wake_key,
                              bool is_alone);
void hf__wake_table_unsubscribe(struct hf__wake_view *, struct hf__wake_key,
                                bool is_alone);

/* Note that the waiter with this ticket was seen now; read when it was last
 * seen, 0 if never. `at`: offset of the struct hf__last_seen in the words. */
void hf__last_seen_set(struct hf__words *, size_t at, struct hf__wake_key,
                       hf__time now);
hf__time hf__last_seen_get(const struct hf__words *, size_t at,
                           struct hf__wake_key);

#endif
