/* SPDX-License-Identifier: MIT */
/*
 * What every measurement needs: the clock, order statistics, processes,
 * threads that begin together, a client on the bench's own store. Whatever
 * cannot go on ends the program with a line on stderr. Thread: any.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "include/holdfast.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_THREADS_MAX 1000

struct server;

struct bench {
    const char *folder;          /* for databases; ours */
    const char *command;         /* the holdfast command; NULL: leave it out */
    const struct server *server; /* whose store is measured; or NULL */
    const char *url; /* of a store on it, instead of the server's; or NULL */
    bool is_quick;
};

/* CLOCK_MONOTONIC, which processes share. */
int64_t bench_now_ns(void);
void bench_pause_ms(int ms);

/* Of n values, which are sorted by the way; p from 0 to 1. */
double bench_percentile(double *values, int n, double p);
double bench_median(double *values, int n);

__attribute__((noreturn, format(printf, 1, 2))) void
bench_fail(const char *format, ...);

/* "FOLDER/NAME" in a buffer of `size` bytes. */
void bench_path(const struct bench *b, const char *name, char *path,
                size_t size);
/* A client on the SQLite store NAME in the bench's folder. */
hf_client *bench_open(const struct bench *b, const char *name);
/* The same on a store of another kind of files, or on the server. */
hf_client *bench_open_as(const struct bench *b, const char *scheme,
                         const char *name);
/* Acquire for ever; release and free. */
hf_lock *bench_acquire(hf_client *client, const char *name);
hf_lock *bench_acquire_fair(hf_client *client, const char *name);
void bench_release(hf_lock *lock);

/* Zeroed memory that children forked later share. */
void *bench_shared(size_t size);
/* fn(arg) in a child; no client may be open. */
pid_t bench_fork(void (*fn)(void *arg), void *arg);
/* Ends the program if the child failed. */
void bench_join(pid_t pid);

/* One of several threads that begin together. */
struct bench_worker {
    int index;
    uint64_t rounds; /* how often `turn` was called; in all segments */
    uint64_t errors; /* how often it gave false */
    void *arg;       /* the caller's */
};

/*
 * n threads call `turn` over and over for so long; *ret_errors (may be NULL)
 * is how often it gave false. Gives the successes per second.
 */
double bench_load(int n, double seconds, bool (*turn)(struct bench_worker *),
                  void *const args[], uint64_t *ret_errors);

#endif
