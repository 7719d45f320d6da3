/* SPDX-License-Identifier: MIT */
/*
 * The MySQL store against locks made by hand in the same server. Says so and
 * does nothing where MariaDB is not installed.
 * Thread: main.
 */
#ifndef BENCH_MYSQL_H
#define BENCH_MYSQL_H

#include "bench/measure.h"

void bench_mysql(const struct bench *b);
/* Of scheme=session alone. */
void bench_mysql_session(const struct bench *b);

#endif
