/* SPDX-License-Identifier: MIT */
/*
 * The ZooKeeper store against locks made by hand in the same server. Says so
 * and does nothing where ZooKeeper is not installed.
 * Thread: main.
 */
#ifndef BENCH_ZOOKEEPER_H
#define BENCH_ZOOKEEPER_H

#include "bench/measure.h"

void bench_zookeeper(const struct bench *b);

#endif
