/* SPDX-License-Identifier: MIT */
/*
 * The words and counts of sleepers. Who looks at what after waking is
 * wait.c's. Called by any session's thread.
 */
#include "src/backend/sqlite/wake.h"

#include "src/base/wake.h"

#include <limits.h>

static uint64_t hash_of(const struct hf__key *key)
{
    return hf__hash(key->bytes, key->length);
}

/* FNV's low bits differ least for names that differ in the end. */
static unsigned fold(uint64_t hash)
{
    return (unsigned)((hash ^ hash >> 29) % HF__BUCKETS);
}

unsigned hf__bucket_of(const struct hf__key *key)
{
    return fold(hash_of(key));
}

static struct hf__bucket *find(struct hf__side *side, const struct hf__key *key)
{
    return &side->board->bucket[hf__bucket_of(key)];
}

/* Milliseconds that wrap, never zero. */
static unsigned stamp(hf__time t)
{
    return (unsigned)(t.ns / HF__MS) | 1u;
}

void hf__wake_taken(struct hf__side *side, const struct hf__key *key)
{
    struct hf__bucket *bucket = find(side, key);

    atomic_fetch_add(&bucket->word, 1);
    if (atomic_load(&bucket->grace) != 0) {
        atomic_store(&bucket->grace, 0);
    }
}

static void wake_one(struct hf__bucket *bucket)
{
    int count = atomic_load(&bucket->tag) ? 1 : INT_MAX;
    hf__time until = hf__after_ms(hf__now(), HF__GRACE_MS);

    atomic_store(&bucket->grace, stamp(until));
    if (hf__futex_wake_shared(&bucket->word, count) == 0) {
        atomic_store(&bucket->grace, 0);
    }
}

void hf__wake_freed(struct hf__side *side, const struct hf__key *key)
{
    struct hf__bucket *bucket = find(side, key);
    struct hf__bucket *any = &side->board->any;

    atomic_fetch_add(&bucket->word, 1);
    if (atomic_load(&bucket->sleepers) > 0) {
        wake_one(bucket);
    }
    if (atomic_load(&any->sleepers) > 0) {
        atomic_fetch_add(&any->word, 1);
        (void)hf__futex_wake_shared(&any->word, INT_MAX);
    }
}

void hf__wake_allow(struct hf__side *side, const struct hf__key *key)
{
    atomic_store(&side->passes[hf__bucket_of(key)], 1);
}

bool hf__wake_must_hold_back(struct hf__side *side, const struct hf__key *key,
                             hf__time now)
{
    unsigned index = hf__bucket_of(key);
    unsigned grace = atomic_load(&side->board->bucket[index].grace);
    unsigned left = grace - stamp(now);

    if (atomic_load(&side->passes[index]) != 0) {
        atomic_store(&side->passes[index], 0);
        return false;
    }
    /* What was left there long ago is not near now. */
    return grace != 0 && left != 0 && left <= HF__GRACE_MS + 1;
}

void hf__wake_arm(struct hf__side *side, const struct hf__key *key,
                  bool is_alone)
{
    struct hf__bucket *bucket = is_alone ? find(side, key) : &side->board->any;
    unsigned tag = (unsigned)(hash_of(key) >> 32) | 1u;
    unsigned others = atomic_fetch_add(&bucket->sleepers, 1);

    if (others == 0) {
        atomic_store(&bucket->tag, tag);
    } else if (atomic_load(&bucket->tag) != tag) {
        atomic_store(&bucket->tag, 0);
    }
}

void hf__wake_disarm(struct hf__side *side, const struct hf__key *key,
                     bool is_alone)
{
    struct hf__bucket *bucket = is_alone ? find(side, key) : &side->board->any;

    atomic_fetch_sub(&bucket->sleepers, 1);
}
