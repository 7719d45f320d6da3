/* SPDX-License-Identifier: MIT */
/*
 * What a waiting process costs, and how soon it is woken.
 * Thread: main.
 */
#ifndef BENCH_WAITING_H
#define BENCH_WAITING_H

#include "bench/measure.h"

void bench_waiting(const struct bench *b);
/* From a release in one process to the grant in another, on such a store:
 * the median should be below that, unless it is 0. */
void waiting_wake(const struct bench *b, const char *scheme, double goal_ms);

#endif
