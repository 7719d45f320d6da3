/* SPDX-License-Identifier: MIT */
/*
 * Many who want one name: rate, fairness, longest wait.
 * Thread: main.
 */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "bench/measure.h"

void bench_contest(const struct bench *b);

struct contest_field {
    const char *scheme;
    int n;
    bool is_fair;
};

/* For a hand-over. */
struct contest_cost {
    double asked;     /* statements, or what clients ask of a server */
    double server_us; /* of its processor time */
    double handed_us; /* the median: from the release to the next grant */
};

/* In one process: what the store did, in statements or what its clients ask. */
double contest_threads(const struct bench *b, const struct contest_field *f);
/* In as many as there are rivals; of a store without a server only the last is
 * known. */
struct contest_cost contest_processes(const struct bench *b,
                                      const struct contest_field *f);
/* In one process, with more and more threads: the last number of them should
 * be no more work for the store, a hand-over, than the first. */
void contest_steady(const struct bench *b, const char *scheme, const int n[],
                    size_t count);
/* 8 and 64 processes, in line and not; where they are not, a hand-over of 64
 * should cost less than so many times that of 8, unless the target is 0. */
void contest_crowds(const struct bench *b, const char *scheme, double target);

#endif
