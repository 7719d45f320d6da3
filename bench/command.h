/* SPDX-License-Identifier: MIT */
/*
 * The time of `holdfast run x -- true` against `flock file true`.
 * Thread: main.
 */
#ifndef BENCH_COMMAND_H
#define BENCH_COMMAND_H

#include "bench/measure.h"

void bench_command(const struct bench *b);

#endif
