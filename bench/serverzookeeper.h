/* SPDX-License-Identifier: MIT */
/*
 * The private ZooKeeper of the benchmarks, alone, with the memory and the
 * compiler of a server that is to be fast; and what it counts. Thread: main.
 */
#ifndef BENCH_SERVERZOOKEEPER_H
#define BENCH_SERVERZOOKEEPER_H

#include "bench/server.h"

struct serverzookeeper;

/* Each write flushed to the disk before its answer, as is ZooKeeper's custom,
 * or its log in memory and never flushed. NULL: it is not installed. No client
 * may be open. */
struct serverzookeeper *serverzookeeper_start(bool is_flushed);
void serverzookeeper_stop(struct serverzookeeper *zookeeper);
const struct server *
serverzookeeper_server(const struct serverzookeeper *zookeeper);
/* One line: which server, and what it promises. */
void serverzookeeper_print(const struct serverzookeeper *zookeeper);

/* For a raw handle. */
int serverzookeeper_port(const struct serverzookeeper *zookeeper);

#endif
