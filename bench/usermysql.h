/* SPDX-License-Identifier: MIT */
/*
 * scheme=session against GET_LOCK() and RELEASE_LOCK() by hand in the same
 * server. Thread: main.
 */
#ifndef BENCH_USERMYSQL_H
#define BENCH_USERMYSQL_H

#include "bench/servermysql.h"

/* On a server that is there. */
void usermysql_run(const struct bench *b, const struct servermysql *mysql);

#endif
