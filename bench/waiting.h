/* SPDX-License-Identifier: MIT */
/*
 * What a waiting process costs, and how soon it is woken.
 * Thread: main.
 */
#ifndef BENCH_WAITING_H
#define BENCH_WAITING_H

#include "bench/measure.h"

void bench_waiting(const struct bench *b);

#endif
