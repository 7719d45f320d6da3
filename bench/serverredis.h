/* SPDX-License-Identifier: MIT */
/*
 * The private Redis of the benchmarks, one or several for a quorum, which
 * write nothing to the disk; and what they count. Thread: main.
 */
#ifndef BENCH_SERVERREDIS_H
#define BENCH_SERVERREDIS_H

#include "bench/server.h"

struct serverredis;

/* 1: for redis://; more: for redlock://. NULL: it is not installed. No client
 * may be open. */
struct serverredis *serverredis_start(int n);
void serverredis_stop(struct serverredis *redis);
const struct server *serverredis_server(const struct serverredis *redis);
/* One line: which servers. */
void serverredis_print(const struct serverredis *redis);

/* For a raw connection. */
const int *serverredis_ports(const struct serverredis *redis);

/* Of all scripts that ran since the servers started, on all of them. */
struct serverredis_scripts {
    uint64_t calls;
    uint64_t us;
};
struct serverredis_scripts serverredis_scripts(const struct serverredis *redis);

#endif
