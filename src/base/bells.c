/* SPDX-License-Identifier: MIT */
/*
 * The words and counts of sleepers. Who looks at what after waking is the
 * stores'. Thread: any.
 */
#include "src/base/bells.h"

#include "src/base/map.h"

#include <limits.h>
#include <stddef.h>

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

/* Where the bell of the name is. */
static size_t bell_at(const struct hf__bells *bells, struct hf__chime name)
{
    return bells->at + offsetof(struct hf__belfry, bell) +
           hf__bell_index(name) * sizeof(struct hf__bell);
}

size_t hf__bells_word(const struct hf__bells *bells, struct hf__chime name)
{
    return bell_at(bells, name) + offsetof(struct hf__bell, word);
}

size_t hf__bells_any(const struct hf__bells *bells)
{
    return bells->at + offsetof(struct hf__belfry, any) +
           offsetof(struct hf__bell, word);
}

/* What stands there now; not the bell itself. */
static struct hf__bell read_bell(const struct hf__bells *bells, size_t at)
{
    struct hf__bell bell;

    hf__words_read(bells->words, at, &bell, sizeof bell);
    return bell;
}

static void set_grace(const struct hf__bells *bells, size_t at, unsigned value)
{
    hf__words_set(bells->words, at + offsetof(struct hf__bell, grace), value);
}

/* Nobody sleeps on the grace. */
static void count(const struct hf__bells *bells, size_t at, size_t member,
                  int by)
{
    hf__words_add(bells->words, at + member, by,
                  at + offsetof(struct hf__bell, grace));
}

/* Milliseconds that wrap, never zero. */
static unsigned stamp(hf__time t)
{
    return (unsigned)(t.ns / HF__MS) | 1u;
}

void hf__bells_taken(struct hf__bells *bells, struct hf__chime name)
{
    size_t at = bell_at(bells, name);
    atomic_uchar *pass = &bells->passes[hf__bell_index(name)];

    count(bells, at, offsetof(struct hf__bell, word), 1);
    if (atomic_load(pass) == HF__WENT_FIRST) {
        atomic_store(pass, 0);
        set_grace(bells, at, 0);
    }
}

static void ring_any(const struct hf__bells *bells)
{
    size_t any = hf__bells_any(bells);

    if (hf__words_get(bells->words, any + offsetof(struct hf__bell, sleepers)) >
        0) {
        (void)hf__words_ring(bells->words, any, INT_MAX);
    }
}

void hf__bells_freed(struct hf__bells *bells, struct hf__chime name)
{
    size_t at = bell_at(bells, name);
    /* Who is not counted yet has not read the record yet. */
    struct hf__bell bell = read_bell(bells, at);

    if (bell.sleepers > 0) {
        set_grace(bells, at, stamp(hf__after_ms(hf__now(), HF__GRACE_MS)));
        if (hf__words_ring(bells->words, at, bell.tag ? 1 : INT_MAX) == 0) {
            set_grace(bells, at, 0);
        }
    } else {
        count(bells, at, offsetof(struct hf__bell, word), 1);
    }
    ring_any(bells);
}

void hf__bells_ring(struct hf__bells *bells, struct hf__chime whose)
{
    (void)hf__words_ring(bells->words, hf__bells_word(bells, whose), INT_MAX);
    ring_any(bells);
}

void hf__bells_allow(struct hf__bells *bells, struct hf__chime name)
{
    atomic_store(&bells->passes[hf__bell_index(name)], HF__GOES_FIRST);
}

bool hf__bells_must_hold_back(struct hf__bells *bells, struct hf__chime name,
                              hf__time now)
{
    atomic_uchar *pass = &bells->passes[hf__bell_index(name)];
    unsigned grace = 0;
    unsigned left = 0;

    if (atomic_load(pass) == HF__GOES_FIRST) {
        atomic_store(pass, HF__WENT_FIRST);
        return false;
    }
    grace = hf__words_get(bells->words, bell_at(bells, name) +
                                            offsetof(struct hf__bell, grace));
    if (grace == 0) {
        return false;
    }
    /* What was left there long ago is not near now. */
    atomic_store(pass, HF__WENT_FIRST);
    left = grace - stamp(now);
    return left != 0 && left <= HF__GRACE_MS + 1;
}

static size_t sleep_at(const struct hf__bells *bells, struct hf__chime name,
                       bool is_alone)
{
    return is_alone ? bell_at(bells, name)
                    : bells->at + offsetof(struct hf__belfry, any);
}

void hf__bells_arm(struct hf__bells *bells, struct hf__chime name,
                   bool is_alone)
{
    size_t at = sleep_at(bells, name, is_alone);
    unsigned tag = (unsigned)(hash_of(name) >> 32) | 1u;
    struct hf__bell bell;

    count(bells, at, offsetof(struct hf__bell, sleepers), 1);
    bell = read_bell(bells, at);
    if (bell.tag != tag) {
        hf__words_set(bells->words, at + offsetof(struct hf__bell, tag),
                      bell.sleepers <= 1 ? tag : 0);
    }
}

void hf__bells_disarm(struct hf__bells *bells, struct hf__chime name,
                      bool is_alone)
{
    count(bells, sleep_at(bells, name, is_alone),
          offsetof(struct hf__bell, sleepers), -1);
}

/* ---- stamps: 24 bits tell whose, the rest is milliseconds */

#define STAMP_BITS 40
#define STAMP_MASK ((UINT64_C(1) << STAMP_BITS) - 1)

static uint64_t stamp_tag(struct hf__chime whose)
{
    return hf__hash(whose.bytes, whose.length) >> STAMP_BITS;
}

/* The stamps near its place by hash. */
struct reach {
    size_t at; /* of the first */
    uint64_t stamp[HF__STAMP_REACH];
};

static struct reach read_reach(const struct hf__words *words, size_t at,
                               struct hf__chime whose)
{
    unsigned index = hf__bell_index(whose);
    unsigned last = HF__BELLS - HF__STAMP_REACH;
    struct reach reach = {.at = at + sizeof(uint64_t) *
                                         (index < last ? index : last)};

    hf__words_read(words, reach.at, reach.stamp, sizeof reach.stamp);
    return reach;
}

/* Its own stamp; −1: it has none. */
static int find_stamp(const struct reach *reach, struct hf__chime whose)
{
    for (int i = 0; i < HF__STAMP_REACH; i++) {
        if (reach->stamp[i] >> STAMP_BITS == stamp_tag(whose)) {
            return i;
        }
    }
    return -1;
}

/* One that nobody has used for longer than the others near. */
static int oldest_stamp(const struct reach *reach)
{
    int oldest = 0;

    for (int i = 1; i < HF__STAMP_REACH; i++) {
        if ((reach->stamp[i] & STAMP_MASK) <
            (reach->stamp[oldest] & STAMP_MASK)) {
            oldest = i;
        }
    }
    return oldest;
}

void hf__stamps_set(struct hf__words *words, size_t at, struct hf__chime whose,
                    hf__time now)
{
    uint64_t fresh = stamp_tag(whose) << STAMP_BITS |
                     ((uint64_t)(now.ns / HF__MS) & STAMP_MASK);
    struct reach reach = read_reach(words, at, whose);
    int place = find_stamp(&reach, whose);

    if (place >= 0) {
        hf__words_write(words, reach.at + (size_t)place * sizeof fresh, &fresh,
                        sizeof fresh);
        return;
    }
    /* Another may take the same one at the same time. */
    hf__words_lock(words);
    reach = read_reach(words, at, whose);
    hf__words_write(words,
                    reach.at + (size_t)oldest_stamp(&reach) * sizeof fresh,
                    &fresh, sizeof fresh);
    hf__words_unlock(words);
}

hf__time hf__stamps_get(const struct hf__words *words, size_t at,
                        struct hf__chime whose)
{
    struct reach reach = read_reach(words, at, whose);
    int place = find_stamp(&reach, whose);

    if (place < 0) {
        return (hf__time){0};
    }
    return (hf__time){(int64_t)(reach.stamp[place] & STAMP_MASK) * HF__MS};
}
