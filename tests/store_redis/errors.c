/* SPDX-License-Identifier: MIT */
/*
 * What scripts of all versions of servers say, as statuses: the words of those
 * that are not installed here, too. Other words are in connect/errors.c.
 */
#include "src/backend/redis/ask.h"
#include "src/backend/redis/subscriptions.h"
#include "tests/store_redis/world.h"

#include <string.h>

#define SCRIPT_5 "ERR Error running script (call to f_0123456789abcdef): "

static const struct {
    const char *said;
    int status;
    const char *has;
} cases[] = {
    {SCRIPT_5 "@user_script:1: @user_script: 1: -OOM command not allowed when "
              "used memory > 'maxmemory'.",
     HF_EUNAVAIL, "raise maxmemory"},
    {SCRIPT_5 "@user_script:12: @user_script: 12: -READONLY You can't write "
              "against a read only replica.",
     HF_EUNAVAIL, "name the master"},
    {SCRIPT_5 "@user_script:7: @user_script: 7: -MISCONF Redis is configured "
              "to save RDB snapshots",
     HF_EUNAVAIL, "disk"},
    {SCRIPT_5 "@user_script:13: WRONGTYPE Operation against a key holding the "
              "wrong kind of value",
     HF_EPROTO, "another prefix"},
    {SCRIPT_5 "@user_script:1: @user_script: 1: The user executing the script "
              "can't run this command or subcommand",
     HF_EAUTH, "allow this user"},
    {SCRIPT_5 "@user_script: 1: Wrong number of args calling Redis command "
              "From Lua script",
     HF_EPROTO, "Wrong number"},
    {"HOLDFAST its key is a hash of something else", HF_EPROTO,
     "another prefix"},
    {"HOLDFAST its key is a string that expires in 10 s", HF_EPROTO,
     "SET … NX PX"},
    {"HOLDFAST its key is no hash", HF_EPROTO, "another prefix"},
    {"HOLDFAST its record is damaged", HF_EPROTO, "DEL"},
};

TEST(what_servers_say_is_told_with_what_helps)
{
    const struct hf__key key = {"holdfast:job", 12, 9};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[256];
        redisReply reply = {.type = REDIS_REPLY_ERROR, .str = said};
        hf_error err = HF_ERROR_INIT;

        snprintf(said, sizeof said, "%s", cases[i].said);
        EXPECT_IS(hf__redis_error(&reply, &key, &err), cases[i].status);
        EXPECT_HAS(err.text, cases[i].has);
        EXPECT_HAS(err.text, "job");
        EXPECT(!strstr(err.text, "user_script"));
    }
}

/* A look's answer, of a server that means us no good: there is no such time. */
TEST(an_end_that_is_beyond_all_times_is_no_end)
{
    static struct hf__redis session;
    static char wait[] = "wait";
    struct hf__subscription arm = {.is_asked = true};
    struct hf__subscriptions subscriptions = {.list = &arm, .n = 1};
    redisReply word = {.type = REDIS_REPLY_STRING, .str = wait, .len = 4};
    redisReply number = {.type = REDIS_REPLY_INTEGER, .integer = INT64_MAX};
    redisReply *elements[] = {&word, &number};
    redisReply reply = {
        .type = REDIS_REPLY_ARRAY, .elements = 2, .element = elements};

    session.subscriptions = &subscriptions;
    EXPECT_IS(hf__subscribe_take(&session, &reply), HF_OK);
    EXPECT(hf__before(hf__now(), arm.due));
    EXPECT(hf__before(arm.due, hf__after_ms(hf__now(), 1300)));
}
