/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy count commands, replies and pushes of Redis as the client
 * does? Where it cuts, proxy_redis_cut_test.c sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/scene_redis.h"

#include <hiredis.h>
#include <stdio.h>
#include <string.h>

static void expect_counts(struct hf__proxy *p, int statements, int replies)
{
    struct hf__proxy_counts c = hf__proxy_counts(p);

    EXPECT_IS(c.statements, statements);
    EXPECT_IS(c.replies, replies);
}

TEST(commands_and_replies_are_counted)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial(p);

    expect_counts(p, 0, 0);
    EXPECT_IS(scene_say(c, "SET k 5"), REDIS_REPLY_STATUS);
    EXPECT_IS(scene_say(c, "INCR k"), REDIS_REPLY_INTEGER);
    EXPECT_IS(scene_say(c, "GET k"), REDIS_REPLY_STRING);
    EXPECT_IS(scene_say(c, "GET none"), REDIS_REPLY_NIL);
    EXPECT_IS(scene_say(c, "LPUSH k 1"), REDIS_REPLY_ERROR);
    EXPECT_IS(scene_say(c, "nonsense"), REDIS_REPLY_ERROR);
    expect_counts(p, 6, 6);
    EXPECT_IS(scene_say(c, "KEYS none*"), REDIS_REPLY_ARRAY);
    EXPECT_IS(scene_say(c, "MGET k none k"), REDIS_REPLY_ARRAY);
    EXPECT_IS(scene_say(c, "COMMAND"), REDIS_REPLY_ARRAY); /* deep and long */
    EXPECT_IS(scene_say(c, "DEL k"), REDIS_REPLY_INTEGER);
    EXPECT_IS(scene_say(c, "BLPOP none 0.01"), REDIS_REPLY_NIL);
    expect_counts(p, 11, 11);
    EXPECT_IS(hf__proxy_counts(p).handshakes, 0);
    EXPECT_IS(hf__proxy_counts(p).pushes, 0);
    redisFree(c);
    expect_counts(p, 11, 11);
    hf__proxy_free(p);
}

TEST(nested_replies_are_one_each)
{
    static const char *const scripts[] = {
        "return {1,{2,{3,{},{4}},'five'},6}",
        "return {{},{},{}}",
        "return {}",
        "return {'message','a','b'}",
        "return {'',string.rep('x',100000),''}",
    };
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial(p);

    for (int i = 0; i < 5; i++) {
        redisReply *reply = redisCommand(c, "EVAL %s 0", scripts[i]);

        EXPECT(reply);
        EXPECT_IS(reply->type, REDIS_REPLY_ARRAY);
        freeReplyObject(reply);
        expect_counts(p, i + 1, i + 1);
    }
    redisFree(c);
    hf__proxy_free(p);
}

/* Longer than any buffer. */
TEST(long_commands_and_replies_are_counted)
{
    static char value[3000000];
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial_own(p);
    redisReply *reply;

    memset(value, 'x', sizeof value);
    reply = redisCommand(c, "SET k %b", value, sizeof value);
    EXPECT(reply);
    freeReplyObject(reply);
    reply = redisCommand(c, "GET k");
    EXPECT(reply);
    EXPECT_IS(reply->len, sizeof value);
    EXPECT_IS(memcmp(reply->str, value, sizeof value), 0);
    freeReplyObject(reply);
    reply = redisCommand(c, "EVAL %s 0",
                         "local t = {} for i = 1, 100000 do t[i] = i end "
                         "return t");
    EXPECT(reply);
    EXPECT_IS(reply->elements, 100000);
    freeReplyObject(reply);
    expect_counts(p, 4, 4);
    redisFree(c);
    hf__proxy_free(p);
}

TEST(each_command_of_a_pipeline_is_counted)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial_own(p);

    for (int i = 0; i < 500; i++) {
        EXPECT_IS(redisAppendCommand(c, "INCR k"), REDIS_OK);
    }
    for (int i = 0; i < 500; i++) {
        EXPECT_IS(scene_next(c), REDIS_REPLY_INTEGER);
    }
    expect_counts(p, 501, 501);
    EXPECT_IS(redisAppendCommand(c, "MULTI"), REDIS_OK);
    EXPECT_IS(redisAppendCommand(c, "INCR k"), REDIS_OK);
    EXPECT_IS(redisAppendCommand(c, "SUBSCRIBE mine"), REDIS_OK);
    EXPECT_IS(redisAppendCommand(c, "EXEC"), REDIS_OK);
    for (int i = 0; i < 4; i++) {
        EXPECT_IS(scene_next(c),
                  i < 3 ? REDIS_REPLY_STATUS : REDIS_REPLY_ARRAY);
    }
    expect_counts(p, 505, 505);
    EXPECT_IS(scene_counter(), 501);
    redisFree(c);
    hf__proxy_free(p);
}

/* As a client may that has no library. */
TEST(lines_are_commands_too)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial(p);
    static const char lines[] = "PING\r\n\r\n*0\r\nPING\r\nECHO two\r\n";

    EXPECT_IS(redisAppendFormattedCommand(c, lines, sizeof lines - 1),
              REDIS_OK);
    EXPECT_IS(scene_next(c), REDIS_REPLY_STATUS);
    EXPECT_IS(scene_next(c), REDIS_REPLY_STATUS);
    EXPECT_IS(scene_next(c), REDIS_REPLY_STRING);
    expect_counts(p, 3, 3);
    redisFree(c);
    hf__proxy_free(p);
}

TEST(what_a_subscriber_is_told_is_a_push)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial(p);

    EXPECT_IS(scene_say(c, "SUBSCRIBE ours"), REDIS_REPLY_ARRAY);
    EXPECT_IS(scene_say(c, "PSUBSCRIBE our?"), REDIS_REPLY_ARRAY);
    expect_counts(p, 2, 2);
    EXPECT_TEXT(hf__redis_command(hf__redis_shared(), "PUBLISH ours %s",
                                  "a message\r\n$7\r\nmessage\r\n"),
                "2");
    EXPECT_IS(scene_next(c), REDIS_REPLY_ARRAY);
    EXPECT_IS(scene_next(c), REDIS_REPLY_ARRAY);
    EXPECT_IS(hf__proxy_counts(p).pushes, 2);
    EXPECT_IS(scene_say(c, "UNSUBSCRIBE ours"), REDIS_REPLY_ARRAY);
    expect_counts(p, 3, 3);
    redisFree(c);
    hf__proxy_free(p);
}
