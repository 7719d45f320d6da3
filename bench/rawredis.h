/* SPDX-License-Identifier: MIT */
/*
 * The yardsticks of the Redis stores: what a careful program does by hand with
 * hiredis. SET NX PX with a token to acquire; a script that deletes the key if
 * it still has that token to release. One connection for each thread; or many
 * pairs in flight on one connection; or one after the other on each of
 * several servers, of which a majority must agree. Thread: the connection's.
 */
#ifndef BENCH_RAWREDIS_H
#define BENCH_RAWREDIS_H

#include <stdbool.h>
#include <stddef.h>

struct rawredis;

/* To that many servers. */
struct rawredis *rawredis_open(const int ports[], int n);
void rawredis_close(struct rawredis *raw);
/* Acquire `key` on each and release it on each. False: a majority did not
 * have it free; nothing is held. */
bool rawredis_pair(struct rawredis *raw, const char *key);
/* Pairs per second on the first server, with so many commands in flight for
 * that long, each pair on a key of its own. */
double rawredis_fly(struct rawredis *raw, int depth, double seconds);

#endif
