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

/* In one process, and in as many as there are rivals. Each gives what the
 * store did for a hand-over, in statements or what its clients ask; of
 * processes only a server knows.
 */
double contest_threads(const struct bench *b, const struct contest_field *f);
double contest_processes(const struct bench *b, const struct contest_field *f);
/* In one process, with more and more threads: the last number of them should
 * be no more work for the store, a hand-over, than the first. */
void contest_steady(const struct bench *b, const char *scheme, const int n[],
                    size_t count);
/* 8 and 64 processes, in line and not. */
void contest_crowds(const struct bench *b, const char *scheme);

#endif
