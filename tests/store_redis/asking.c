/* SPDX-License-Identifier: MIT */
/*
 * See asking.h. The connection is one for the program: its tests run one after
 * another.
 */
#include "tests/store_redis/asking.h"

#include <stdio.h>

struct hf__owner whose = {.label = "a \"b\"\n", .pid = 77};

struct hf__op asked(enum hf__op_kind kind, int who)
{
    return (struct hf__op){
        .kind = kind,
        .key = {"holdfast:job", 12, 9},
        .token = {{(unsigned char)who, 1}},
        .lease_us = LEASE_US,
        .owner = &whose,
    };
}

static redisContext *connection;

void end_connection(redisContext **c)
{
    redisFree(*c);
}

redisContext *connect_to_store(void)
{
    char select[32];

    connection = redisConnect("127.0.0.1", server_port());
    EXPECT(connection != NULL && connection->err == 0);
    snprintf(select, sizeof select, "SELECT %d", hf__redis_test_database());
    freeReplyObject(redisCommand(connection, select));
    return connection;
}

redisReply *say(struct hf__bytes *bytes)
{
    redisReply *reply = NULL;

    EXPECT_IS(redisAppendFormattedCommand(connection, bytes->at, bytes->length),
              REDIS_OK);
    EXPECT_IS(redisGetReply(connection, (void **)&reply), REDIS_OK);
    hf__bytes_fini(bytes);
    return reply;
}

int tell(struct hf__op *op, const struct hf__ask *ask)
{
    struct hf__ask with_text = *ask;
    struct hf__bytes bytes = {0};
    struct hf__answer answer;
    redisReply *reply = NULL;

    with_text.with_text = true;
    hf__ask_add(&bytes, op, &with_text);
    reply = say(&bytes);
    hf__answer_read(reply, op, &answer);
    hf__answer_give(&answer, op);
    freeReplyObject(reply);
    return op->result;
}
