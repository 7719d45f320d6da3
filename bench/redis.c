/* SPDX-License-Identifier: MIT */
/*
 * The Redis stores on private servers: threads against a raw connection each,
 * calls in flight against one raw connection as full, and a quorum against
 * raw commands to one member after the other. How sides are compared is in
 * sides.c, what waiters cost in contest.c and waiting.c. Thread: main.
 */
#include "bench/redis.h"

#include "bench/contest.h"
#include "bench/rawredis.h"
#include "bench/report.h"
#include "bench/serverredis.h"
#include "bench/sides.h"
#include "bench/waiting.h"

#include <stdio.h>

enum { QUORUM = 5 };

struct arena {
    const struct serverredis *redis;
    int n_servers;
};

static void *open_raw(const void *of)
{
    const struct arena *a = of;

    return rawredis_open(serverredis_ports(a->redis), a->n_servers);
}

static void close_raw(void *raw)
{
    rawredis_close(raw);
}

static bool pair_raw(void *raw, const char *key)
{
    return rawredis_pair(raw, key);
}

static double fly_raw(void *raw, int n, double seconds)
{
    return rawredis_fly(raw, n, seconds);
}

/* What one script of a side takes on the server, by its own clock. */
static void report_script(const struct sides *s, struct side *side)
{
    const struct arena *a = s->raw.of;
    struct side *sides[] = {side};
    struct serverredis_scripts before = serverredis_scripts(a->redis);
    struct serverredis_scripts after;
    struct report_figure f;
    char what[48];

    if (side->n > 1 && !side->fly) {
        return;
    }
    sides_take_turns(s, sides, 1, 2);
    after = serverredis_scripts(a->redis);
    (void)snprintf(what, sizeof what, "%s, a script", side->what);
    f = sides_figure(s, side, what,
                     (double)(after.us - before.us) /
                         (double)(after.calls - before.calls));
    (void)snprintf(f.unit, sizeof f.unit, "us");
    report_add(&f);
}

static void own_names(const struct bench *b, const struct arena *a,
                      const struct sides_bout bouts[], size_t n)
{
    const struct sides s = {b,
                            b->server->scheme,
                            {"raw", a, open_raw, close_raw, pair_raw, fly_raw},
                            report_script};

    serverredis_print(a->redis);
    sides_own_names(&s, bouts, n);
}

/* In one process and in several. */
static void one_name(const struct bench *b, const char *scheme)
{
    int i;

    for (i = 0; i < 4; i++) {
        (void)contest_threads(
            b, &(struct contest_field){scheme, i % 2 ? 64 : 8, i > 1});
    }
    contest_crowds(b, scheme, 0);
}

static struct serverredis *start(int n)
{
    struct serverredis *redis = serverredis_start(n);

    if (!redis) {
        server_leave_out("redis", "redis-server");
    }
    return redis;
}

void bench_redis(const struct bench *b)
{
    static const struct sides_bout bouts[] = {
        {1, 0, false, 15, 0.9},
        {8, 0, false, 7, 0},
        {32, 0, false, 9, 1.5},
        {128, 0, false, 7, 0},
        {SIDES_IN_FLIGHT, 0, true, 11, 0.7},
    };
    struct serverredis *redis = start(1);
    struct bench with = *b;
    const struct arena a = {redis, 1};

    if (!redis) {
        return;
    }
    with.server = serverredis_server(redis);
    own_names(&with, &a, bouts, sizeof bouts / sizeof bouts[0]);
    one_name(&with, "redis");
    waiting_wake(&with, "redis", 0.5);
    serverredis_stop(redis);
}

void bench_redlock(const struct bench *b)
{
    static const struct sides_bout bouts[] = {
        {1, 0, false, 15, 2},
        {32, 0, false, 7, 0},
    };
    struct serverredis *redis = start(QUORUM);
    struct bench with = *b;
    const struct arena a = {redis, QUORUM};

    if (!redis) {
        return;
    }
    with.server = serverredis_server(redis);
    own_names(&with, &a, bouts, sizeof bouts / sizeof bouts[0]);
    waiting_wake(&with, "redlock", 0);
    serverredis_stop(redis);
}
