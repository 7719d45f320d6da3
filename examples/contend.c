/* SPDX-License-Identifier: MIT */
/*
 * Three workers want one lock, as three programs would: each has a client of
 * its own. Each holds the lock four times, for a random while, and for each
 * attempt one line says whether it got the lock and what the store knows of
 * it. The program checks as it goes that no two workers are in at once and
 * that the fencing number only rises.
 *
 *     contend [URL]        without a URL: SQLite in a temporary folder
 */
#include <holdfast.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NAME     "order:1001"
#define WORKERS  3
#define TURNS    4
#define LEASE_MS 10000

struct worker {
    pthread_t thread;
    const char *url;
    char label[16];
    unsigned seed;
    int turns; /* how often it held the lock */
};

static struct timespec started;

/* What the lock protects; atomic only so that a broken lock is seen. */
static atomic_int inside;
static atomic_ullong last_fence;
static atomic_int mistakes;

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - started.tv_sec) +
           (double)(now.tv_nsec - started.tv_nsec) / 1e9;
}

static int between(struct worker *w, int low, int high)
{
    return low + rand_r(&w->seed) % (high - low + 1);
}

/* One line: who tried, what came of it, and the lock's record now. */
static void report(const struct worker *w, hf_client *client, const char *what)
{
    char record[160] = "the store does not answer";
    hf_info *info = NULL;

    if (hf_inspect(client, NAME, &info, NULL) == HF_OK) {
        if (hf_info_presence(info) == HF_HELD_BY) {
            snprintf(record, sizeof record,
                     "held by %s, fence %llu, %.1f s of its lease left",
                     hf_info_label(info) ? hf_info_label(info) : "unknown",
                     (unsigned long long)hf_info_fence(info),
                     (double)hf_info_remaining_ms(info) / 1000);
        } else {
            snprintf(record, sizeof record, "free");
        }
    }
    hf_info_free(info);
    printf("%6.2f s  %s %-14s %s\n", seconds(), w->label, what, record);
}

static void mistake(const struct worker *w, const char *what)
{
    printf("%6.2f s  %s MISTAKE: %s\n", seconds(), w->label, what);
    atomic_fetch_add(&mistakes, 1);
}

/* The work under the lock. */
static void work(struct worker *w, const hf_lock *lock)
{
    unsigned long long fence = hf_fence(lock);

    if (atomic_fetch_add(&inside, 1) != 0) {
        mistake(w, "another worker is in, too");
    }
    if (atomic_exchange(&last_fence, fence) >= fence) {
        mistake(w, "the fence did not rise");
    }
    poll(NULL, 0, between(w, 200, 900));
    if (!hf_held(lock)) {
        mistake(w, "the lock was lost");
    }
    atomic_fetch_sub(&inside, 1);
}

/* Try once, with some patience. False: give up, the store has failed. */
static bool take_turn(struct worker *w, hf_client *client)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    int r;

    opts.wait_ms = between(w, 100, 700);
    opts.lease_ms = LEASE_MS;
    opts.owner = w->label;
    r = hf_acquire(client, NAME, &opts, &lock, &err);
    if (r == HF_TIMEDOUT) {
        report(w, client, "did not get it");
        return true;
    }
    if (r != HF_OK) {
        printf("%6.2f s  %s %s: %s\n", seconds(), w->label, hf_strstatus(r),
               err.text);
        return false;
    }
    report(w, client, "GOT IT");
    w->turns++;
    work(w, lock);
    if (hf_release(lock, &err) != HF_OK) {
        mistake(w, err.text);
    }
    hf_free(lock);
    poll(NULL, 0, between(w, 0, 200));
    return true;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;

    if (hf_open(w->url, NULL, &client, &err) != HF_OK) {
        printf("%s: %s\n", w->label, err.text);
        return NULL;
    }
    while (w->turns < TURNS && take_turn(w, client)) {
        continue;
    }
    hf_close(client);
    return NULL;
}

static int contend(const char *url)
{
    struct worker workers[WORKERS];
    int turns = 0;

    printf("%d workers, one lock (%s), store %s\n", WORKERS, NAME, url);
    clock_gettime(CLOCK_MONOTONIC, &started);
    for (int i = 0; i < WORKERS; i++) {
        struct worker *w = &workers[i];

        *w = (struct worker){.url = url};
        w->seed = (unsigned)started.tv_nsec + (unsigned)i;
        snprintf(w->label, sizeof w->label, "worker-%d", i + 1);
        if (pthread_create(&w->thread, NULL, run, w)) {
            fprintf(stderr, "cannot start a thread\n");
            exit(1);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        turns += workers[i].turns;
    }
    printf("%6.2f s  the lock was held %d times; mistakes: %d\n", seconds(),
           turns, atomic_load(&mistakes));
    return turns == WORKERS * TURNS && atomic_load(&mistakes) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"", "-wal", "-shm", "-holdfast"};
    char folder[] = "/tmp/holdfast-contend-XXXXXX";
    char path[80];
    int r;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1) {
        return contend(argv[1]);
    }
    if (!mkdtemp(folder)) {
        perror(folder);
        return 1;
    }
    snprintf(path, sizeof path, "sqlite:%s/locks.db", folder);
    r = contend(path);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/locks.db%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    return r;
}
