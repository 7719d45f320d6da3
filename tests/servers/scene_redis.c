/* SPDX-License-Identifier: MIT */
/*
 * The words of scene_redis.h. The server is started before the first test of
 * the program that links this.
 */
#include "tests/servers/scene_redis.h"
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

enum { PATIENCE_S = 20 };

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__redis_share);
}

struct hf__proxy *scene_proxy(void)
{
    return hf__proxy_start(hf__redis_port(hf__redis_shared()),
                           &hf__framing_redis);
}

redisContext *scene_dial(const struct hf__proxy *p)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    redisContext *c =
        redisConnectWithTimeout("127.0.0.1", hf__proxy_port(p), patience);

    EXPECT(c);
    EXPECT_IS(c->err, 0);
    redisSetTimeout(c, patience);
    return c;
}

int scene_say(redisContext *c, const char *command)
{
    redisReply *reply = redisCommand(c, command);
    int type = reply ? reply->type : 0;

    freeReplyObject(reply);
    return type;
}

redisContext *scene_dial_own(const struct hf__proxy *p)
{
    redisContext *c = scene_dial(p);
    char command[32];

    snprintf(command, sizeof command, "SELECT %d", hf__redis_test_database());
    EXPECT_IS(scene_say(c, command), REDIS_REPLY_STATUS);
    return c;
}

int scene_next(redisContext *c)
{
    void *reply = NULL;
    int type = 0;

    if (redisGetReply(c, &reply) == REDIS_OK) {
        type = ((redisReply *)reply)->type;
        freeReplyObject(reply);
    }
    return type;
}

int scene_counter(void)
{
    return (int)strtol(hf__redis_command(hf__redis_shared(), "GET k"), NULL,
                       10);
}

bool scene_wait_counter(int value)
{
    int64_t until = hf__test_now_ms() + hf__servers_patience(10000);

    while (scene_counter() != value) {
        if (hf__test_now_ms() > until) {
            return false;
        }
        hf__test_pause_ms(5);
    }
    return true;
}
