/* SPDX-License-Identifier: MIT */
/*
 * The yardstick of the PostgreSQL store: the statements that it sends for one
 * name, sent by hand with libpq, prepared, their parameters and rows binary.
 * One connection for each thread. Thread: the connection's.
 */
#ifndef BENCH_RAWPOSTGRES_H
#define BENCH_RAWPOSTGRES_H

#include <stdbool.h>

struct rawpostgres;

/* Makes a table like the store's, which must be there, if need be. */
struct rawpostgres *rawpostgres_open(const char *url);
void rawpostgres_close(struct rawpostgres *raw);
/* Acquire `key`, with the advisory lock by which others would wait for it, and
 * release both. False: somebody else has it, and nothing is held. */
bool rawpostgres_pair(struct rawpostgres *raw, const char *key);

#endif
