/* SPDX-License-Identifier: MIT */
/*
 * The private PostgreSQL of the benchmarks: started for them, with the data on
 * the disk and the memory that the server takes by default; what it counts.
 * Thread: main.
 */
#ifndef BENCH_SERVERPOSTGRES_H
#define BENCH_SERVERPOSTGRES_H

#include "bench/server.h"

struct serverpostgres;

/* NULL: it is not installed. No client may be open. */
struct serverpostgres *serverpostgres_start(void);
void serverpostgres_stop(struct serverpostgres *postgres);
const struct server *
serverpostgres_server(const struct serverpostgres *postgres);
/* Is each commit flushed to the disk? */
void serverpostgres_flush(const struct serverpostgres *postgres, bool is_on);
/* One line: which server, and what it promises. */
void serverpostgres_print(const struct serverpostgres *postgres);

#endif
