/* SPDX-License-Identifier: MIT */
/*
 * The yardstick: what a program would do that keeps locks in SQLite by hand,
 * with the statements and pragmas of the store and nothing around them.
 * One connection for each thread. Thread: the connection's.
 */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include <stdbool.h>

struct raw;

/* busy_ms: how long SQLite itself waits for the write lock. */
struct raw *raw_open(const char *path, int busy_ms);
void raw_close(struct raw *raw);
/* Acquire `key` in one transaction, release it in another. False: one of
 * the two failed (SQLITE_BUSY), and nothing is held. */
bool raw_pair(struct raw *raw, const char *key);

#endif
