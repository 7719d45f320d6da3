/* SPDX-License-Identifier: MIT */
/*
 * Pairs of acquire and release per second against raw SQLite.
 * Thread: main.
 */
#ifndef BENCH_THROUGHPUT_H
#define BENCH_THROUGHPUT_H

#include "bench/measure.h"

void bench_throughput(const struct bench *b);

#endif
