/* SPDX-License-Identifier: MIT */
/*
 * What it costs to keep many locks, and how punctually that is done.
 * Thread: main.
 */
#ifndef BENCH_RENEWAL_H
#define BENCH_RENEWAL_H

#include "bench/measure.h"

void bench_renewal(const struct bench *b);

#endif
