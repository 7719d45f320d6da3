/* SPDX-License-Identifier: MIT */
/*
 * What those who sleep on Redis are told and leave behind, by what each step of
 * the server does: nothing here waits for a time to pass. How long it takes
 * them to wake is in wait/.
 */
#include "tests/store_redis/asking.h"

#include <stdio.h>
#include <string.h>

static const char *const marks[] = {"a51ee9a51ee9a51e", "b51ee9b51ee9b51e"};

/* Of a client that stands in no line and wants the name alone. */
static redisReply *run(enum hf__script script, const char *mark)
{
    struct hf__op op = asked(HF__OP_INSPECT, 0);
    struct hf__bytes bytes = {0};
    struct hf__script_keys keys;
    struct hf__args args;
    redisReply *reply = NULL;

    hf__script_begin(&args, script, true, &op.key, &keys);
    hf__args_word(&args, "");
    hf__args_word(&args, mark);
    hf__args_word(&args, "x");
    hf__args_word(&args, "1"); /* it listens; or it was woken */
    hf__bytes_add(&bytes, &args);
    reply = say(&bytes);
    EXPECT_IS(reply->type, REDIS_REPLY_ARRAY);
    return reply;
}

/* What who looks is told, and for how many microseconds or whether it was
 * offered the name. */
static const char *look(const char *mark, long long *ret_number)
{
    static char said[8];
    redisReply *reply = run(HF__SCRIPT_SUBSCRIBE, mark);

    EXPECT_IS(reply->elements, 2);
    snprintf(said, sizeof said, "%s", reply->element[0]->str);
    *ret_number = reply->element[1]->integer;
    freeReplyObject(reply);
    return said;
}

static void fall_asleep(const char *mark)
{
    long long us = 0;

    EXPECT_TEXT(look(mark, &us), "wait");
}

/* From now on a message reaches it. */
static redisContext *listen_as(const char *mark)
{
    redisContext *c = redisConnect("127.0.0.1", server_port());

    EXPECT(c != NULL && c->err == 0);
    freeReplyObject(redisCommand(c, "SUBSCRIBE holdfast;wake:%s", mark));
    return c;
}

static int ask(enum hf__op_kind kind, int who, enum hf__mode mode,
               int64_t lease_us)
{
    struct hf__ask plain = {.client = 1};
    struct hf__op op = asked(kind, who);

    op.lock_mode.mode = mode;
    op.lease_us = lease_us;
    return tell(&op, &plain);
}

static void expect_asleep(const char *members)
{
    EXPECT_TEXT(hf__redis_command(server(), "ZRANGE %s:w 0 -1", record("job")),
                members);
}

TEST(a_break_calls_who_slept_first)
{
    AUTO_CONNECTION *c = connect_to_store();
    AUTO_CONNECTION *first = listen_as(marks[0]);

    EXPECT_IS(ask(HF__OP_ACQUIRE, 1, HF__MODE_EXCLUSIVE, LEASE_US), HF_OK);
    fall_asleep(marks[0]);
    fall_asleep(marks[1]);
    EXPECT_IS(ask(HF__OP_BREAK, 0, HF__MODE_EXCLUSIVE, 0), HF_OK);
    EXPECT_TEXT(record_says("job", "offer"), marks[0]);
    expect_asleep("b51ee9b51ee9b51ex");
}

TEST(who_was_called_and_looks_again_sleeps_no_more)
{
    AUTO_CONNECTION *c = connect_to_store();
    AUTO_CONNECTION *first = listen_as(marks[0]);
    long long is_offered = 0;

    EXPECT_IS(ask(HF__OP_ACQUIRE, 1, HF__MODE_EXCLUSIVE, LEASE_US), HF_OK);
    fall_asleep(marks[0]);
    EXPECT_IS(ask(HF__OP_RELEASE, 1, HF__MODE_EXCLUSIVE, 0), HF_OK);
    EXPECT_TEXT(look(marks[0], &is_offered), "look");
    EXPECT_IS(is_offered, 1);
    expect_asleep("");
}

TEST(who_was_called_and_leaves_has_the_next_called)
{
    AUTO_CONNECTION *c = connect_to_store();
    AUTO_CONNECTION *first = listen_as(marks[0]);
    AUTO_CONNECTION *second = listen_as(marks[1]);

    EXPECT_IS(ask(HF__OP_ACQUIRE, 1, HF__MODE_EXCLUSIVE, LEASE_US), HF_OK);
    fall_asleep(marks[0]);
    fall_asleep(marks[1]);
    EXPECT_IS(ask(HF__OP_RELEASE, 1, HF__MODE_EXCLUSIVE, 0), HF_OK);
    EXPECT_TEXT(record_says("job", "offer"), marks[0]);
    freeReplyObject(run(HF__SCRIPT_UNSUBSCRIBE, marks[0]));
    EXPECT_TEXT(record_says("job", "offer"), marks[1]);
    expect_asleep("");
}

TEST(who_finds_the_record_gone_sleeps_no_more)
{
    AUTO_CONNECTION *c = connect_to_store();
    long long is_offered = 0;

    EXPECT_IS(ask(HF__OP_ACQUIRE, 1, HF__MODE_EXCLUSIVE, LEASE_US), HF_OK);
    fall_asleep(marks[0]);
    hf__redis_command(server(), "DEL %s", record("job"));
    EXPECT_TEXT(look(marks[0], &is_offered), "look");
    expect_asleep("");
}

TEST(who_sleeps_is_told_when_the_first_lease_beside_others_ends)
{
    AUTO_CONNECTION *c = connect_to_store();
    long long us = 0;

    EXPECT_IS(ask(HF__OP_ACQUIRE, 1, HF__MODE_SHARED, LEASE_US), HF_OK);
    EXPECT_IS(ask(HF__OP_ACQUIRE, 2, HF__MODE_SHARED, LEASE_US / 2), HF_OK);
    EXPECT_IS(ask(HF__OP_ACQUIRE, 3, HF__MODE_SHARED, LEASE_US), HF_OK);
    EXPECT_TEXT(look(marks[0], &us), "wait");
    EXPECT_MORE(us, 0);
    EXPECT_LESS(us, LEASE_US / 2 + 1);
}
