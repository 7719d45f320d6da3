/* SPDX-License-Identifier: MIT */
/*
 * For the stores whose waiters sleep on memory that processes share: how a
 * session sleeps and is woken, and when it lets others go first. Thread: the
 * session's, except hf__sleep_slot_end().
 */
#ifndef HF_BACKEND_SHARED_H
#define HF_BACKEND_SHARED_H

#include "src/backend/backend.h"
#include "src/backend/compatibility.h"
#include "src/base/wake.h"
#include "src/base/wake_table.h"

/* Where a session sleeps; all zero is awake. */
struct hf__sleep_slot {
    struct hf__parker parker;
    _Atomic(atomic_uint *) word;     /* only its address: words.h; NULL: none */
    struct hf__wake_summary summary; /* as seen before a batch */
};

/* Sleep until the word is no longer `seen`, or the limit, or an interrupt. */
void hf__sleep_slot_on(struct hf__sleep_slot *, struct hf__head *,
                       atomic_uint *word, unsigned seen, hf__time limit);
/* For interrupt(): wakes the session, which looks again. Thread: any. */
void hf__sleep_slot_end(struct hf__sleep_slot *);

/* The wake key of a lock. */
static inline struct hf__wake_key hf__wake_key_of(const struct hf__key *key)
{
    return (struct hf__wake_key){key->bytes, key->length};
}

/* The wake key of a ticket: for its channel and its time last seen. */
static inline struct hf__wake_key
hf__wake_key_of_ticket(const struct hf__token *t)
{
    return (struct hf__wake_key){(const char *)t->bytes, sizeof t->bytes};
}

/* The wake key of a waiter: of its ticket, to be woken when its turn has come;
 * without one, of the lock. */
static inline struct hf__wake_key
hf__wake_key_of_watch(const struct hf__watch *w)
{
    return hf__token_is_zero(&w->ticket) ? hf__wake_key_of(&w->key)
                                         : hf__wake_key_of_ticket(&w->ticket);
}

/* The word for a wait on all of these: of the only one, or the one for several
 * names. */
static inline size_t hf__word_of_watches(const struct hf__wake_view *view,
                                         struct hf__watch *w[], int n)
{
    return n == 1 ? hf__wake_table_word(view, hf__wake_key_of_watch(w[0]))
                  : hf__wake_table_any(view);
}

/* How long ago the ticket's claim last tried or waited. While its process runs
 * this stays below HF__TICKET_PATIENCE_MS. */
static inline int64_t hf__ticket_idle_ms(const struct hf__words *words,
                                         size_t last_seen,
                                         const struct hf__token *token,
                                         hf__time now)
{
    hf__time seen =
        hf__last_seen_get(words, last_seen, hf__wake_key_of_ticket(token));

    return hf__between_ns(seen, now) / HF__MS;
}

/* Call it before a batch with acquires, with the summary just read: it gives a
 * waiter that was just woken time for its try; see wake_table.h. True: it
 * waited. */
bool hf__sleep_slot_hold_back(struct hf__sleep_slot *, struct hf__head *,
                              struct hf__wake_view *,
                              struct hf__op *const ops[], int n,
                              hf__time deadline);
/* Call it once the operation of that batch took its name. */
void hf__sleep_slot_tell_taken(struct hf__sleep_slot *, struct hf__wake_view *,
                               const struct hf__op *);

#endif
