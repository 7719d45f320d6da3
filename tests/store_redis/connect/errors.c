/* SPDX-License-Identifier: MIT */
/*
 * What a server says when it refuses, in its own words, and what it is taken
 * for: the status, and the remedy that is told.
 */
#include "src/backend/redis/ask.h"
#include "tests/store_redis/connect/site.h"

#include <string.h>

static const struct {
    const char *said;
    int status;
    const char *told;
} cases[] = {
    {"NOAUTH Authentication required.", HF_EAUTH, "HOLDFAST_PASSWORD"},
    {"WRONGPASS invalid username-password pair or user is disabled.", HF_EAUTH,
     "check user and password"},
    {"ERR invalid password", HF_EAUTH, "check the password"},
    {"NOPERM this user has no permissions to run the 'evalsha' command",
     HF_EAUTH, "allow this user the commands"},
    {"NOPERM this user has no permissions to access one of the keys used as "
     "arguments",
     HF_EAUTH, "~PREFIX:*"},
    {"NOPERM this user has no permissions to access one of the channels used "
     "as arguments",
     HF_EAUTH, "channels"},
    {"DENIED Redis is running in protected mode", HF_EAUTH, "protected-mode"},
    {"LOADING Redis is loading the dataset in memory", HF__AGAIN, "wait"},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL",
     HF__AGAIN, "SCRIPT KILL"},
    {"TRYAGAIN Multiple keys request during rehashing of slot", HF__AGAIN, ""},
    {"UNKILLABLE Sorry the script already executed write commands", HF_EUNAVAIL,
     ""},
    {"OOM command not allowed when used memory > 'maxmemory'.", HF_EUNAVAIL,
     "raise maxmemory"},
    {"MISCONF Redis is configured to save RDB snapshots", HF_EUNAVAIL, "disk"},
    {"READONLY You can't write against a read only replica.", HF_EUNAVAIL,
     "name the master"},
    {"MASTERDOWN Link with MASTER is down", HF_EUNAVAIL, "without its master"},
    {"NOREPLICAS Not enough good replicas to write.", HF_EUNAVAIL,
     "min-replicas-to-write"},
    {"ERR max number of clients reached", HF_EUNAVAIL, "maxclients"},
    {"MOVED 3999 127.0.0.1:6381", HF_EUNSAFE, "Cluster"},
    {"ASK 3999 127.0.0.1:6381", HF_EUNSAFE, "Cluster"},
    {"CROSSSLOT Keys in request don't hash to the same slot", HF_EUNSAFE,
     "Cluster"},
    {"CLUSTERDOWN The cluster is down", HF_EUNSAFE, "Cluster"},
    {"ERR DB index is out of range", HF_EINVAL, "databases"},
    {"WRONGTYPE Operation against a key holding the wrong kind of value",
     HF_EPROTO, "another prefix"},
    {"ERR unknown command 'EVALSHA'", HF_EPROTO, "renamed"},
    {"ERR something that nobody thought of", HF_EPROTO, "nobody thought of"},
};

TEST(each_refusal_has_its_status_and_its_remedy)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[160];
        redisReply reply = {.type = REDIS_REPLY_ERROR, .str = said};
        hf_error err = HF_ERROR_INIT;

        snprintf(said, sizeof said, "%s", cases[i].said);
        reply.len = strlen(said);
        int r = hf__redis_error(&reply, NULL, &err);
        if (r != cases[i].status) {
            printf("%s\n", said);
        }
        EXPECT_IS(r, cases[i].status);
        EXPECT_HAS(err.text, cases[i].told);
        EXPECT_HAS(err.text, said);
    }
}

TEST(what_a_server_repeats_is_not_told)
{
    static const char *const words[] = {
        "ERR unknown command 'AUTH', with args beginning with: 'u' 's3cretpw' ",
        "ERR unknown command `AUTH`, with args beginning with: `s3cretpw`, ",
        "ERR Error running script (call to f_0): @user_script:7: "
        "@user_script: 7: ERR unknown command 'X', with args beginning with: "
        "'s3cretpw' "};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char said[200];
        redisReply reply = {.type = REDIS_REPLY_ERROR, .str = said};
        hf_error err = HF_ERROR_INIT;

        snprintf(said, sizeof said, "%s", words[i]);
        reply.len = strlen(said);
        EXPECT_IS(hf__redis_error(&reply, NULL, &err), HF_EPROTO);
        EXPECT_HAS(err.text, "unknown command");
        EXPECT(strstr(err.text, "s3cret") == NULL);
    }
}

/* As a proxy might that tells what it was sent. */
TEST(a_token_that_a_server_repeats_is_not_told)
{
    static const char token[] = "0123456789abcdeffedcba9876543210";
    char said[300];
    redisReply reply = {.type = REDIS_REPLY_ERROR, .str = said};

    for (int before = 0; before < 180; before += 10) {
        hf_error err = HF_ERROR_INIT;

        snprintf(said, sizeof said, "ERR %*s not for me: '%s' and more", before,
                 "evalsha", token);
        reply.len = strlen(said);
        EXPECT_IS(hf__redis_error(&reply, NULL, &err), HF_EPROTO);
        EXPECT_HAS(err.text, "not for me: '");
        EXPECT(strstr(err.text, "0123456789") == NULL);
    }
}

TEST(the_lock_is_named_and_long_words_are_cut)
{
    static const struct hf__key key = {"holdfast:job-1", 14, 9};
    char said[4096];
    redisReply reply = {.type = REDIS_REPLY_ERROR, .str = said};
    hf_error err = HF_ERROR_INIT;

    memset(said, 'x', sizeof said - 1);
    memcpy(said, "OOM ", 4);
    said[sizeof said - 1] = '\0';
    reply.len = strlen(said);
    EXPECT_IS(hf__redis_error(&reply, &key, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "job-1: ");
    EXPECT_HAS(err.text, "raise maxmemory");
}
