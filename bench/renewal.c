/* SPDX-License-Identifier: MIT */
/*
 * One client holds 10,000 locks, which its keeper renews every third of the
 * lease. Reported for each such period: transactions at the store, processor
 * time (that of this thread, which watches, taken off), and how much later
 * than due each lock's latest renewal was: a lock renewed on time never has
 * less left than two thirds of its lease, less the margin for clock drift, so
 * what it lacks of that, at its worst, is the lateness (looked at every 10 ms,
 * which may pass over that much). Thread: main.
 */
#include "bench/renewal.h"

#include "bench/report.h"
#include "bench/traffic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LOCKS     10000
#define SAMPLE_MS 10

struct watch {
    hf_lock *lock[LOCKS];
    double late_ms[LOCKS]; /* of each, the latest renewal */
    int64_t on_time_ms;    /* what a lock has left when its renewal is due */
    int lost;
};

static double used_us(int who)
{
    struct rusage usage;

    (void)getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static hf_lock *acquire_leased(hf_client *client, int number, int64_t lease_ms)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;
    hf_error err = HF_ERROR_INIT;
    char name[24];

    opts.lease_ms = lease_ms;
    (void)snprintf(name, sizeof name, "job:%d", number);
    if (hf_acquire(client, name, &opts, &lock, &err)) {
        bench_fail("acquire %s: %s", name, err.text);
    }
    return lock;
}

static void sample(struct watch *w)
{
    int i;

    w->lost = 0;
    for (i = 0; i < LOCKS; i++) {
        int64_t left_ms = hf_remaining_ms(w->lock[i]);
        double late_ms = (double)(w->on_time_ms - left_ms);

        w->late_ms[i] = late_ms > w->late_ms[i] ? late_ms : w->late_ms[i];
        w->lost += left_ms == 0;
    }
}

static void watch_for(struct watch *w, int64_t ms)
{
    int64_t until = bench_now_ns() + ms * 1000000;

    memset(w->late_ms, 0, sizeof w->late_ms);
    while (bench_now_ns() < until) {
        sample(w);
        bench_pause_ms(SAMPLE_MS);
    }
}

static void add(const char *name, const char *unit, double value)
{
    struct report_figure f = {.value = value};

    (void)snprintf(f.name, sizeof f.name, "%d locks renewed: %s", LOCKS, name);
    (void)snprintf(f.unit, sizeof f.unit, "%s", unit);
    report_add(&f);
}

/* Watches whole periods, after one in which all comes into its step. */
static void measure(struct watch *w, int64_t period_ms, int periods)
{
    struct traffic traffic;
    int64_t begun;
    double used;
    double seconds;

    watch_for(w, period_ms);
    begun = bench_now_ns();
    used = used_us(RUSAGE_SELF) - used_us(RUSAGE_THREAD);
    (void)traffic_since();
    watch_for(w, period_ms * periods);
    traffic = traffic_since();
    used = used_us(RUSAGE_SELF) - used_us(RUSAGE_THREAD) - used;
    seconds = (double)(bench_now_ns() - begun) / 1e9;
    add("period", "s", (double)period_ms / 1000);
    add("transactions a period", "",
        (double)traffic.transactions * (double)period_ms / 1000 / seconds);
    add("processor", "% of a core", used / 1e4 / seconds);
    add("late, median", "ms", bench_median(w->late_ms, LOCKS));
    add("late, worst", "ms", bench_percentile(w->late_ms, LOCKS, 1));
    report_add(&(struct report_figure){"locks lost by late renewal", "",
                                       w->lost, REPORT_BELOW, 1});
}

void bench_renewal(const struct bench *b)
{
    int64_t lease_ms = b->is_quick ? 6000 : 15000;
    struct watch *w = calloc(1, sizeof *w);
    hf_client *client;
    int64_t begun;
    int i;

    if (!w) {
        bench_fail("out of memory");
    }
    traffic_start();
    client = bench_open(b, "renewal.db");
    begun = bench_now_ns();
    for (i = 0; i < LOCKS; i++) {
        w->lock[i] = acquire_leased(client, i, lease_ms);
    }
    add("acquired one by one", "/s",
        LOCKS * 1e9 / (double)(bench_now_ns() - begun));
    w->on_time_ms = lease_ms - lease_ms / 3 - lease_ms / 100 - 5;
    measure(w, lease_ms / 3, b->is_quick ? 2 : 3);
    hf_close(client);
    for (i = 0; i < LOCKS; i++) {
        hf_free(w->lock[i]);
    }
    traffic_stop();
    free(w);
}
