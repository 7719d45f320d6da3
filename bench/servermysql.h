/* SPDX-License-Identifier: MIT */
/*
 * The private MariaDB of the benchmarks: started for them, with the data on
 * the disk and the memory that the server takes by default; what it counts.
 * Thread: main.
 */
#ifndef BENCH_SERVERMYSQL_H
#define BENCH_SERVERMYSQL_H

#include "bench/server.h"

struct servermysql;

/* NULL: it is not installed. No client may be open. */
struct servermysql *servermysql_start(void);
void servermysql_stop(struct servermysql *mysql);
const struct server *servermysql_server(const struct servermysql *mysql);
/* innodb_flush_log_at_trx_commit: 1 or 2. */
void servermysql_flush(const struct servermysql *mysql, int flush);
/* One line: which server, and what it promises. */
void servermysql_print(const struct servermysql *mysql);

/* For a raw connection. */
int servermysql_port(const struct servermysql *mysql);
const char *servermysql_database(const struct servermysql *mysql);

#endif
