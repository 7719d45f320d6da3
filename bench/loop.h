/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous acquires and releases of one thread against as many threads
 * that wait.
 * Thread: main.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include "bench/measure.h"

void bench_loop(const struct bench *b);

#endif
