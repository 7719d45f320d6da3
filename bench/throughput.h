/* SPDX-License-Identifier: MIT */
/*
 * Pairs of acquire and release per second against locks that are made by
 * hand, in SQLite and in files.
 * Thread: main.
 */
#ifndef BENCH_THROUGHPUT_H
#define BENCH_THROUGHPUT_H

#include "bench/measure.h"

void bench_throughput(const struct bench *b);
void bench_files(const struct bench *b);

#endif
