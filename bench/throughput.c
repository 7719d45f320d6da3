/* SPDX-License-Identifier: MIT */
/*
 * Pairs of acquire and release per second, by hand (in SQLite, in files) and
 * of the library, each thread on a name of its own. The two take turns in short
 * segments, so that what else the machine does hits both; the ratio is the
 * median over the rounds. The library's threads share one client, raw's have a
 * connection each. Thread: main.
 */
#include "bench/throughput.h"

#include "bench/raw.h"
#include "bench/rawfile.h"
#include "bench/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BUSY_MS    5000
#define ROUNDS_MAX 16

struct lane {
    char name[24];
    char key[32];
    hf_client *client;
    struct raw *raw; /* of SQLite … */
    char path[640];  /* … and of files */
};

/* A store and the yardstick beside it. */
struct rival {
    const char *name; /* of the yardstick */
    bool (*turn)(struct bench_worker *);
};

struct tally {
    double raw[ROUNDS_MAX];
    double library[ROUNDS_MAX];
    double ratio[ROUNDS_MAX];
    uint64_t raw_errors;
    int rounds;
};

static bool turn_raw(struct bench_worker *w)
{
    struct lane *lane = w->arg;

    return raw_pair(lane->raw, lane->key);
}

static bool turn_rawfile(struct bench_worker *w)
{
    struct lane *lane = w->arg;

    return rawfile_pair(lane->path);
}

static bool turn_library(struct bench_worker *w)
{
    struct lane *lane = w->arg;

    bench_release(bench_acquire(lane->client, lane->name));
    return true;
}

static const struct rival sqlite = {"raw SQLite", turn_raw};
static const struct rival files = {"raw files", turn_rawfile};

static void take_turns(const struct rival *rival, void *const lanes[], int n,
                       double seconds, struct tally *t)
{
    uint64_t errors;
    int i;

    /* The first segment of each opens, prepares and fills caches. */
    (void)bench_load(n, 0.05, rival->turn, lanes, NULL);
    (void)bench_load(n, 0.05, turn_library, lanes, NULL);
    for (i = 0; i < t->rounds; i++) {
        t->raw[i] = bench_load(n, seconds, rival->turn, lanes, &errors);
        t->raw_errors += errors;
        t->library[i] = bench_load(n, seconds, turn_library, lanes, NULL);
        t->ratio[i] = t->library[i] / t->raw[i];
    }
}

static struct report_figure figure(int n, const char *what, const char *unit,
                                   double value)
{
    struct report_figure f = {.value = value};

    (void)snprintf(f.name, sizeof f.name, "%d thread%s: %s", n,
                   n == 1 ? "" : "s", what);
    (void)snprintf(f.unit, sizeof f.unit, "%s", unit);
    return f;
}

/* In files the library's figures say so, too. */
static const char *of_library(const struct rival *rival, const char *what)
{
    static char text[32];

    (void)snprintf(text, sizeof text, "%s%s", what,
                   rival == &files ? ", files" : "");
    return text;
}

static void report(const struct rival *rival, int n, double target,
                   struct tally *t)
{
    struct report_figure f =
        figure(n, rival->name, "pairs/s", bench_median(t->raw, t->rounds));

    report_add(&f);
    if (t->raw_errors > 0) {
        f = figure(n, "raw, failed pairs", "", (double)t->raw_errors);
        report_add(&f);
    }
    f = figure(n, of_library(rival, "library"), "pairs/s",
               bench_median(t->library, t->rounds));
    report_add(&f);
    f = figure(n, of_library(rival, "library / raw"), "x",
               bench_median(t->ratio, t->rounds));
    if (target > 0) {
        f.goal = REPORT_AT_LEAST;
        f.target = target;
    }
    report_add(&f);
}

static void compare(const struct bench *b, int n, int rounds, double target)
{
    struct lane lane[BENCH_THREADS_MAX];
    void *lanes[BENCH_THREADS_MAX];
    struct tally tally = {.rounds = rounds};
    hf_client *client = bench_open(b, "library.db");
    char path[600];
    int i;

    bench_path(b, "raw.db", path, sizeof path);
    for (i = 0; i < n; i++) {
        lanes[i] = &lane[i];
        lane[i].client = client;
        lane[i].raw = raw_open(path, BUSY_MS);
        (void)snprintf(lane[i].name, sizeof lane[i].name, "job:%d", i);
        (void)snprintf(lane[i].key, sizeof lane[i].key, "holdfast:job:%d", i);
    }
    take_turns(&sqlite, lanes, n, b->is_quick ? 0.2 : 0.5, &tally);
    for (i = 0; i < n; i++) {
        raw_close(lane[i].raw);
    }
    hf_close(client);
    report(&sqlite, n, target, &tally);
}

void bench_throughput(const struct bench *b)
{
    compare(b, 1, b->is_quick ? 7 : 13, 0.8);
    compare(b, 8, b->is_quick ? 4 : 7, 0);
    compare(b, 32, b->is_quick ? 5 : 11, 2);
    compare(b, 128, b->is_quick ? 3 : 7, 0);
}

static void compare_files(const struct bench *b, int n, int rounds,
                          double target)
{
    struct lane lane[BENCH_THREADS_MAX];
    void *lanes[BENCH_THREADS_MAX];
    struct tally tally = {.rounds = rounds};
    hf_client *client = bench_open_as(b, "file", "locks");
    char folder[600];
    int i;

    bench_path(b, "raw", folder, sizeof folder);
    if (mkdir(folder, 0700) && errno != EEXIST) {
        bench_fail("%s: %s", folder, strerror(errno));
    }
    for (i = 0; i < n; i++) {
        lanes[i] = &lane[i];
        lane[i].client = client;
        (void)snprintf(lane[i].name, sizeof lane[i].name, "job:%d", i);
        (void)snprintf(lane[i].path, sizeof lane[i].path, "%s/job:%d", folder,
                       i);
    }
    take_turns(&files, lanes, n, b->is_quick ? 0.2 : 0.5, &tally);
    hf_close(client);
    report(&files, n, target, &tally);
}

void bench_files(const struct bench *b)
{
    compare_files(b, 1, b->is_quick ? 7 : 13, 0.5);
    compare_files(b, 8, b->is_quick ? 4 : 7, 0.5);
    compare_files(b, 32, b->is_quick ? 5 : 11, 0.5);
}
