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
/* Pairs per second of n in flight, on names of their own, for so long. */
double loop_fly(hf_client *client, int n, double seconds);

#endif
