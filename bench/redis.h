/* SPDX-License-Identifier: MIT */
/*
 * The Redis stores, of one server and of a quorum of five, against locks made
 * by hand in the same servers. Says so and does nothing where Redis is not
 * installed.
 * Thread: main.
 */
#ifndef BENCH_REDIS_H
#define BENCH_REDIS_H

#include "bench/measure.h"

void bench_redis(const struct bench *b);
void bench_redlock(const struct bench *b);

#endif
