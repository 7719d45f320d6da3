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
    struct sides sides;
    const struct serverredis *redis;
    int n_servers;
    hf_client *client;
};

static bool turn_raw(struct bench_worker *w)
{
    struct side_lane *lane = w->arg;

    return rawredis_pair(lane->raw, lane->key);
}

static double fly_raw(struct side *side, double seconds)
{
    return rawredis_fly(side->lane[0].raw, side->n, seconds);
}

static void set_raw(const struct arena *a, struct side *side, int n,
                    bool is_in_flight)
{
    int connections = is_in_flight ? 1 : n;
    int i;

    side_set_raw(side, is_in_flight ? "raw, pipelined" : "raw", n, turn_raw);
    side->fly = is_in_flight ? fly_raw : NULL;
    for (i = 0; i < connections; i++) {
        side->lane[i].raw =
            rawredis_open(serverredis_ports(a->redis), a->n_servers);
    }
}

static void end_raw(struct side *side)
{
    int i;

    for (i = 0; i < side->n && side->lane[i].raw; i++) {
        rawredis_close(side->lane[i].raw);
    }
}

/* What one script of a side takes on the server, by its own clock. */
static void report_script(const struct arena *a, struct side *side)
{
    struct side *sides[] = {side};
    struct serverredis_scripts before = serverredis_scripts(a->redis);
    struct serverredis_scripts after;
    struct report_figure f;
    char what[48];

    sides_take_turns(&a->sides, sides, 1, 2);
    after = serverredis_scripts(a->redis);
    (void)snprintf(what, sizeof what, "%s, a script", side->what);
    f = sides_figure(&a->sides, side, what,
                     (double)(after.us - before.us) /
                         (double)(after.calls - before.calls));
    (void)snprintf(f.unit, sizeof f.unit, "us");
    report_add(&f);
}

struct bout {
    int n;
    bool is_in_flight;
    int rounds;
    double target;
};

static void compare(const struct arena *a, const struct bout *bout)
{
    static struct side raw;
    static struct side library;

    set_raw(a, &raw, bout->n, bout->is_in_flight);
    side_set_library(&library, a->client, bout->n, bout->is_in_flight);
    sides_compare(&a->sides, &raw, &library, bout->rounds, bout->target);
    if (bout->n == 1 || bout->is_in_flight) {
        report_script(a, &raw);
        report_script(a, &library);
    }
    end_raw(&raw);
}

static void own_names(struct arena *a, const struct bout bouts[], size_t n)
{
    size_t i;

    serverredis_print(a->redis);
    a->client = bench_open_as(a->sides.b, a->sides.label, "");
    for (i = 0; i < n; i++) {
        compare(a, &bouts[i]);
    }
    hf_close(a->client);
}

/* In one process and in several. */
static void one_name(const struct bench *b, const char *scheme)
{
    int i;

    for (i = 0; i < 4; i++) {
        (void)contest_threads(
            b, &(struct contest_field){scheme, i % 2 ? 64 : 8, i > 1});
    }
    contest_crowds(b, scheme);
}

static struct serverredis *start(int n)
{
    struct serverredis *redis = serverredis_start(n);

    if (!redis) {
        printf("-- redis: left out, redis-server is not installed "
               "(tools/setup.sh test)\n");
    }
    return redis;
}

void bench_redis(const struct bench *b)
{
    static const struct bout bouts[] = {
        {1, false, 15, 0.9},
        {8, false, 7, 0},
        {32, false, 9, 1.5},
        {128, false, 7, 0},
        {SIDES_IN_FLIGHT, true, 11, 0.7},
    };
    struct serverredis *redis = start(1);
    struct bench with = *b;
    struct arena a = {{&with, "redis"}, redis, 1, NULL};

    if (!redis) {
        return;
    }
    with.server = serverredis_server(redis);
    own_names(&a, bouts, sizeof bouts / sizeof bouts[0]);
    one_name(&with, "redis");
    waiting_wake(&with, "redis", 0.5);
    serverredis_stop(redis);
}

void bench_redlock(const struct bench *b)
{
    static const struct bout bouts[] = {
        {1, false, 15, 2},
        {32, false, 7, 0},
    };
    struct serverredis *redis = start(QUORUM);
    struct bench with = *b;
    struct arena a = {{&with, "redlock"}, redis, QUORUM, NULL};

    if (!redis) {
        return;
    }
    with.server = serverredis_server(redis);
    own_names(&a, bouts, sizeof bouts / sizeof bouts[0]);
    waiting_wake(&with, "redlock", 0);
    serverredis_stop(redis);
}
