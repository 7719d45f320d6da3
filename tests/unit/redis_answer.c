/* SPDX-License-Identifier: MIT */
/*
 * A server's clock, as TIME tells it: also what no clock says, by a server
 * that is damaged or none.
 */
#include "src/backend/redis/ask.h"
#include "tests/lib/test.h"

#include <stdio.h>

static int64_t told(int type, const char *seconds, const char *us)
{
    char text[2][32];
    redisReply number[2] = {{.type = type, .str = text[0]},
                            {.type = type, .str = text[1]}};
    redisReply *numbers[2] = {&number[0], &number[1]};
    redisReply reply = {
        .type = REDIS_REPLY_ARRAY, .elements = 2, .element = numbers};

    (void)snprintf(text[0], sizeof text[0], "%s", seconds);
    (void)snprintf(text[1], sizeof text[1], "%s", us);
    return hf__answer_time(&reply);
}

TEST(a_time_is_told_in_microseconds)
{
    EXPECT_IS(told(REDIS_REPLY_STRING, "1700000000", "123456"),
              INT64_C(1700000000123456));
    EXPECT_IS(told(REDIS_REPLY_STRING, "4000000000", "0"),
              INT64_C(4000000000000000));
}

TEST(what_is_no_time_is_none)
{
    redisReply nothing = {.type = REDIS_REPLY_NIL};

    EXPECT_IS(hf__answer_time(&nothing), 0);
    EXPECT_IS(told(REDIS_REPLY_ERROR, "1", "1"), 0);
    EXPECT_IS(told(REDIS_REPLY_STRING, "soon", ""), 0);
    EXPECT_IS(told(REDIS_REPLY_STRING, "-1", "0"), 0);
    EXPECT_IS(told(REDIS_REPLY_STRING, "9223372036854775807", "0"), 0);
    EXPECT_IS(told(REDIS_REPLY_STRING, "-9223372036854775808", "0"), 0);
    EXPECT_LESS(told(REDIS_REPLY_STRING, "1", "9223372036854775807"),
                INT64_MAX / 1000);
}
