/* SPDX-License-Identifier: MIT */
/*
 * What the command costs a script: `holdfast run x -- true` on a SQLite
 * store against `flock file true`, one after the other, from spawn to exit.
 * Thread: main.
 */
#include "bench/command.h"

#include "bench/report.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS_MAX 100

/* In milliseconds. */
static double time_command(const char *const argv[])
{
    int64_t begun = bench_now_ns();
    pid_t pid;
    /* It does not write to them; its type is older than const. */
    char *const *words = (char *const *)(uintptr_t)argv;
    int number = posix_spawnp(&pid, argv[0], NULL, NULL, words, environ);

    if (number) {
        bench_fail("%s: %s", argv[0], strerror(number));
    }
    bench_join(pid);
    return (double)(bench_now_ns() - begun) / 1e6;
}

void bench_command(const struct bench *b)
{
    double ours[ROUNDS_MAX];
    double theirs[ROUNDS_MAX];
    char url[600];
    char path[600];
    const char *run[] = {b->command, "run", "x", "--", "true", NULL};
    const char *flock[] = {"flock", path, "true", NULL};
    int rounds = b->is_quick ? 30 : 100;
    int i;

    if (!b->command) {
        return;
    }
    bench_path(b, "flock", path, sizeof path);
    (void)snprintf(url, sizeof url, "sqlite:%s/command.db", b->folder);
    (void)setenv("HOLDFAST_URL", url, 1);
    (void)time_command(run);
    (void)time_command(flock);
    for (i = 0; i < rounds; i++) {
        ours[i] = time_command(run);
        theirs[i] = time_command(flock);
    }
    report_add(&(struct report_figure){"flock file true", "ms",
                                       bench_median(theirs, rounds),
                                       REPORT_NO_GOAL, 0});
    report_add(&(struct report_figure){"holdfast run x -- true", "ms",
                                       bench_median(ours, rounds),
                                       REPORT_NO_GOAL, 0});
    report_add(&(struct report_figure){
        "holdfast run x -- true, more than flock", "ms",
        bench_median(ours, rounds) - bench_median(theirs, rounds), REPORT_BELOW,
        5});
}
