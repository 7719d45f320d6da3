/* SPDX-License-Identifier: MIT */
/*
 * What the stores have in common whose waiters sleep in memory that they
 * share with other processes: how a session sleeps and is woken, and when it
 * lets others go first. Thread: the session's, except hf__nap_end().
 */
#ifndef HF_BACKEND_SHARED_H
#define HF_BACKEND_SHARED_H

#include "src/backend/backend.h"
#include "src/backend/compatibility.h"
#include "src/base/bells.h"
#include "src/base/wake.h"

/* Where a session sleeps; all zero is awake. */
struct hf__nap {
    struct hf__parker parker;
    _Atomic(atomic_uint *) word; /* its name, see words.h; NULL: none */
    struct hf__lobby lobby;      /* as seen before a batch */
};

/* Until the word is no longer `seen`, or the limit, or an interrupt. */
void hf__nap_on(struct hf__nap *, struct hf__head *, atomic_uint *word,
                unsigned seen, hf__time limit);
/* For interrupt(): whoever sleeps looks again. Thread: any. */
void hf__nap_end(struct hf__nap *);

/* A key, as the bells tell it apart. */
static inline struct hf__chime hf__chime_of(const struct hf__key *key)
{
    return (struct hf__chime){key->bytes, key->length};
}

/* One in line, by its token: its bell and its stamp. */
static inline struct hf__chime hf__chime_of_ticket(const struct hf__token *t)
{
    return (struct hf__chime){(const char *)t->bytes, sizeof t->bytes};
}

/* Where a waiter sleeps: who has a ticket is woken when its turn has come, else
 * with the name. */
static inline struct hf__chime hf__chime_of_watch(const struct hf__watch *w)
{
    return hf__token_is_zero(&w->ticket) ? hf__chime_of(&w->key)
                                         : hf__chime_of_ticket(&w->ticket);
}

/* The word of a waiter for all of these: its own, or that for several. */
static inline size_t hf__word_of_watches(const struct hf__bells *bells,
                                         struct hf__watch *w[], int n)
{
    return n == 1 ? hf__bells_word(bells, hf__chime_of_watch(w[0]))
                  : hf__bells_any(bells);
}

/* For how long has nobody asked or waited for the ticket? For that of one who
 * lives and is not stopped it stays below HF__TICKET_PATIENCE_MS. */
static inline int64_t hf__ticket_idle_ms(const struct hf__words *words,
                                         size_t stamps,
                                         const struct hf__token *token,
                                         hf__time now)
{
    hf__time seen = hf__stamps_get(words, stamps, hf__chime_of_ticket(token));

    return hf__between_ns(seen, now) / HF__MS;
}

/* Before a batch with acquires, the lobby just seen: let a waiter that was just
 * woken have its try; see bells.h. True: it was waited for. */
bool hf__nap_hold_back(struct hf__nap *, struct hf__head *, struct hf__bells *,
                       struct hf__op *const ops[], int n, hf__time deadline);
/* The operation of that batch took its name. */
void hf__nap_tell_taken(struct hf__nap *, struct hf__bells *,
                        const struct hf__op *);

#endif
