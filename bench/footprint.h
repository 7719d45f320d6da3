/* SPDX-License-Identifier: MIT */
/*
 * Memory of a held lock. First of all, before the library is used.
 * Thread: main.
 */
#ifndef BENCH_FOOTPRINT_H
#define BENCH_FOOTPRINT_H

#include "bench/measure.h"

void bench_footprint(const struct bench *b);

#endif
