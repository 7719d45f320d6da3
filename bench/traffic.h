/* SPDX-License-Identifier: MIT */
/*
 * What the library asks of SQLite, counted from outside by SQLite itself: a
 * trace on each connection that this process opens while it is on. Costs one
 * call a statement. Thread: start and stop any, one at a time.
 */
#ifndef BENCH_TRAFFIC_H
#define BENCH_TRAFFIC_H

#include <stdint.h>

struct traffic {
    uint64_t transactions; /* that write */
    uint64_t looks;        /* transactions that only read */
    uint64_t statements;   /* within both, less BEGIN and COMMIT */
};

/* From now on, connections that are opened are counted. */
void traffic_start(void);
void traffic_stop(void);
/* What happened since the last call, or since the start. */
struct traffic traffic_since(void);

#endif
