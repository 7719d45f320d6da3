/* SPDX-License-Identifier: MIT */
/*
 * The words and counts of sleepers. Who looks at what after waking is the
 * stores'. Thread: any.
 */
#include "src/base/bells.h"

#include "src/base/map.h"
#include "src/base/wake.h"

#include <limits.h>

static uint64_t hash_of(struct hf__chime name)
{
    return hf__hash(name.bytes, name.length);
}

/* FNV's low bits differ least for names that differ in the end. */
static unsigned fold(uint64_t hash)
{
    return (unsigned)((hash ^ hash >> 29) % HF__BELLS);
}

unsigned hf__bell_index(struct hf__chime name)
{
    return fold(hash_of(name));
}

static struct hf__bell *find(struct hf__bells *bells, struct hf__chime name)
{
    return &bells->belfry->bell[hf__bell_index(name)];
}

/* Milliseconds that wrap, never zero. */
static unsigned stamp(hf__time t)
{
    return (unsigned)(t.ns / HF__MS) | 1u;
}

void hf__bells_taken(struct hf__bells *bells, struct hf__chime name)
{
    struct hf__bell *bell = find(bells, name);

    atomic_fetch_add(&bell->word, 1);
    if (atomic_load(&bell->grace) != 0) {
        atomic_store(&bell->grace, 0);
    }
}

static void wake_one(struct hf__bell *bell)
{
    int count = atomic_load(&bell->tag) ? 1 : INT_MAX;
    hf__time until = hf__after_ms(hf__now(), HF__GRACE_MS);

    atomic_store(&bell->grace, stamp(until));
    if (hf__futex_wake_shared(&bell->word, count) == 0) {
        atomic_store(&bell->grace, 0);
    }
}

static void wake_any(struct hf__bells *bells)
{
    struct hf__bell *any = &bells->belfry->any;

    if (atomic_load(&any->sleepers) > 0) {
        atomic_fetch_add(&any->word, 1);
        (void)hf__futex_wake_shared(&any->word, INT_MAX);
    }
}

void hf__bells_freed(struct hf__bells *bells, struct hf__chime name)
{
    struct hf__bell *bell = find(bells, name);

    atomic_fetch_add(&bell->word, 1);
    if (atomic_load(&bell->sleepers) > 0) {
        wake_one(bell);
    }
    wake_any(bells);
}

void hf__bells_ring(struct hf__bells *bells, struct hf__chime whose)
{
    struct hf__bell *bell = find(bells, whose);

    atomic_fetch_add(&bell->word, 1);
    if (atomic_load(&bell->sleepers) > 0) {
        (void)hf__futex_wake_shared(&bell->word, INT_MAX);
    }
    wake_any(bells);
}

void hf__bells_allow(struct hf__bells *bells, struct hf__chime name)
{
    atomic_store(&bells->passes[hf__bell_index(name)], 1);
}

bool hf__bells_must_hold_back(struct hf__bells *bells, struct hf__chime name,
                              hf__time now)
{
    unsigned index = hf__bell_index(name);
    unsigned grace = atomic_load(&bells->belfry->bell[index].grace);
    unsigned left = grace - stamp(now);

    if (atomic_load(&bells->passes[index]) != 0) {
        atomic_store(&bells->passes[index], 0);
        return false;
    }
    /* What was left there long ago is not near now. */
    return grace != 0 && left != 0 && left <= HF__GRACE_MS + 1;
}

void hf__bells_arm(struct hf__bells *bells, struct hf__chime name,
                   bool is_alone)
{
    struct hf__bell *bell = is_alone ? find(bells, name) : &bells->belfry->any;
    unsigned tag = (unsigned)(hash_of(name) >> 32) | 1u;
    unsigned others = atomic_fetch_add(&bell->sleepers, 1);

    if (others == 0) {
        atomic_store(&bell->tag, tag);
    } else if (atomic_load(&bell->tag) != tag) {
        atomic_store(&bell->tag, 0);
    }
}

void hf__bells_disarm(struct hf__bells *bells, struct hf__chime name,
                      bool is_alone)
{
    struct hf__bell *bell = is_alone ? find(bells, name) : &bells->belfry->any;

    atomic_fetch_sub(&bell->sleepers, 1);
}

/* ---- stamps: 24 bits tell whose, the rest is milliseconds */

#define STAMP_BITS 40
#define STAMP_MASK ((UINT64_C(1) << STAMP_BITS) - 1)

static uint64_t stamp_tag(struct hf__chime whose)
{
    return hf__hash(whose.bytes, whose.length) >> STAMP_BITS;
}

static _Atomic uint64_t *stamp_at(struct hf__stamps *stamps,
                                  struct hf__chime whose, unsigned i)
{
    return &stamps->stamp[(hf__bell_index(whose) + i) % HF__BELLS];
}

/* Its own stamp; NULL: it has none. */
static _Atomic uint64_t *find_stamp(struct hf__stamps *stamps,
                                    struct hf__chime whose)
{
    for (unsigned i = 0; i < HF__STAMP_REACH; i++) {
        _Atomic uint64_t *place = stamp_at(stamps, whose, i);

        if (atomic_load(place) >> STAMP_BITS == stamp_tag(whose)) {
            return place;
        }
    }
    return NULL;
}

/* One that nobody has used for longer than the others near. */
static _Atomic uint64_t *oldest_stamp(struct hf__stamps *stamps,
                                      struct hf__chime whose,
                                      uint64_t *ret_value)
{
    _Atomic uint64_t *oldest = NULL;

    for (unsigned i = 0; i < HF__STAMP_REACH; i++) {
        _Atomic uint64_t *place = stamp_at(stamps, whose, i);
        uint64_t value = atomic_load(place);

        if (oldest == NULL ||
            (value & STAMP_MASK) < (*ret_value & STAMP_MASK)) {
            oldest = place;
            *ret_value = value;
        }
    }
    return oldest;
}

void hf__stamps_set(struct hf__stamps *stamps, struct hf__chime whose,
                    hf__time now)
{
    uint64_t fresh = stamp_tag(whose) << STAMP_BITS |
                     ((uint64_t)(now.ns / HF__MS) & STAMP_MASK);
    _Atomic uint64_t *place = find_stamp(stamps, whose);
    bool is_set = place != NULL;

    if (is_set) {
        atomic_store(place, fresh);
    }
    /* Another may take the same one at the same time: then the next. */
    for (int i = 0; i < HF__STAMP_REACH && !is_set; i++) {
        uint64_t old = 0;

        place = oldest_stamp(stamps, whose, &old);
        is_set = atomic_compare_exchange_strong(place, &old, fresh);
    }
}

hf__time hf__stamps_get(struct hf__stamps *stamps, struct hf__chime whose)
{
    _Atomic uint64_t *place = find_stamp(stamps, whose);
    uint64_t value = place == NULL ? 0 : atomic_load(place);

    /* Taken by another meanwhile: then it was old. */
    if (value >> STAMP_BITS != stamp_tag(whose)) {
        return (hf__time){0};
    }
    return (hf__time){(int64_t)(value & STAMP_MASK) * HF__MS};
}
