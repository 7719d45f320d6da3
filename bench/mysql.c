/* SPDX-License-Identifier: MIT */
/*
 * Pairs of acquire and release per second on a private MariaDB: by hand, and
 * of the library, each on names of its own, with the log flushed at each
 * commit and once a second. All sides take turns in short segments, so that
 * what else the machine does hits all; ratios are medians over the rounds.
 * What waiters cost is in contest.c and waiting.c. Thread: main.
 */
#include "bench/mysql.h"

#include "bench/contest.h"
#include "bench/loop.h"
#include "bench/rawmysql.h"
#include "bench/report.h"
#include "bench/server.h"
#include "bench/waiting.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define ROUNDS_MAX 32
#define IN_FLIGHT  256

struct lane {
    char name[24];
    char key[32];
    hf_client *client;
    struct rawmysql *raw;
};

/* A side of the comparison: n lanes, each a thread, or n in flight. */
struct side {
    char what[28];
    int n;
    bool is_in_flight;
    bool (*turn)(struct bench_worker *);
    struct lane lane[IN_FLIGHT];
    double rate[ROUNDS_MAX];
    double pairs;
    double cpu_seconds; /* of this process and of the server */
    uint64_t errors;
};

static bool turn_raw(struct bench_worker *w)
{
    struct lane *lane = w->arg;

    return rawmysql_pair(lane->raw, lane->key);
}

static bool turn_library(struct bench_worker *w)
{
    struct lane *lane = w->arg;

    bench_release(bench_acquire(lane->client, lane->name));
    return true;
}

/* ---- sides --------------------------------------------------------------- */

static void set_raw(struct side *side, const struct server *server, int n,
                    enum rawmysql_way way)
{
    static const char *const names[] = {
        [RAWMYSQL_PREPARED] = "raw, prepared",
        [RAWMYSQL_TEXT] = "raw, text",
        [RAWMYSQL_CLASSIC] = "INSERT/DELETE",
    };
    int i;

    *side = (struct side){.n = n, .turn = turn_raw};
    (void)snprintf(side->what, sizeof side->what, "%s", names[way]);
    for (i = 0; i < n; i++) {
        side->lane[i].raw = rawmysql_open(server, way);
        (void)snprintf(side->lane[i].key, sizeof side->lane[i].key,
                       "holdfast:job:%d", i);
    }
}

static void end_raw(struct side *side)
{
    int i;

    for (i = 0; i < side->n; i++) {
        rawmysql_close(side->lane[i].raw);
    }
}

static void set_library(struct side *side, hf_client *client, int n,
                        bool is_in_flight)
{
    int i;

    *side = (struct side){
        .n = n, .is_in_flight = is_in_flight, .turn = turn_library};
    (void)snprintf(side->what, sizeof side->what, "library%s",
                   is_in_flight ? ", in flight" : "");
    for (i = 0; i < n; i++) {
        side->lane[i].client = client;
        (void)snprintf(side->lane[i].name, sizeof side->lane[i].name, "job:%d",
                       i);
    }
}

static double run_once(struct side *side, double seconds)
{
    void *lanes[IN_FLIGHT];
    uint64_t errors;
    double rate;
    int i;

    if (side->is_in_flight) {
        return loop_fly(side->lane[0].client, side->n, seconds);
    }
    for (i = 0; i < side->n; i++) {
        lanes[i] = &side->lane[i];
    }
    rate = bench_load(side->n, seconds, side->turn, lanes, &errors);
    side->errors += errors;
    return rate;
}

static double used_seconds(const struct server *server)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6 +
           server_seconds(server);
}

static double run(const struct bench *b, struct side *side, double seconds)
{
    double used = used_seconds(b->server);
    int64_t begun = bench_now_ns();
    double rate = run_once(side, seconds);

    side->pairs += rate * (double)(bench_now_ns() - begun) / 1e9;
    side->cpu_seconds += used_seconds(b->server) - used;
    return rate;
}

static void take_turns(const struct bench *b, struct side *side[], int n_sides,
                       int rounds)
{
    double seconds = b->is_quick ? 0.1 : 0.2;
    int i;
    int k;

    /* The first segment of each opens and fills caches. */
    for (k = 0; k < n_sides; k++) {
        (void)run(b, side[k], 0.1);
    }
    for (i = 0; i < rounds; i++) {
        for (k = 0; k < n_sides; k++) {
            side[k]->rate[i] = run(b, side[k], seconds);
        }
    }
}

struct bout {
    int n;
    int n_raw;
    bool is_in_flight;
    int rounds;
    double target;
};

/* ---- figures ------------------------------------------------------------- */

static struct report_figure figure(const struct side *side, int flush,
                                   const char *what, double value)
{
    struct report_figure f = {.value = value, .unit = "pairs/s"};

    (void)snprintf(f.name, sizeof f.name, "mysql flush=%d, %d %s: %s", flush,
                   side->n, side->is_in_flight ? "async" : "thr", what);
    return f;
}

static void report_rate(const struct side *side, int flush, int rounds)
{
    double rate[ROUNDS_MAX];
    struct report_figure f;

    memcpy(rate, side->rate, sizeof rate);
    f = figure(side, flush, side->what, bench_median(rate, rounds));
    report_add(&f);
}

/* What does not depend on what else the machine does: processor time. */
static void report_cost(const struct side *side, int flush)
{
    char what[48];
    struct report_figure f;

    (void)snprintf(what, sizeof what, "%s, CPU", side->what);
    f = figure(side, flush, what, side->cpu_seconds * 1e6 / side->pairs);
    (void)snprintf(f.unit, sizeof f.unit, "us/pair");
    report_add(&f);
}

static double best_of(const struct side *side, int rounds)
{
    double best = 0;
    int i;

    for (i = 0; i < rounds; i++) {
        best = side->rate[i] > best ? side->rate[i] : best;
    }
    return best;
}

/* One side's rate over another's: the median, round by round, and that of the
 * best rounds, for what else the machine does only takes away, and most from
 * a side that has few threads. The goal is the latter's. */
static void report_ratio(const struct side *side, const struct side *raw,
                         int flush, const struct bout *bout)
{
    double ratio[ROUNDS_MAX];
    struct report_figure f;
    char what[40];
    int i;

    for (i = 0; i < bout->rounds; i++) {
        ratio[i] = side->rate[i] / raw->rate[i];
    }
    (void)snprintf(what, sizeof what, "library / raw %d", raw->n);
    f = figure(side, flush, what, bench_median(ratio, bout->rounds));
    (void)snprintf(f.unit, sizeof f.unit, "x");
    report_add(&f);
    (void)snprintf(what, sizeof what, "library / raw %d, best", raw->n);
    f = figure(side, flush, what,
               best_of(side, bout->rounds) / best_of(raw, bout->rounds));
    (void)snprintf(f.unit, sizeof f.unit, "x");
    if (bout->target > 0) {
        f.goal = REPORT_AT_LEAST;
        f.target = bout->target;
    }
    report_add(&f);
}

/* ---- comparisons --------------------------------------------------------- */

struct arena {
    const struct bench *b;
    const struct server *server;
    int flush;
    enum rawmysql_way way; /* the faster one */
    hf_client *client;
};

static int rounds_of(const struct arena *a, int full)
{
    return a->b->is_quick ? 10 : full;
}

/* Which yardstick is the longer one? */
static void choose(struct arena *a)
{
    static struct side prepared;
    static struct side text;
    struct side *side[] = {&prepared, &text};
    int rounds = rounds_of(a, 15);

    set_raw(&prepared, a->server, 1, RAWMYSQL_PREPARED);
    set_raw(&text, a->server, 1, RAWMYSQL_TEXT);
    take_turns(a->b, side, 2, rounds);
    end_raw(&prepared);
    end_raw(&text);
    report_rate(&prepared, a->flush, rounds);
    report_rate(&text, a->flush, rounds);
    a->way =
        bench_median(prepared.rate, rounds) >= bench_median(text.rate, rounds)
            ? RAWMYSQL_PREPARED
            : RAWMYSQL_TEXT;
}

static void compare(const struct arena *a, const struct bout *full)
{
    static struct side raw;
    static struct side library;
    struct side *side[] = {&raw, &library};
    struct bout of_ours = *full;
    const struct bout *bout = &of_ours;
    int rounds = rounds_of(a, full->rounds);

    of_ours.rounds = rounds;

    set_raw(&raw, a->server, bout->n_raw, a->way);
    set_library(&library, a->client, bout->n, bout->is_in_flight);
    take_turns(a->b, side, 2, rounds);
    end_raw(&raw);
    report_rate(&raw, a->flush, rounds);
    report_cost(&raw, a->flush);
    report_rate(&library, a->flush, rounds);
    report_cost(&library, a->flush);
    report_ratio(&library, &raw, a->flush, bout);
}

/* On names of their own, and all on one, where the deadlocks are. */
static void classic(const struct arena *a, int n, bool is_one)
{
    static struct side side;
    struct side *sides[] = {&side};
    struct report_figure f;
    struct server_counts before;
    struct server_counts after;
    int i;

    set_raw(&side, a->server, n, RAWMYSQL_CLASSIC);
    for (i = 0; i < n && is_one; i++) {
        (void)snprintf(side.lane[i].key, sizeof side.lane[i].key, "one name");
    }
    (void)snprintf(side.what, sizeof side.what, "INSERT/DELETE, %s",
                   is_one ? "one name" : "own names");
    before = server_count(a->server);
    take_turns(a->b, sides, 1, 4);
    after = server_count(a->server);
    end_raw(&side);
    report_rate(&side, a->flush, 4);
    f = figure(&side, a->flush,
               is_one ? "its deadlocks, one name" : "its deadlocks, own names",
               (double)(after.deadlocks - before.deadlocks));
    f.unit[0] = '\0';
    report_add(&f);
}

static void own_names(struct arena *a, int flush)
{
    static const struct bout bouts[] = {
        {1, 1, false, 11, 0.9},     {8, 8, false, 5, 0},
        {32, 32, false, 7, 2.5},    {128, 32, false, 5, 0},
        {IN_FLIGHT, 8, true, 7, 6},
    };
    size_t i;

    a->flush = flush;
    server_flush(a->server, flush);
    server_print(a->server);
    a->client = bench_open_as(a->b, "mysql", "");
    choose(a);
    for (i = 0; i < sizeof bouts / sizeof bouts[0]; i++) {
        compare(a, &bouts[i]);
    }
    hf_close(a->client);
    classic(a, 8, false);
    classic(a, 8, true);
}

/* ---- one name -------------------------------------------------------------
 */

/* In one process and in several; in one, more waiters are no more work. */
static void one_name(const struct bench *b)
{
    static const int n[] = {2, 8, 64, 256};
    double statements[sizeof n / sizeof n[0]];
    struct report_figure f = {.unit = "x", .goal = REPORT_BELOW, .target = 1.3};
    size_t i;

    for (i = 0; i < sizeof n / sizeof n[0]; i++) {
        statements[i] =
            contest_threads(b, &(struct contest_field){"mysql", n[i], false});
    }
    (void)snprintf(f.name, sizeof f.name,
                   "mysql, statements a hand-over, 256 thr / 2");
    f.value = statements[3] / statements[0];
    report_add(&f);
    for (i = 0; i < 4; i++) {
        struct contest_field field = {"mysql", i % 2 ? 64 : 8, i > 1};

        (void)contest_processes(b, &field);
    }
    waiting_wake(b, "mysql", 2);
}

void bench_mysql(const struct bench *b)
{
    struct server *server = server_start();
    struct bench with = *b;
    struct arena a = {.b = &with, .server = server};

    if (!server) {
        printf("-- mysql: left out, mariadbd is not installed "
               "(tools/setup.sh test)\n");
        return;
    }
    with.server = server;
    own_names(&a, 1);
    own_names(&a, 2);
    one_name(&with);
    server_stop(server);
}
