/* SPDX-License-Identifier: MIT */
/*
 * The words and the counts of sleepers. The stores decide what a woken waiter
 * looks at. Thread: any.
 */
#include "src/base/wake_table.h"

#include "src/base/map.h"

#include <limits.h>
#include <stddef.h>

static uint64_t hash_of(struct hf__wake_key name)
{
    return hf__hash(name.bytes, name.length);
}

/* FNV's low bits differ least between names that differ at the end only. */
static unsigned fold(uint64_t hash)
{
    return (unsigned)((hash ^ hash >> 29) % HF__WAKE_CHANNELS);
}

unsigned hf__wake_channel_index(struct hf__wake_key name)
{
    return fold(hash_of(name));
}

/* The offset of the name's channel. */
static size_t channel_at(const struct hf__wake_view *view,
                         struct hf__wake_key name)
{
    return view->at + offsetof(struct hf__wake_table, channel) +
           hf__wake_channel_index(name) * sizeof(struct hf__wake_channel);
}

size_t hf__wake_table_word(const struct hf__wake_view *view,
                           struct hf__wake_key name)
{
    return channel_at(view, name) + offsetof(struct hf__wake_channel, word);
}

size_t hf__wake_table_any(const struct hf__wake_view *view)
{
    return view->at + offsetof(struct hf__wake_table, summary.any) +
           offsetof(struct hf__wake_channel, word);
}

void hf__wake_table_look(const struct hf__wake_view *view,
                         struct hf__wake_summary *ret_summary)
{
    /* A sleeper that is counted after this sees the change that was made
     * before. */
    hf__barrier();
    hf__words_read(view->words,
                   view->at + offsetof(struct hf__wake_table, summary),
                   ret_summary, sizeof *ret_summary);
}

/* Reads the summary: a sleeper that is not counted yet has not read the record
 * yet and will see the change. */
static struct hf__wake_summary read_summary(const struct hf__wake_view *view)
{
    struct hf__wake_summary summary;

    hf__wake_table_look(view, &summary);
    return summary;
}

/* A copy of the channel as it is now. */
static struct hf__wake_channel read_channel(const struct hf__wake_view *view,
                                            size_t at)
{
    struct hf__wake_channel channel;

    hf__words_read(view->words, at, &channel, sizeof channel);
    return channel;
}

static void set_grace(const struct hf__wake_view *view, size_t at,
                      unsigned value)
{
    hf__words_set(view->words, at + offsetof(struct hf__wake_channel, grace),
                  value);
}

/* If two processes announce at the same time, only one value stays; that is
 * enough, for both are near now. */
static void announce_grace(const struct hf__wake_view *view, unsigned value)
{
    hf__words_set(view->words,
                  view->at + offsetof(struct hf__wake_table, summary.grace),
                  value);
}

/* Adds to a member of the channel. The grace serves as the idle word, for
 * nobody sleeps on it. */
static void count(const struct hf__wake_view *view, size_t at, size_t member,
                  int by)
{
    hf__words_add(view->words, at + member, by,
                  at + offsetof(struct hf__wake_channel, grace));
}

/* Milliseconds that wrap around and are never zero. */
static unsigned stamp(hf__time t)
{
    return (unsigned)(t.ns / HF__MS) | 1u;
}

/* Is it a running grace? One that was set long ago is not near now. */
static bool is_near(unsigned grace, hf__time now)
{
    unsigned left = grace - stamp(now);

    return grace != 0 && left != 0 && left <= HF__GRACE_MS + 1;
}

void hf__wake_table_taken(struct hf__wake_view *view, struct hf__wake_key name,
                          const struct hf__wake_summary *summary)
{
    size_t at = channel_at(view, name);
    atomic_uchar *pass = &view->passes[hf__wake_channel_index(name)];

    if (summary->sleepers > 0) {
        count(view, at, offsetof(struct hf__wake_channel, word), 1);
    }
    if (atomic_load(pass) == HF__WENT_FIRST) {
        atomic_store(pass, 0);
        set_grace(view, at, 0);
    }
}

static void ring_any(const struct hf__wake_view *view,
                     const struct hf__wake_summary *summary)
{
    if (summary->any.sleepers > 0) {
        (void)hf__words_ring(view->words, hf__wake_table_any(view), INT_MAX);
    }
}

/* The grace is set before the wake, or the woken waiter could be overtaken. */
static void wake_one(const struct hf__wake_view *view, size_t at,
                     const struct hf__wake_channel *channel)
{
    unsigned grace = stamp(hf__after_ms(hf__now(), HF__GRACE_MS));

    set_grace(view, at, grace);
    announce_grace(view, grace);
    if (hf__words_ring(view->words, at, channel->tag ? 1 : INT_MAX) == 0) {
        set_grace(view, at, 0);
    }
}

void hf__wake_table_freed(struct hf__wake_view *view, struct hf__wake_key name)
{
    struct hf__wake_summary summary = read_summary(view);
    size_t at = channel_at(view, name);
    struct hf__wake_channel channel;

    if (summary.sleepers == 0) {
        return;
    }
    channel = read_channel(view, at);
    if (channel.sleepers > 0) {
        wake_one(view, at, &channel);
    } else {
        count(view, at, offsetof(struct hf__wake_channel, word), 1);
    }
    ring_any(view, &summary);
}

void hf__wake_table_notify(struct hf__wake_view *view,
                           struct hf__wake_key whose)
{
    struct hf__wake_summary summary = read_summary(view);

    if (summary.sleepers == 0) {
        return;
    }
    (void)hf__words_ring(view->words, hf__wake_table_word(view, whose),
                         INT_MAX);
    ring_any(view, &summary);
}

void hf__wake_table_allow(struct hf__wake_view *view, struct hf__wake_key name)
{
    atomic_store(&view->passes[hf__wake_channel_index(name)], HF__GOES_FIRST);
}

bool hf__wake_table_must_hold_back(struct hf__wake_view *view,
                                   struct hf__wake_key name,
                                   const struct hf__wake_summary *summary,
                                   hf__time now)
{
    atomic_uchar *pass = &view->passes[hf__wake_channel_index(name)];
    unsigned grace = 0;

    if (atomic_load(pass) == HF__GOES_FIRST) {
        atomic_store(pass, HF__WENT_FIRST);
        return false;
    }
    if (!is_near(summary->grace, now)) {
        return false;
    }
    grace = hf__words_get(view->words,
                          channel_at(view, name) +
                              offsetof(struct hf__wake_channel, grace));
    if (grace == 0) {
        return false;
    }
    atomic_store(pass, HF__WENT_FIRST);
    return is_near(grace, now);
}

static size_t sleep_at(const struct hf__wake_view *view,
                       struct hf__wake_key name, bool is_alone)
{
    return is_alone ? channel_at(view, name)
                    : view->at + offsetof(struct hf__wake_table, summary.any);
}

/* Counts in the summary, for all channels. */
static void count_all(const struct hf__wake_view *view, int by)
{
    size_t summary = view->at + offsetof(struct hf__wake_table, summary);

    hf__words_add(view->words,
                  summary + offsetof(struct hf__wake_summary, sleepers), by,
                  summary + offsetof(struct hf__wake_summary, grace));
}

static void set_tag(const struct hf__wake_view *view, size_t at, unsigned tag)
{
    hf__words_set(view->words, at + offsetof(struct hf__wake_channel, tag),
                  tag);
}

/*
 * If sleepers of two names share a channel, its tag must become zero. Each
 * sleeper counts itself before it reads the tag, and one that sets its own tag
 * reads the count again after that. If another sleeper is counted by then, the
 * tag is set to zero. If not, the other one reads the tag after it was set,
 * finds that it is not its own, and sets it to zero itself. Two sleepers of one
 * name may set it to zero, too: then a release wakes both. Until a tag that was
 * set late is zero, a wake can go to the wrong sleeper; the right one looks
 * again after a while.
 */
void hf__wake_table_subscribe(struct hf__wake_view *view,
                              struct hf__wake_key name, bool is_alone)
{
    size_t at = sleep_at(view, name, is_alone);
    unsigned tag = (unsigned)(hash_of(name) >> 32) | 1u;
    struct hf__wake_channel channel;

    count_all(view, 1);
    count(view, at, offsetof(struct hf__wake_channel, sleepers), 1);
    channel = read_channel(view, at);
    if (channel.tag == tag) {
        return;
    }
    if (channel.sleepers <= 1) {
        set_tag(view, at, tag);
        hf__barrier();
        channel = read_channel(view, at);
    }
    if (channel.sleepers > 1) {
        set_tag(view, at, 0);
    }
}

void hf__wake_table_unsubscribe(struct hf__wake_view *view,
                                struct hf__wake_key name, bool is_alone)
{
    count(view, sleep_at(view, name, is_alone),
          offsetof(struct hf__wake_channel, sleepers), -1);
    count_all(view, -1);
}

/* ---- times last seen: 24 bits tell whose, the rest is milliseconds */

#define LAST_SEEN_BITS 40
#define LAST_SEEN_MASK ((UINT64_C(1) << LAST_SEEN_BITS) - 1)

static uint64_t last_seen_tag(struct hf__wake_key whose)
{
    return hf__hash(whose.bytes, whose.length) >> LAST_SEEN_BITS;
}

/* The entries from a ticket's index by hash on. */
struct reach {
    size_t at; /* offset of the first */
    uint64_t stamp[HF__LAST_SEEN_REACH];
};

static struct reach read_reach(const struct hf__words *words, size_t at,
                               struct hf__wake_key whose)
{
    unsigned index = hf__wake_channel_index(whose);
    unsigned last = HF__WAKE_CHANNELS - HF__LAST_SEEN_REACH;
    struct reach reach = {.at = at + sizeof(uint64_t) *
                                         (index < last ? index : last)};

    hf__words_read(words, reach.at, reach.stamp, sizeof reach.stamp);
    return reach;
}

/* The index of the ticket's own entry; −1: it has none. */
static int find_last_seen(const struct reach *reach, struct hf__wake_key whose)
{
    for (int i = 0; i < HF__LAST_SEEN_REACH; i++) {
        if (reach->stamp[i] >> LAST_SEEN_BITS == last_seen_tag(whose)) {
            return i;
        }
    }
    return -1;
}

/* The entry that was seen longest ago. */
static int oldest_seen(const struct reach *reach)
{
    int oldest = 0;

    for (int i = 1; i < HF__LAST_SEEN_REACH; i++) {
        if ((reach->stamp[i] & LAST_SEEN_MASK) <
            (reach->stamp[oldest] & LAST_SEEN_MASK)) {
            oldest = i;
        }
    }
    return oldest;
}

void hf__last_seen_set(struct hf__words *words, size_t at,
                       struct hf__wake_key whose, hf__time now)
{
    uint64_t fresh = last_seen_tag(whose) << LAST_SEEN_BITS |
                     ((uint64_t)(now.ns / HF__MS) & LAST_SEEN_MASK);
    struct reach reach = read_reach(words, at, whose);
    int near_index = find_last_seen(&reach, whose);

    if (near_index >= 0) {
        (void)hf__words_write(words,
                              reach.at + (size_t)near_index * sizeof fresh,
                              &fresh, sizeof fresh);
        return;
    }
    /* Locked, because another waiter may choose the same entry at this time. */
    hf__words_lock(words);
    reach = read_reach(words, at, whose);
    (void)hf__words_write(words,
                          reach.at + (size_t)oldest_seen(&reach) * sizeof fresh,
                          &fresh, sizeof fresh);
    hf__words_unlock(words);
}

hf__time hf__last_seen_get(const struct hf__words *words, size_t at,
                           struct hf__wake_key whose)
{
    struct reach reach = read_reach(words, at, whose);
    int near_index = find_last_seen(&reach, whose);

    if (near_index < 0) {
        return (hf__time){0};
    }
    return (hf__time){(int64_t)(reach.stamp[near_index] & LAST_SEEN_MASK) *
                      HF__MS};
}
