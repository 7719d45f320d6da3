/* SPDX-License-Identifier: MIT */
/*
 * One command at a time, without a session: as a quorum asks a member, and as
 * what is late arrives.
 */
#ifndef HF_TESTS_STORE_REDIS_ASKING_H
#define HF_TESTS_STORE_REDIS_ASKING_H

#include "src/backend/redis/ask.h"
#include "tests/store_redis/world.h"

#include <hiredis/hiredis.h>

#define LEASE_US (30 * INT64_C(1000000))

extern struct hf__owner whose;
/* An operation of that token, of `whose`, on the lock "job". */
struct hf__op asked(enum hf__op_kind kind, int who);

/* The one connection by which say() and tell() speak. */
#define AUTO_CONNECTION                                                        \
    __attribute__((cleanup(end_connection), unused)) redisContext
void end_connection(redisContext **);
redisContext *connect_to_store(void);
/* The reply to one command, of which nothing is left then. */
redisReply *say(struct hf__bytes *);
/* Its result, which the operation has, too. */
int tell(struct hf__op *, const struct hf__ask *);

#endif
