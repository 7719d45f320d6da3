/* SPDX-License-Identifier: MIT */
/*
 * The ring buffer of broken grants, and the channels. It decides which
 * processes are woken; the core decides what a holder does then. Thread: any.
 */
#include "src/backend/breaks.h"

#include "src/base/map.h"

#include <limits.h>
#include <stddef.h>

/* Nothing wakes a thread that sleeps on a file which was truncated meanwhile,
 * so it looks again after this time. */
#define NAP_MS 1000

uint64_t hf__token_tag(const struct hf__token *t)
{
    return hf__hash(t->bytes, sizeof t->bytes);
}

static size_t channel_at(size_t breaks, uint64_t life)
{
    return breaks + offsetof(struct hf__breaks, channel) +
           (size_t)((life >> 3) % HF__BREAK_CHANNELS) * sizeof(atomic_uint);
}

/* Takes the next place in the ring buffer. */
static size_t take_slot(struct hf__words *words, size_t breaks)
{
    size_t next = breaks + offsetof(struct hf__breaks, next);
    unsigned n_broken = 0;

    hf__words_lock(words);
    n_broken = hf__words_get(words, next);
    hf__words_set(words, next, n_broken + 1);
    hf__words_unlock(words);
    return breaks + offsetof(struct hf__breaks, tag) +
           (size_t)(n_broken % HF__BREAKS) * sizeof(uint64_t);
}

void hf__breaks_tell(struct hf__words *words, size_t at,
                     const struct hf__token *token, uint64_t life)
{
    uint64_t tag = hf__token_tag(token);

    if (hf__token_is_zero(token)) {
        return; /* there was no grant: the name was only kept closed */
    }
    (void)hf__words_write(words, take_slot(words, at), &tag, sizeof tag);
    if (life != 0) {
        (void)hf__words_ring(words, channel_at(at, life), INT_MAX);
        return;
    }
    for (uint64_t i = 0; i < HF__BREAK_CHANNELS; i++) {
        (void)hf__words_ring(words, channel_at(at, i << 3), INT_MAX);
    }
}

/* Reads the whole ring buffer, because a place in it may be filled later than
 * it was taken. */
static bool hear(const struct hf__listening *l, hf__broken_fn fn, void *arg)
{
    uint64_t tags[HF__BREAKS];
    bool has_any = false;

    hf__words_read(l->words, l->at + offsetof(struct hf__breaks, tag), tags,
                   sizeof tags);
    for (int i = 0; i < HF__BREAKS; i++) {
        if (tags[i] != l->heard->tag[i]) {
            l->heard->tag[i] = tags[i];
            fn(arg, tags[i]);
            has_any = true;
        }
    }
    return has_any;
}

void hf__breaks_listen(const struct hf__listening *l, hf__broken_fn fn,
                       void *arg, hf__time deadline)
{
    size_t channel = channel_at(l->at, l->life);
    unsigned seen = hf__words_get(l->words, channel);

    while (!hear(l, fn, arg) && !hf__is_interrupted(l->head) &&
           hf__before(hf__now(), deadline)) {
        hf__sleep_slot_on(
            l->sleep_slot, l->head, hf__words_name(l->words, channel), seen,
            hf__earlier(deadline, hf__after_ms(hf__now(), NAP_MS)));
        seen = hf__words_get(l->words, channel);
    }
}
