/* SPDX-License-Identifier: MIT */
/*
 * The PostgreSQL store against its own statements sent by hand. Says so and
 * does nothing where PostgreSQL is not installed.
 * Thread: main.
 */
#ifndef BENCH_POSTGRES_H
#define BENCH_POSTGRES_H

#include "bench/measure.h"

void bench_postgres(const struct bench *b);

#endif
