/* SPDX-License-Identifier: MIT */
/*
 * The turns and the figures. Whose side it is, the stores' files decide.
 */
#include "bench/sides.h"

#include "bench/loop.h"
#include "bench/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static bool turn_raw(struct bench_worker *w)
{
    struct side_lane *lane = w->arg;

    return lane->pair(lane->raw, lane->key);
}

static double fly_raw(struct side *side, double seconds)
{
    return side->by_hand->fly(side->lane[0].raw, side->n, seconds);
}

static bool turn_library(struct bench_worker *w)
{
    struct side_lane *lane = w->arg;

    bench_release(bench_acquire(lane->client, lane->name));
    return true;
}

static double fly_library(struct side *side, double seconds)
{
    return loop_fly(side->lane[0].client, side->n, seconds);
}

void side_set_raw(struct side *side, const struct sides_raw *raw, int n,
                  bool is_in_flight)
{
    int connections = is_in_flight ? 1 : n;
    int i;

    *side = (struct side){.n = n,
                          .by_hand = raw,
                          .turn = turn_raw,
                          .fly = is_in_flight ? fly_raw : NULL};
    (void)snprintf(side->what, sizeof side->what, "%s%s", raw->name,
                   is_in_flight ? ", in flight" : "");
    for (i = 0; i < n; i++) {
        (void)snprintf(side->lane[i].key, sizeof side->lane[i].key,
                       "holdfast:job:%d", i);
        side->lane[i].pair = raw->pair;
    }
    for (i = 0; i < connections; i++) {
        side->lane[i].raw = raw->open(raw->of);
    }
}

void side_end_raw(struct side *side)
{
    int i;

    for (i = 0; i < side->n && side->lane[i].raw; i++) {
        side->by_hand->close(side->lane[i].raw);
    }
}

void side_set_library(struct side *side, hf_client *client, int n,
                      bool is_in_flight)
{
    int i;

    *side = (struct side){
        .n = n, .turn = turn_library, .fly = is_in_flight ? fly_library : NULL};
    (void)snprintf(side->what, sizeof side->what, "library%s",
                   is_in_flight ? ", in flight" : "");
    for (i = 0; i < n; i++) {
        side->lane[i].client = client;
        (void)snprintf(side->lane[i].name, sizeof side->lane[i].name, "job:%d",
                       i);
    }
}

/* ---- turns --------------------------------------------------------------- */

static double run_once(struct side *side, double seconds)
{
    void *lanes[SIDES_IN_FLIGHT];
    uint64_t errors;
    double rate;
    int i;

    if (side->fly) {
        return side->fly(side, seconds);
    }
    for (i = 0; i < side->n; i++) {
        lanes[i] = &side->lane[i];
    }
    rate = bench_load(side->n, seconds, side->turn, lanes, &errors);
    side->errors += errors;
    return side->pairs_a_turn > 0 ? rate * side->pairs_a_turn : rate;
}

static double own_seconds(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double run(const struct sides *s, struct side *side, double seconds)
{
    const struct server *server = s->b->server;
    double own = own_seconds();
    double servers = server->seconds(server);
    int64_t begun = bench_now_ns();
    double rate = run_once(side, seconds);

    side->pairs += rate * (double)(bench_now_ns() - begun) / 1e9;
    side->own_seconds += own_seconds() - own;
    side->server_seconds += server->seconds(server) - servers;
    return rate;
}

int sides_rounds(const struct sides *s, int full)
{
    return s->b->is_quick ? 10 : full;
}

void sides_take_turns(const struct sides *s, struct side *side[], int n_sides,
                      int rounds)
{
    double seconds = s->b->is_quick ? 0.1 : 0.2;
    int i;
    int k;

    /* The first segment of each opens and fills caches. */
    for (k = 0; k < n_sides; k++) {
        (void)run(s, side[k], 0.1);
    }
    for (i = 0; i < rounds; i++) {
        for (k = 0; k < n_sides; k++) {
            side[k]->rate[i] = run(s, side[k], seconds);
        }
    }
}

/* ---- figures ------------------------------------------------------------- */

struct report_figure sides_figure(const struct sides *s,
                                  const struct side *side, const char *what,
                                  double value)
{
    struct report_figure f = {.value = value, .unit = "pairs/s"};

    (void)snprintf(f.name, sizeof f.name, "%s, %d %s: %s", s->label, side->n,
                   side->fly ? "async" : "thr", what);
    return f;
}

void sides_report_rate(const struct sides *s, const struct side *side,
                       int rounds)
{
    double rate[SIDES_ROUNDS_MAX];
    struct report_figure f;

    memcpy(rate, side->rate, sizeof rate);
    f = sides_figure(s, side, side->what, bench_median(rate, rounds));
    report_add(&f);
}

/* What does not depend on what else the machine does: processor time. */
static void report_cost(const struct sides *s, const struct side *side)
{
    char what[48];
    struct report_figure f;

    (void)snprintf(what, sizeof what, "%s, CPU", side->what);
    f = sides_figure(s, side, what, side->own_seconds * 1e6 / side->pairs);
    (void)snprintf(f.unit, sizeof f.unit, "us/pair");
    report_add(&f);
    (void)snprintf(what, sizeof what, "%s, CPU of servers", side->what);
    f = sides_figure(s, side, what, side->server_seconds * 1e6 / side->pairs);
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
static void report_ratio(const struct sides *s, const struct side *side[2],
                         int rounds, double target)
{
    const struct side *raw = side[0];
    const struct side *library = side[1];
    double ratio[SIDES_ROUNDS_MAX];
    struct report_figure f;
    char what[80];
    char best[96];
    int i;

    for (i = 0; i < rounds; i++) {
        ratio[i] = library->rate[i] / raw->rate[i];
    }
    (void)snprintf(what, sizeof what, "%s / %s %d",
                   raw->by_hand ? "library" : library->what,
                   raw->by_hand ? "raw" : raw->what, raw->n);
    f = sides_figure(s, library, what, bench_median(ratio, rounds));
    (void)snprintf(f.unit, sizeof f.unit, "x");
    report_add(&f);
    (void)snprintf(best, sizeof best, "%s, best", what);
    f = sides_figure(s, library, best,
                     best_of(library, rounds) / best_of(raw, rounds));
    (void)snprintf(f.unit, sizeof f.unit, "x");
    if (target > 0) {
        f.goal = REPORT_AT_LEAST;
        f.target = target;
    }
    report_add(&f);
}

void sides_compare(const struct sides *s, struct side *raw,
                   struct side *library, int full_rounds, double target)
{
    struct side *side[] = {raw, library};
    int rounds = sides_rounds(s, full_rounds);
    int i;

    sides_take_turns(s, side, 2, rounds);
    for (i = 0; i < 2; i++) {
        sides_report_rate(s, side[i], rounds);
        report_cost(s, side[i]);
    }
    report_ratio(s, (const struct side *[]){raw, library}, rounds, target);
}

/* ---- bouts --------------------------------------------------------------- */

static void fight(const struct sides *s, hf_client *client,
                  const struct sides_bout *bout)
{
    static struct side raw;
    static struct side library;

    side_set_raw(&raw, &s->raw, bout->n_raw ? bout->n_raw : bout->n,
                 bout->is_in_flight && s->raw.fly);
    side_set_library(&library, client, bout->n, bout->is_in_flight);
    sides_compare(s, &raw, &library, bout->rounds, bout->target);
    if (s->after) {
        s->after(s, &raw);
        s->after(s, &library);
    }
    side_end_raw(&raw);
}

void sides_own_names(const struct sides *s, const struct sides_bout bouts[],
                     size_t n)
{
    hf_client *client = bench_open_as(s->b, s->b->server->scheme, "");
    size_t i;

    for (i = 0; i < n; i++) {
        fight(s, client, &bouts[i]);
    }
    hf_close(client);
}
