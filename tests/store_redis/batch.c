/* SPDX-License-Identifier: MIT */
/*
 * Which operations go as one command, and what follows from what is answered to
 * it. The server is the test, so it also says what none that is installed here
 * does.
 */
#include "src/backend/redis/redis.h"
#include "tests/store_redis/world.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 8 };

static struct hf__op ops[MOST];
static char keys[MOST][16];
static hf_error errors[MOST];
/* What became of the session in execute_against(). */
static bool is_apart;
static enum hf__peer_state peer_state;

static void prepare(enum hf__op_kind kind, int n)
{
    static const struct hf__owner owner = {.label = "somebody"};

    for (int i = 0; i < n; i++) {
        snprintf(keys[i], sizeof keys[i], "holdfast:%d", i);
        errors[i] = (hf_error)HF_ERROR_INIT;
        ops[i] = (struct hf__op){
            .kind = kind,
            .key = {keys[i], (uint16_t)strlen(keys[i]), 9},
            .token = {{(unsigned char)i, 7}},
            .lease_us = 30 * INT64_C(1000000),
            .owner = &owner,
            .err = &errors[i],
        };
    }
}

/* A session whose server is the test. */
static void connect_pair(struct hf__redis *s, int *ret_other)
{
    int pair[2];

    *s = (struct hf__redis){.head = {.generation = 1}, .client = 1};
    EXPECT_IS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                         pair),
              0);
    hf__peer_init(&s->peer);
    EXPECT_IS(hf__resp_attach(&s->peer.resp, pair[0]), HF_OK);
    s->peer.state = HF__PEER_READY;
    *ret_other = pair[1];
}

/* What the server will answer. */
static void answer_ahead(struct hf__redis *s, int other, const char *replies)
{
    EXPECT_IS(write(other, replies, strlen(replies)), strlen(replies));
    s->heard_at = hf__after_ms(hf__now(), 60000); /* it is not unasked */
}

/* How many scripts were asked for, of all that has come. */
static int count_scripts(int fd)
{
    static const char word[] = "\r\nEVAL";
    static char bytes[1 << 18];
    ssize_t n = read(fd, bytes, sizeof bytes);
    int found = 0;
    const char *at = bytes;

    EXPECT(n > 0 && n < (ssize_t)sizeof bytes);
    while ((at = memmem(at, (size_t)(bytes + n - at), word, sizeof word - 1)) !=
           NULL) {
        found++;
        at++;
    }
    return found;
}

/* A proxy before several servers may take commands for one name only. */
TEST(where_names_are_apart_each_goes_alone)
{
    static const char wide[] =
        "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
        ":5\r\n:6\r\n:7\r\n";
    static const char narrow[] = ":5\r\n:6\r\n:7\r\n";
    struct hf__op *batch[3] = {&ops[0], &ops[1], &ops[2]};
    struct hf__redis s;
    hf_error err = HF_ERROR_INIT;
    int other;

    connect_pair(&s, &other);
    for (int round = 0; round < 2; round++) {
        answer_ahead(&s, other, round == 0 ? wide : narrow);
        prepare(HF__OP_ACQUIRE, 3);
        for (int i = 0; i < 3; i++) {
            ops[i].result = HF_EUNAVAIL;
            ops[i].sent = hf__now();
        }
        EXPECT_IS(hf__redis_execute(&s, batch, 3,
                                    hf__after_ms(hf__now(), patience(5000)),
                                    &err),
                  HF_OK);
        for (int i = 0; i < 3; i++) {
            EXPECT_IS(ops[i].result, HF_OK);
            EXPECT_IS(ops[i].fence, 5 + i);
        }
        EXPECT_IS(count_scripts(other), round == 0 ? 4 : 3);
    }
    hf__peer_close(&s.peer);
    close(other);
}

/* A session that asks for so many, and what comes of it when this is answered.
 * Gives how many scripts were asked for. */
static int execute_against(const char *replies, int n)
{
    struct hf__op *batch[MOST];
    struct hf__redis s;
    hf_error err = HF_ERROR_INIT;
    int scripts;
    int other;

    connect_pair(&s, &other);
    answer_ahead(&s, other, replies);
    for (int i = 0; i < n; i++) {
        batch[i] = &ops[i];
        ops[i].result = HF_EUNAVAIL;
        ops[i].sent = hf__now();
    }
    (void)hf__redis_execute(&s, batch, n,
                            hf__after_ms(hf__now(), patience(5000)), &err);
    is_apart = s.is_apart;
    peer_state = s.peer.state;
    scripts = count_scripts(other);
    hf__peer_close(&s.peer);
    close(other);
    return scripts;
}

/* Two are asked for, and this is said of both, and what comes of it. */
static const struct {
    const char *said;
    int scripts;
    bool is_apart;
    int result;
} answers[] = {
    /* A proxy says it in words of its own. */
    {"ERR CROSSSLOT Keys in request don't hash to the same slot", 3, true,
     HF_OK},
    {"ERR 'EVALSHA' command keys must in same slot", 3, true, HF_OK},
    {"ERR what nobody has ever heard of", 3, true, HF_OK},
    /* A script may have begun: nothing is asked twice for that. */
    {"ERR not enough memory script: 01, on @user_script:30.", 1, false,
     HF_EPROTO},
    {"ERR Error running script (call to f_01): @user_script:30: no slot", 1,
     false, HF_EPROTO},
    {"OOM command not allowed when used memory > 'maxmemory'.", 1, false,
     HF_EUNAVAIL},
};

TEST(what_a_proxy_says_of_names_apart_is_told_from_what_a_script_says)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char replies[128];

        snprintf(replies, sizeof replies, "-%s\r\n%s", answers[i].said,
                 answers[i].is_apart ? ":5\r\n:6\r\n" : "");
        prepare(HF__OP_ACQUIRE, 2);
        EXPECT_IS(execute_against(replies, 2), answers[i].scripts);
        EXPECT_IS(is_apart, answers[i].is_apart);
        EXPECT_IS(ops[0].result, answers[i].result);
        EXPECT_IS(ops[1].result, answers[i].result);
        EXPECT_IS(ops[1].fence, answers[i].is_apart ? 6 : 0);
    }
}

/* Neighbours that are refused with it, and scripts that nobody knows yet: the
 * first, which has the text, is refused, too. */
TEST(who_is_refused_among_others_is_asked_alone)
{
    prepare(HF__OP_RELEASE, 3);
    EXPECT_IS(execute_against("-NOSCRIPT No matching script.\r\n"
                              "-NOPERM no access to one of the keys\r\n"
                              "-NOPERM no access to the key\r\n"
                              "-NOSCRIPT No matching script.\r\n"
                              "-NOSCRIPT No matching script.\r\n"
                              ":5\r\n:6\r\n",
                              3),
              7);
    EXPECT(!is_apart);
    EXPECT_IS(ops[0].result, HF_EAUTH);
    EXPECT_IS(ops[1].result, HF_OK);
    EXPECT_IS(ops[2].result, HF_OK);
}

TEST(a_master_that_turned_replica_is_left_whatever_its_version)
{
    static const char *const words[] = {
        "READONLY You can't write against a read only replica.",
        "ERR Error running script (call to f_0123456789): @user_script:30: "
        "@user_script: 30: -READONLY You can't write against a read only "
        "replica. ",
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char reply[192];

        snprintf(reply, sizeof reply, "-%s\r\n", words[i]);
        prepare(HF__OP_ACQUIRE, 1);
        EXPECT_IS(execute_against(reply, 1), 1);
        EXPECT_IS(ops[0].result, HF_EUNAVAIL);
        EXPECT_IS(peer_state, HF__PEER_DEAD);
    }
}

/* Each of a thousand holders is read. */
TEST(what_may_have_many_holders_goes_alone)
{
    prepare(HF__OP_RENEW, 5);
    ops[1].lock_mode = (struct hf__lock_mode){HF__MODE_SLOTS, 1000};
    ops[3].lock_mode = (struct hf__lock_mode){HF__MODE_SHARED, 0};
    ops[4].lock_mode = (struct hf__lock_mode){HF__MODE_SHARED, 0};
    EXPECT_IS(execute_against(":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n", 5), 5);
    for (int i = 0; i < 5; i++) {
        EXPECT_IS(ops[i].result, HF_OK);
        EXPECT_IS(ops[i].fence, 1 + i);
    }
}

/* Memory for a full batch of long names is not had anew each time. */
TEST(a_full_batch_of_long_names_keeps_its_room)
{
    static char name[256];
    struct hf__bytes bytes = {0};
    size_t room;

    memset(name, 'x', sizeof name);
    for (int i = 0; i < 5 * HF__MANY_MAX; i++) {
        hf__bytes_word(&bytes, name, sizeof name);
    }
    room = bytes.room;
    EXPECT(room > (size_t)90000);
    hf__bytes_clear(&bytes);
    EXPECT_IS(bytes.room, room);
    for (int i = 0; i < 20 * HF__MANY_MAX; i++) {
        hf__bytes_word(&bytes, name, sizeof name);
    }
    hf__bytes_clear(&bytes);
    EXPECT_IS(bytes.room, 0);
}

/* Which slot it is must be said. */
TEST(a_grant_without_its_slot_is_none)
{
    prepare(HF__OP_ACQUIRE, 1);
    (void)execute_against("*2\r\n$2\r\nok\r\n:5\r\n", 1);
    EXPECT_IS(ops[0].result, HF_EPROTO);
    (void)execute_against("*3\r\n$2\r\nok\r\n:5\r\n:-1\r\n", 1);
    EXPECT_IS(ops[0].result, HF_OK);
    prepare(HF__OP_RENEW, 1);
    (void)execute_against("*2\r\n$2\r\nok\r\n:5\r\n", 1);
    EXPECT_IS(ops[0].result, HF_EPROTO);
    prepare(HF__OP_RELEASE, 1);
    (void)execute_against("*2\r\n$2\r\nok\r\n:5\r\n", 1);
    EXPECT_IS(ops[0].result, HF_OK);
}

/* Nothing is believed of a reply that no script of ours gives. */
TEST(a_reply_for_fewer_is_none)
{
    redisReply fence = {.type = REDIS_REPLY_INTEGER, .integer = 5};
    redisReply *elements[] = {&fence, &fence};
    redisReply reply = {
        .type = REDIS_REPLY_ARRAY, .elements = 2, .element = elements};
    redisReply failure = {.type = REDIS_REPLY_ERROR};

    EXPECT(hf__many_reply(&reply, 1, 2) == &fence);
    EXPECT_IS(hf__many_reply(&reply, 1, 3)->type, REDIS_REPLY_NIL);
    EXPECT_IS(hf__many_reply(&fence, 1, 2)->type, REDIS_REPLY_NIL);
    EXPECT(hf__many_reply(&failure, 1, 2) == &failure);
}
