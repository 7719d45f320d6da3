/* SPDX-License-Identifier: MIT */
/*
 * The private MariaDB of the benchmarks: started for them, with the data on
 * the disk and the memory that the server takes by default; what it counts.
 * Thread: main.
 */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include "bench/measure.h"

struct server;

/* NULL: it is not installed. No client may be open. */
struct server *server_start(void);
void server_stop(struct server *server);
/* innodb_flush_log_at_trx_commit: 1 or 2. */
void server_flush(const struct server *server, int flush);
/* One line: which server, and what it promises. */
void server_print(const struct server *server);

/* For a client of the library; for a raw connection. */
const char *server_url(const struct server *server);
int server_port(const struct server *server);
const char *server_database(const struct server *server);

struct server_counts {
    uint64_t statements;
    uint64_t deadlocks;
};

/* Since it started. */
struct server_counts server_count(const struct server *server);
/* Of processor time that it has used. */
double server_seconds(const struct server *server);

#endif
