/* SPDX-License-Identifier: MIT */
/*
 * What the stores have in common whose waiters sleep in memory that they
 * share with other processes: how a session sleeps and is woken, and when it
 * lets others go first. Thread: the session's, except hf__sleep_slot_end().
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
    _Atomic(atomic_uint *) word;     /* its name, see words.h; NULL: none */
    struct hf__wake_summary summary; /* as seen before a batch */
};

/* Until the word is no longer `seen`, or the limit, or an interrupt. */
void hf__sleep_slot_on(struct hf__sleep_slot *, struct hf__head *,
                       atomic_uint *word, unsigned seen, hf__time limit);
/* For interrupt(): whoever sleeps looks again. Thread: any. */
void hf__sleep_slot_end(struct hf__sleep_slot *);

/* A key, as the channels tell it apart. */
static inline struct hf__wake_key hf__wake_key_of(const struct hf__key *key)
{
    return (struct hf__wake_key){key->bytes, key->length};
}

/* One in line, by its token: its channel and its time last seen. */
static inline struct hf__wake_key
hf__wake_key_of_ticket(const struct hf__token *t)
{
    return (struct hf__wake_key){(const char *)t->bytes, sizeof t->bytes};
}

/* Where a waiter sleeps: who has a ticket is woken when its turn has come, else
 * with the name. */
static inline struct hf__wake_key
hf__wake_key_of_watch(const struct hf__watch *w)
{
    return hf__token_is_zero(&w->ticket) ? hf__wake_key_of(&w->key)
                                         : hf__wake_key_of_ticket(&w->ticket);
}

/* The word of a waiter for all of these: its own, or that for several. */
static inline size_t hf__word_of_watches(const struct hf__wake_view *view,
                                         struct hf__watch *w[], int n)
{
    return n == 1 ? hf__wake_table_word(view, hf__wake_key_of_watch(w[0]))
                  : hf__wake_table_any(view);
}

/* For how long has nobody asked or waited for the ticket? For that of one who
 * lives and is not stopped it stays below HF__TICKET_PATIENCE_MS. */
static inline int64_t hf__ticket_idle_ms(const struct hf__words *words,
                                         size_t last_seen,
                                         const struct hf__token *token,
                                         hf__time now)
{
    hf__time seen =
        hf__last_seen_get(words, last_seen, hf__wake_key_of_ticket(token));

    return hf__between_ns(seen, now) / HF__MS;
}

/* Before a batch with acquires, the summary just seen: let a waiter that was
 * just woken have its try; see wake_table.h. True: it was waited for. */
bool hf__sleep_slot_hold_back(struct hf__sleep_slot *, struct hf__head *,
                              struct hf__wake_view *,
                              struct hf__op *const ops[], int n,
                              hf__time deadline);
/* The operation of that batch took its name. */
void hf__sleep_slot_tell_taken(struct hf__sleep_slot *, struct hf__wake_view *,
                               const struct hf__op *);

#endif
