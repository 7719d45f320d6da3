/* SPDX-License-Identifier: MIT */
/*
 * Virtual time, the heap of events, the generator and the trace. This file
 * decides in which order things happen; what they do is left to run.c.
 */
#include "tests/sim/world.h"

#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const deeds[] = {
#define HF_X(name, text) text,
    HF__DEED_MAP(HF_X)
#undef HF_X
};

static const char *const ops[] = {
    [HF__OP_RENEW] = "RENEW",       [HF__OP_RELEASE] = "RELEASE",
    [HF__OP_HANDOVER] = "HANDOVER", [HF__OP_RAISE] = "RAISE",
    [HF__OP_ACQUIRE] = "ACQUIRE",   [HF__OP_INSPECT] = "INSPECT",
    [HF__OP_BREAK] = "BREAK",
};

void hf__world_init(struct hf__world *w, uint64_t seed)
{
    w->now = 0;
    for (int i = 0; i < 4; i++) {
        w->chance[i] = hf__test_random(&seed);
    }
    w->seq = 0;
    w->hash = UINT64_C(0xcbf29ce484222325);
    w->lines = 0;
    w->events = 0;
    w->used = 0;
    w->free_count = 0;
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* xoshiro256** (Blackman, Vigna 2018). */
uint64_t hf__world_random(struct hf__world *w)
{
    uint64_t *s = w->chance;
    uint64_t drawn = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return drawn;
}

int64_t hf__world_between(struct hf__world *w, int64_t low, int64_t high)
{
    HF_ASSERT(low <= high);
    return low + (int64_t)(hf__world_random(w) % (uint64_t)(high - low + 1));
}

bool hf__world_chance(struct hf__world *w, int permille)
{
    return hf__world_between(w, 0, 999) < permille;
}

static bool is_earlier(const struct hf__sim_due *a, const struct hf__sim_due *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

/* Events are large and stay where they are; the heap sorts when they are
 * due. */
static int find_place(struct hf__world *w)
{
    if (w->free_count > 0) {
        return w->free[--w->free_count];
    }
    HF_ASSERT(w->used < HF__EVENTS_MAX);
    return w->used++;
}

void hf__world_add(struct hf__world *w, const struct hf__sim_event *added)
{
    struct hf__sim_due due = {.at = added->at < w->now ? w->now : added->at,
                              .seq = w->seq++,
                              .where = find_place(w)};
    int i = w->events++;

    w->places[due.where] = *added;
    w->places[due.where].at = due.at;
    while (i > 0 && is_earlier(&due, &w->heap[(i - 1) / 2])) {
        w->heap[i] = w->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->heap[i] = due;
}

/* Put it where the root was taken, keeping the order. */
static void sink(struct hf__world *w, struct hf__sim_due due)
{
    int i = 0;

    while (2 * i + 1 < w->events) {
        int child = 2 * i + 1;

        if (child + 1 < w->events &&
            is_earlier(&w->heap[child + 1], &w->heap[child])) {
            child++;
        }
        if (!is_earlier(&w->heap[child], &due)) {
            break;
        }
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = due;
}

bool hf__world_next(struct hf__world *w, int64_t end,
                    struct hf__sim_event *ret_event)
{
    int where = w->heap[0].where;

    if (w->events == 0 || w->heap[0].at >= end) {
        return false;
    }
    *ret_event = w->places[where];
    w->free[w->free_count++] = where;
    w->now = ret_event->at;
    w->events--;
    if (w->events > 0) {
        sink(w, w->heap[w->events]);
    }
    return true;
}

static void mix(struct hf__world *w, uint64_t value)
{
    w->hash = (w->hash ^ value) * UINT64_C(0x100000001b3);
    w->hash ^= w->hash >> 29;
}

void hf__world_note(struct hf__world *w, const struct hf__trace_line *line)
{
    struct hf__trace_line *kept = &w->trace[w->lines % HF__TRACE_LENGTH];

    *kept = *line;
    kept->at = w->now;
    w->lines++;
    mix(w, (uint64_t)kept->at);
    mix(w, (uint64_t)kept->deed << 24 | (uint64_t)kept->member << 16 |
               (uint64_t)(kept->client + 1) << 8 | (uint64_t)(kept->op + 1));
    mix(w, kept->token);
    mix(w, (uint64_t)kept->number);
}

static void print_line(const struct hf__trace_line *t)
{
    printf("# %14.6f ms ", (double)t->at / 1e6);
    if (t->client >= 0) {
        printf(" client %d", t->client);
    }
    printf(" %s", deeds[t->deed]);
    if (t->op >= 0) {
        printf(" %s", ops[t->op]);
    }
    if (t->deed == HF__DEED_IS_APPLIED || t->deed == HF__DEED_NEVER_ARRIVES) {
        printf(" at member %d", t->member);
    }
    if (t->token != 0) {
        printf(" token %" PRIu64, t->token);
    }
    printf(" (%" PRId64 ")\n", t->number);
}

void hf__world_print(const struct hf__world *w)
{
    uint64_t first =
        w->lines > HF__TRACE_LENGTH ? w->lines - HF__TRACE_LENGTH : 0;

    for (uint64_t i = first; i < w->lines; i++) {
        print_line(&w->trace[i % HF__TRACE_LENGTH]);
    }
}
