/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy count commands, replies and pushes of Redis as the client
 * does, and cut a connection exactly where a rule says: what the server has
 * done and what the client was told must fit, for each place, also in a
 * pipeline? It cuts alike whatever the framing, and this one has all places.
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy.h"
#include "tests/servers/redis.h"
#include "tests/servers/servers.h"

#include <hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

enum { PATIENCE_S = 20, HIT_MS = 10000 };

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__redis_share);
}

static struct hf__proxy *scene_proxy(void)
{
    return hf__proxy_start(hf__redis_port(hf__redis_shared()),
                           &hf__framing_redis);
}

static redisContext *scene_dial(const struct hf__proxy *p)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    redisContext *c =
        redisConnectWithTimeout("127.0.0.1", hf__proxy_port(p), patience);

    EXPECT(c);
    EXPECT_IS(c->err, 0);
    redisSetTimeout(c, patience);
    return c;
}

static int scene_say(redisContext *c, const char *command)
{
    redisReply *reply = redisCommand(c, command);
    int type = reply ? reply->type : 0;

    freeReplyObject(reply);
    return type;
}

static redisContext *scene_dial_own(const struct hf__proxy *p)
{
    redisContext *c = scene_dial(p);
    char command[32];

    snprintf(command, sizeof command, "SELECT %d", hf__redis_test_database());
    EXPECT_IS(scene_say(c, command), REDIS_REPLY_STATUS);
    return c;
}

static int scene_next(redisContext *c)
{
    void *reply = NULL;
    int type = 0;

    if (redisGetReply(c, &reply) == REDIS_OK) {
        type = ((redisReply *)reply)->type;
        freeReplyObject(reply);
    }
    return type;
}

static int scene_counter(void)
{
    return (int)strtol(hf__redis_command(hf__redis_shared(), "GET k"), NULL,
                       10);
}

/* ---- counts */

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

/* ---- places */

/* A rule for the second of three commands: what the counter is after it, and
 * which command shows the client that it was cut off. */
static void cut_second(enum hf__proxy_what what, enum hf__proxy_where where,
                       enum hf__proxy_action action, int value, int shown_by)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial_own(p);
    const struct hf__proxy_rule rule = {
        .what = what, .where = where, .action = action, .n = 2, .bytes = 2};

    hf__redis_command(hf__redis_shared(), "SET k 0");
    hf__proxy_rule(p, &rule);
    for (int i = 1; i < shown_by; i++) {
        EXPECT_IS(scene_say(c, "INCR k"), REDIS_REPLY_INTEGER);
    }
    EXPECT_IS(scene_say(c, "INCR k"), 0);
    printf("%s\n", c->errstr);
    EXPECT(c->err == REDIS_ERR_EOF || c->err == REDIS_ERR_IO);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    EXPECT_IS(hf__proxy_counts(p).open, 0);
    UNTIL(scene_counter() == value);
    redisFree(c);
    /* Once only. */
    c = scene_dial_own(p);
    for (int i = 1; i <= 3; i++) {
        EXPECT_IS(scene_say(c, "INCR k"), REDIS_REPLY_INTEGER);
    }
    EXPECT_IS(scene_counter(), value + 3);
    redisFree(c);
    hf__proxy_free(p);
}

TEST(what_is_done_and_told_is_as_the_place_says)
{
    for (int i = HF__CLOSE; i <= HF__RESET; i++) {
        enum hf__proxy_action action = (enum hf__proxy_action)i;

        cut_second(HF__STATEMENT, HF__BEFORE, action, 1, 2);
        cut_second(HF__STATEMENT, HF__INSIDE, action, 1, 2);
        cut_second(HF__REPLY, HF__BEFORE, action, 2, 2);
        cut_second(HF__REPLY, HF__INSIDE, action, 2, 2);
        cut_second(HF__REPLY, HF__AFTER, action, 2, 3);
    }
    cut_second(HF__STATEMENT, HF__AFTER, HF__CLOSE, 2, 2);
}

/* However many bytes are asked for, one is kept back. */
TEST(inside_a_reply_of_many_values_is_never_all_of_it)
{
    static const size_t bytes[] = {0, 1, 4, 5, 12, 20, 100000};
    struct hf__proxy *p = scene_proxy();

    for (int i = 0; i < 7; i++) {
        redisContext *c = scene_dial_own(p);

        hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__REPLY,
                                                   .where = HF__INSIDE,
                                                   .bytes = bytes[i]});
        EXPECT_IS(scene_say(c, "EVAL return{1,{'two',3},'',{}} 0"), 0);
        EXPECT_IS(hf__proxy_counts(p).hits, i + 1);
        EXPECT_IS(hf__proxy_counts(p).replies, i + 1); /* to SELECT */
        redisFree(c);
    }
    hf__proxy_free(p);
}

/* ---- in a pipeline */

/* Five commands in one packet, cut at the third: how many are done, and how
 * many replies the client gets. */
static void cut_pipeline(enum hf__proxy_what what, enum hf__proxy_where where,
                         int done, int told)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial_own(p);
    int replies = 0;

    hf__redis_command(hf__redis_shared(), "SET k 0");
    hf__proxy_rule(p, &(struct hf__proxy_rule){
                          .what = what, .where = where, .n = 3, .bytes = 2});
    for (int i = 0; i < 5; i++) {
        EXPECT_IS(redisAppendCommand(c, "INCR k"), REDIS_OK);
    }
    while (scene_next(c)) {
        replies++;
    }
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    EXPECT_LESS(replies, told + 1);
    if (what == HF__REPLY) {
        EXPECT_IS(replies, told);
    }
    UNTIL(scene_counter() == done);
    redisFree(c);
    hf__proxy_free(p);
}

/* What was passed on is done, but its replies come too late to be passed. */
TEST(a_pipeline_is_cut_between_its_statements_or_replies)
{
    cut_pipeline(HF__STATEMENT, HF__BEFORE, 2, 2);
    cut_pipeline(HF__STATEMENT, HF__INSIDE, 2, 2);
    cut_pipeline(HF__STATEMENT, HF__AFTER, 3, 3);
    cut_pipeline(HF__REPLY, HF__BEFORE, 5, 2);
    cut_pipeline(HF__REPLY, HF__INSIDE, 5, 2);
    cut_pipeline(HF__REPLY, HF__AFTER, 5, 3);
}

/* The text is that of the command which the reply answers, not of the last. */
TEST(a_rule_finds_the_reply_to_its_command_in_a_pipeline)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial_own(p);

    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__REPLY,
                                               .text = "$3\r\nGET\r\n"});
    EXPECT_IS(redisAppendCommand(c, "SET k 1"), REDIS_OK);
    EXPECT_IS(redisAppendCommand(c, "HGET h x"), REDIS_OK);
    EXPECT_IS(redisAppendCommand(c, "INCR k"), REDIS_OK);
    EXPECT_IS(redisAppendCommand(c, "GET k"), REDIS_OK);
    EXPECT_IS(redisAppendCommand(c, "INCR k"), REDIS_OK);
    EXPECT_IS(scene_next(c), REDIS_REPLY_STATUS);
    EXPECT_IS(scene_next(c), REDIS_REPLY_NIL);
    EXPECT_IS(scene_next(c), REDIS_REPLY_INTEGER);
    EXPECT_IS(scene_next(c), 0);
    redisFree(c);
    hf__proxy_free(p);
}

/* ---- pushes and silence */

TEST(a_push_is_cut_by_its_own_text)
{
    struct hf__proxy *p = scene_proxy();
    redisContext *c = scene_dial(p);

    EXPECT_IS(scene_say(c, "SUBSCRIBE ours"), REDIS_REPLY_ARRAY);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__PUSH,
                                               .where = HF__INSIDE,
                                               .text = "second",
                                               .bytes = 30});
    hf__redis_command(hf__redis_shared(), "PUBLISH ours first");
    hf__redis_command(hf__redis_shared(), "PUBLISH ours second");
    EXPECT_IS(scene_next(c), REDIS_REPLY_ARRAY);
    EXPECT_IS(scene_next(c), 0);
    EXPECT_IS(hf__proxy_counts(p).pushes, 1);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    redisFree(c);
    hf__proxy_free(p);
}

struct attempt {
    redisContext *c;
    int type;
};

static void try_command(void *arg)
{
    struct attempt *attempt = arg;

    attempt->type = scene_say(attempt->c, "INCR k");
}

/* Silent at that place, then healed: the command goes on as if nothing were. */
static void silence(enum hf__proxy_what what, enum hf__proxy_where where,
                    int meanwhile)
{
    struct hf__proxy *p = scene_proxy();
    struct attempt attempt = {scene_dial_own(p), 99};
    struct hf__test_thread *thread;

    hf__redis_command(hf__redis_shared(), "SET k 0");
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = what,
                                               .where = where,
                                               .action = HF__SILENCE,
                                               .bytes = 2});
    thread = hf__test_start(try_command, &attempt);
    EXPECT(hf__proxy_wait_hits(p, 1, HIT_MS));
    UNTIL(scene_counter() == meanwhile);
    hf__test_pause_ms(100);
    EXPECT_IS(scene_counter(), meanwhile);
    EXPECT_IS(hf__proxy_counts(p).open, 1);
    EXPECT_IS(hf__proxy_counts(p).replies, 1); /* to SELECT */
    hf__proxy_heal(p);
    hf__test_join(thread);
    EXPECT_IS(attempt.type, REDIS_REPLY_INTEGER);
    EXPECT_IS(scene_counter(), 1);
    EXPECT_IS(scene_say(attempt.c, "INCR k"), REDIS_REPLY_INTEGER);
    redisFree(attempt.c);
    hf__proxy_free(p);
}

TEST(silence_keeps_what_was_not_passed_until_healed)
{
    silence(HF__STATEMENT, HF__BEFORE, 0);
    silence(HF__STATEMENT, HF__INSIDE, 0);
    silence(HF__STATEMENT, HF__AFTER, 1);
    silence(HF__REPLY, HF__BEFORE, 1);
    silence(HF__REPLY, HF__INSIDE, 1);
}
