/* SPDX-License-Identifier: MIT */
/*
 * The benchmarks in one run: options, the folder for the databases, the
 * order. What is measured is in the files named after it. Thread: main.
 *
 *     bench [--quick] [--only PART] [--json FILE] [--command HOLDFAST]
 *
 * A part is meant by how its name begins: "redis" is two.
 */
#include "bench/command.h"
#include "bench/contest.h"
#include "bench/footprint.h"
#include "bench/loop.h"
#include "bench/measure.h"
#include "bench/mysql.h"
#include "bench/postgres.h"
#include "bench/redis.h"
#include "bench/renewal.h"
#include "bench/report.h"
#include "bench/throughput.h"
#include "bench/waiting.h"
#include "bench/zookeeper.h"

#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first must come first: see footprint.h. */
static const struct {
    const char *name;
    void (*run)(const struct bench *b);
} parts[] = {
    {"footprint", bench_footprint}, {"throughput", bench_throughput},
    {"files", bench_files},         {"waiting", bench_waiting},
    {"contest", bench_contest},     {"loop", bench_loop},
    {"renewal", bench_renewal},     {"command", bench_command},
    {"mysql", bench_mysql},         {"session", bench_mysql_session},
    {"redis", bench_redis},         {"redis-quorum", bench_redlock},
    {"zookeeper", bench_zookeeper}, {"postgres", bench_postgres},
};

static char folder[256];
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Children that fail come by here too. */
static void remove_folder(void)
{
    if (getpid() == owner) {
        (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
}

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(folder, sizeof folder, "%s/holdfast-bench.XXXXXX",
                   tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        bench_fail("%s: %s", folder, strerror(errno));
    }
    owner = getpid();
    (void)atexit(remove_folder);
}

static void write_json(const char *path)
{
    FILE *out = strcmp(path, "-") ? fopen(path, "w") : stdout;

    if (!out) {
        bench_fail("%s: %s", path, strerror(errno));
    }
    report_json(out);
    if (fflush(out)) {
        bench_fail("%s: %s", path, strerror(errno));
    }
    if (out != stdout) {
        (void)fclose(out);
    }
}

static void usage(void)
{
    bench_fail("usage: bench [--quick] [--only footprint|throughput|files|"
               "waiting|contest|loop|renewal|command|mysql|redis|redis-quorum|"
               "zookeeper|postgres] [--json FILE] [--command HOLDFAST]");
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {
        {"quick", no_argument, NULL, 'q'},
        {"only", required_argument, NULL, 'o'},
        {"json", required_argument, NULL, 'j'},
        {"command", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0},
    };
    struct bench b = {.folder = folder};
    const char *only = NULL;
    const char *json = NULL;
    size_t i;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'q':
            b.is_quick = true;
            break;
        case 'o':
            only = optarg;
            break;
        case 'j':
            json = optarg;
            break;
        case 'c':
            b.command = optarg;
            break;
        default:
            usage();
        }
    }
    make_folder();
    report_machine(&b);
    for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!only || !strncmp(only, parts[i].name, strlen(only))) {
            parts[i].run(&b);
        }
    }
    report_end();
    if (json) {
        write_json(json);
    }
    return 0;
}
