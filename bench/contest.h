/* SPDX-License-Identifier: MIT */
/*
 * Many who want one name: rate, fairness, longest wait.
 * Thread: main.
 */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "bench/measure.h"

void bench_contest(const struct bench *b);

#endif
