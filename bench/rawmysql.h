/* SPDX-License-Identifier: MIT */
/*
 * The yardsticks of the MySQL store: what a careful program does by hand that
 * keeps locks in a table, and what most do. One connection for each thread.
 * Thread: the connection's.
 */
#ifndef BENCH_RAWMYSQL_H
#define BENCH_RAWMYSQL_H

#include "bench/servermysql.h"

struct rawmysql;

enum rawmysql_way {
    RAWMYSQL_PREPARED, /* one conditional UPDATE each to acquire and release */
    RAWMYSQL_TEXT,     /* the same as text */
    RAWMYSQL_CLASSIC   /* INSERT into a unique key, DELETE */
};

/* Makes the tables if need be. */
struct rawmysql *rawmysql_open(const struct servermysql *mysql,
                               enum rawmysql_way way);
void rawmysql_close(struct rawmysql *raw);
/* Acquire `key` and release it. False: somebody else has it, or was quicker
 * (a deadlock was found), and nothing is held. */
bool rawmysql_pair(struct rawmysql *raw, const char *key);
bool rawmysql_acquire(struct rawmysql *raw, const char *key);
void rawmysql_release(struct rawmysql *raw, const char *key);

#endif
