/* SPDX-License-Identifier: MIT */
/*
 * The ZooKeeper store on a private server, whose log is flushed at each write,
 * or never: threads against a raw handle each, calls in flight against one raw
 * handle as full. Flushed, all sides wait for the disk, and take each other
 * along. How sides are compared is in sides.c, what waiters cost in contest.c
 * and waiting.c. Thread: main.
 */
#include "bench/zookeeper.h"

#include "bench/contest.h"
#include "bench/rawzookeeper.h"
#include "bench/serverzookeeper.h"
#include "bench/sides.h"
#include "bench/waiting.h"

struct arena {
    const struct serverzookeeper *zookeeper;
    bool looks_up;
};

static void *open_raw(const void *of)
{
    const struct arena *a = of;

    return rawzookeeper_open(serverzookeeper_port(a->zookeeper), a->looks_up);
}

static void close_raw(void *raw)
{
    rawzookeeper_close(raw);
}

static bool pair_raw(void *raw, const char *key)
{
    return rawzookeeper_pair(raw, key);
}

static double fly_raw(void *raw, int n, double seconds)
{
    return rawzookeeper_fly(raw, n, seconds);
}

/* Until the server's JVM has compiled what is called often, it is some times
 * slower, and whoever comes first has the damage. */
static void warm_up(const struct bench *b, const struct arena *a)
{
    struct rawzookeeper *raw = open_raw(a);

    (void)rawzookeeper_fly(raw, SIDES_IN_FLIGHT, b->is_quick ? 4 : 8);
    rawzookeeper_close(raw);
}

/* By hand, as the library comes, or told not to look up its hosts again, which
 * few know of. */
static void own_names(const struct bench *b, const char *label,
                      const struct arena *a, const struct sides_bout bouts[],
                      size_t n)
{
    const struct sides s = {b,
                            label,
                            {a->looks_up ? "raw" : "raw, no lookups", a,
                             open_raw, close_raw, pair_raw, fly_raw},
                            NULL};

    sides_own_names(&s, bouts, n);
}

/* Who waits stands in line here: there is none that is not fair. */
static void one_name(const struct bench *b)
{
    static const int n[] = {8, 64};
    size_t i;

    contest_steady(b, "zookeeper", n, 2);
    for (i = 0; i < 2; i++) {
        (void)contest_processes(
            b, &(struct contest_field){"zookeeper", n[i], false});
    }
    waiting_wake(b, "zookeeper", 1.5);
}

static void in_memory(const struct bench *b, struct arena *a)
{
    static const struct sides_bout usual[] = {
        {1, 0, false, 15, 0.9},
        {8, 0, false, 9, 0},
        {32, 0, false, 9, 2},
        {SIDES_IN_FLIGHT, 0, true, 11, 0},
    };
    static const struct sides_bout told[] = {
        {1, 0, false, 15, 0},
        {32, 0, false, 9, 0},
        {SIDES_IN_FLIGHT, 0, true, 11, 0},
    };

    a->looks_up = true;
    own_names(b, "zookeeper", a, usual, sizeof usual / sizeof usual[0]);
    a->looks_up = false;
    own_names(b, "zookeeper", a, told, sizeof told / sizeof told[0]);
    one_name(b);
}

static void flushed(const struct bench *b, struct arena *a)
{
    static const struct sides_bout bouts[] = {
        {1, 0, false, 15, 0.9},
        {32, 0, false, 9, 0},
    };

    a->looks_up = true;
    own_names(b, "zookeeper flushed", a, bouts, sizeof bouts / sizeof bouts[0]);
}

static bool run(const struct bench *b, bool is_flushed)
{
    struct serverzookeeper *zookeeper = serverzookeeper_start(is_flushed);
    struct arena a = {zookeeper, false};
    struct bench with = *b;

    if (!zookeeper) {
        server_leave_out("zookeeper", "zookeeper");
        return false;
    }
    with.server = serverzookeeper_server(zookeeper);
    serverzookeeper_print(zookeeper);
    warm_up(&with, &a);
    if (is_flushed) {
        flushed(&with, &a);
    } else {
        in_memory(&with, &a);
    }
    serverzookeeper_stop(zookeeper);
    return true;
}

void bench_zookeeper(const struct bench *b)
{
    if (run(b, false)) {
        (void)run(b, true);
    }
}
