/* SPDX-License-Identifier: MIT */
/*
 * The yardsticks of the ZooKeeper store: what a careful program does by hand
 * with libzookeeper. An ephemeral sequential node in the lock's folder, a
 * listing to see that it is the first, and the node deleted again. One handle
 * for each thread, which waits for each answer; or many pairs in flight on one
 * handle. Thread: the handle's.
 */
#ifndef BENCH_RAWZOOKEEPER_H
#define BENCH_RAWZOOKEEPER_H

#include <stdbool.h>

struct rawzookeeper;

/* To the server at that port of 127.0.0.1. The library looks its hosts up over
 * and over, as it does unless it is told not to, or only at first. */
struct rawzookeeper *rawzookeeper_open(int port, bool looks_up);
void rawzookeeper_close(struct rawzookeeper *raw);
/* Acquire `key` and release it. False: another was before; nothing is held. */
bool rawzookeeper_pair(struct rawzookeeper *raw, const char *key);
/* Pairs per second with so many in flight for that long, each on a key of its
 * own; of each pair, the first two requests go out together. */
double rawzookeeper_fly(struct rawzookeeper *raw, int depth, double seconds);

#endif
