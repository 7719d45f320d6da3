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
    return bells->at + offsetof(struct hf__belfry, lobby.any) +
           offsetof(struct hf__bell, word);
}

void hf__bells_look(const struct hf__bells *bells, struct hf__lobby *ret_lobby)
{
    /* What was changed before is seen by whoever is counted after this. */
    hf__barrier();
    hf__words_read(bells->words, bells->at + offsetof(struct hf__belfry, lobby),
                   ret_lobby, sizeof *ret_lobby);
}

/* Who is not counted yet has not read the record yet. */
static struct hf__lobby read_lobby(const struct hf__bells *bells)
{
    struct hf__lobby lobby;

    hf__bells_look(bells, &lobby);
    return lobby;
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

/* Of two who say it at the same time one may be heard: both are near. */
static void announce_grace(const struct hf__bells *bells, unsigned value)
{
    hf__words_set(bells->words,
                  bells->at + offsetof(struct hf__belfry, lobby.grace), value);
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

/* What was left there long ago is not near now. */
static bool is_near(unsigned grace, hf__time now)
{
    unsigned left = grace - stamp(now);

    return grace != 0 && left != 0 && left <= HF__GRACE_MS + 1;
}

void hf__bells_taken(struct hf__bells *bells, struct hf__chime name,
                     const struct hf__lobby *lobby)
{
    size_t at = bell_at(bells, name);
    atomic_uchar *pass = &bells->passes[hf__bell_index(name)];

    if (lobby->sleepers > 0) {
        count(bells, at, offsetof(struct hf__bell, word), 1);
    }
    if (atomic_load(pass) == HF__WENT_FIRST) {
        atomic_store(pass, 0);
        set_grace(bells, at, 0);
    }
}

static void ring_any(const struct hf__bells *bells,
                     const struct hf__lobby *lobby)
{
    if (lobby->any.sleepers > 0) {
        (void)hf__words_ring(bells->words, hf__bells_any(bells), INT_MAX);
    }
}

/* The grace comes first, or who is woken could be overtaken. */
static void wake_one(const struct hf__bells *bells, size_t at,
                     const struct hf__bell *bell)
{
    unsigned grace = stamp(hf__after_ms(hf__now(), HF__GRACE_MS));

    set_grace(bells, at, grace);
    announce_grace(bells, grace);
    if (hf__words_ring(bells->words, at, bell->tag ? 1 : INT_MAX) == 0) {
        set_grace(bells, at, 0);
    }
}

void hf__bells_freed(struct hf__bells *bells, struct hf__chime name)
{
    struct hf__lobby lobby = read_lobby(bells);
    size_t at = bell_at(bells, name);
    struct hf__bell bell;

    if (lobby.sleepers == 0) {
        return;
    }
    bell = read_bell(bells, at);
    if (bell.sleepers > 0) {
        wake_one(bells, at, &bell);
    } else {
        count(bells, at, offsetof(struct hf__bell, word), 1);
    }
    ring_any(bells, &lobby);
}

void hf__bells_ring(struct hf__bells *bells, struct hf__chime whose)
{
    struct hf__lobby lobby = read_lobby(bells);

    if (lobby.sleepers == 0) {
        return;
    }
    (void)hf__words_ring(bells->words, hf__bells_word(bells, whose), INT_MAX);
    ring_any(bells, &lobby);
}

void hf__bells_allow(struct hf__bells *bells, struct hf__chime name)
{
    atomic_store(&bells->passes[hf__bell_index(name)], HF__GOES_FIRST);
}

bool hf__bells_must_hold_back(struct hf__bells *bells, struct hf__chime name,
                              const struct hf__lobby *lobby, hf__time now)
{
    atomic_uchar *pass = &bells->passes[hf__bell_index(name)];
    unsigned grace = 0;

    if (atomic_load(pass) == HF__GOES_FIRST) {
        atomic_store(pass, HF__WENT_FIRST);
        return false;
    }
    if (!is_near(lobby->grace, now)) {
        return false;
    }
    grace = hf__words_get(bells->words, bell_at(bells, name) +
                                            offsetof(struct hf__bell, grace));
    if (grace == 0) {
        return false;
    }
    atomic_store(pass, HF__WENT_FIRST);
    return is_near(grace, now);
}

static size_t sleep_at(const struct hf__bells *bells, struct hf__chime name,
                       bool is_alone)
{
    return is_alone ? bell_at(bells, name)
                    : bells->at + offsetof(struct hf__belfry, lobby.any);
}

/* Of all bells. */
static void count_all(const struct hf__bells *bells, int by)
{
    size_t lobby = bells->at + offsetof(struct hf__belfry, lobby);

    hf__words_add(bells->words, lobby + offsetof(struct hf__lobby, sleepers),
                  by, lobby + offsetof(struct hf__lobby, grace));
}

static void set_tag(const struct hf__bells *bells, size_t at, unsigned tag)
{
    hf__words_set(bells->words, at + offsetof(struct hf__bell, tag), tag);
}

/*
 * Where sleepers of two names are, neither name may be left as the tag. Each
 * sleeper counts itself before it reads the tag; who sets its own looks at the
 * count again behind that. Another that is counted by then makes it zero; one
 * that is not reads the tag after it was set, finds that it is not its own, and
 * makes it zero itself. Two of one name may make it zero as well: both are
 * woken then. Until a tag that came late is zero, a wake can go to the wrong
 * sleeper: the right one looks by itself.
 */
void hf__bells_arm(struct hf__bells *bells, struct hf__chime name,
                   bool is_alone)
{
    size_t at = sleep_at(bells, name, is_alone);
    unsigned tag = (unsigned)(hash_of(name) >> 32) | 1u;
    struct hf__bell bell;

    count_all(bells, 1);
    count(bells, at, offsetof(struct hf__bell, sleepers), 1);
    bell = read_bell(bells, at);
    if (bell.tag == tag) {
        return;
    }
    if (bell.sleepers <= 1) {
        set_tag(bells, at, tag);
        hf__barrier();
        bell = read_bell(bells, at);
    }
    if (bell.sleepers > 1) {
        set_tag(bells, at, 0);
    }
}

void hf__bells_disarm(struct hf__bells *bells, struct hf__chime name,
                      bool is_alone)
{
    count(bells, sleep_at(bells, name, is_alone),
          offsetof(struct hf__bell, sleepers), -1);
    count_all(bells, -1);
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
        (void)hf__words_write(words, reach.at + (size_t)place * sizeof fresh,
                              &fresh, sizeof fresh);
        return;
    }
    /* Another may take the same one at the same time. */
    hf__words_lock(words);
    reach = read_reach(words, at, whose);
    (void)hf__words_write(
        words, reach.at + (size_t)oldest_stamp(&reach) * sizeof fresh, &fresh,
        sizeof fresh);
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
