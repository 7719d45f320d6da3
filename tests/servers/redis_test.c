/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what redis.h says: a server that answers, an
 * administrator whom nothing keeps out, and nothing left when its owner is
 * killed? That it is started again, and TLS, with_redis_test.py sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/servers.h"

#include <hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A client by TCP; NULL: it is refused. */
static redisContext *connect_client(const struct hf__redis *s)
{
    struct timeval patience = {.tv_sec = 1};
    redisContext *c =
        redisConnectWithTimeout("127.0.0.1", hf__redis_port(s), patience);

    EXPECT(c);
    if (c->err) {
        printf("%s\n", c->errstr);
        redisFree(c);
        return NULL;
    }
    redisSetTimeout(c, patience);
    return c;
}

/* What a client by TCP gets for a command; "": nothing. */
__attribute__((format(printf, 2, 3))) static const char *
ask(const struct hf__redis *s, const char *format, ...)
{
    static char text[256];
    redisContext *c = connect_client(s);
    redisReply *reply;
    va_list args;

    text[0] = '\0';
    if (c) {
        va_start(args, format);
        reply = redisvCommand(c, format, args);
        va_end(args);
        snprintf(text, sizeof text, "%s",
                 reply && reply->str ? reply->str : "");
        freeReplyObject(reply);
        redisFree(c);
    }
    return text;
}

TEST_WITHIN(60, a_server_starts_answers_and_leaves_nothing)
{
    int64_t start = hf__test_now_ms();
    struct hf__redis *s = hf__redis_start(NULL);
    int64_t took = hf__test_now_ms() - start;
    char folder[256];
    pid_t pid = hf__redis_pid(s);

    printf("%lld ms\n", (long long)took);
    EXPECT_TEXT(hf__redis_command(s, "PING"), "PONG");
    EXPECT_TEXT(ask(s, "PING"), "PONG");
    EXPECT_HAS(hf__redis_value(s, "dir", "CONFIG GET dir"),
               hf__redis_folder(s));
    EXPECT_TEXT(hf__redis_value(s, "save", "CONFIG GET save"), "");
    EXPECT_TEXT(hf__redis_value(s, "databases", "CONFIG GET databases"),
                "10000");
    EXPECT_TEXT(hf__redis_value(s, "aof_enabled", "INFO"), "0");
    snprintf(folder, sizeof folder, "%s", hf__redis_folder(s));
    start = hf__test_now_ms();
    hf__redis_free(s);
    printf("ended in %lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT(access(folder, F_OK) < 0);
    EXPECT(kill(pid, 0) < 0);
}

TEST_WITHIN(60, replies_come_as_text)
{
    struct hf__redis *s = hf__redis_start(NULL);

    EXPECT_TEXT(hf__redis_command(s, "SET k %s", "two words"), "OK");
    EXPECT_TEXT(hf__redis_command(s, "GET k"), "two words");
    EXPECT_TEXT(hf__redis_command(s, "GET nothing"), "");
    EXPECT_TEXT(hf__redis_command(s, "HSET h a 1 b %d", -2), "2");
    EXPECT_TEXT(hf__redis_command(s, "HMGET h a none b"), "1\n\n-2");
    EXPECT_TEXT(hf__redis_value(s, "b", "HGETALL h"), "-2");
    EXPECT_TEXT(hf__redis_value(s, "c", "HGETALL h"), "");
    EXPECT_TEXT(hf__redis_value(s, "role", "INFO replication"), "master");
    EXPECT_TEXT(hf__redis_value(s, "rol", "INFO replication"), "");
    EXPECT_TEXT(hf__redis_command(s, "EVAL %s 0", "return {1, {'a', 'b'}, 2}"),
                "1\na\nb\n2");
    EXPECT_TEXT(hf__redis_command(s, "KEYS none*"), "");
    EXPECT(!hf__redis_try(s, "SET k 1"));
    EXPECT_HAS(hf__redis_try(s, "LPUSH k 1"), "WRONGTYPE");
    hf__redis_select(s, 77);
    EXPECT_TEXT(hf__redis_command(s, "EXISTS k"), "0");
    hf__redis_select(s, 0);
    EXPECT_TEXT(hf__redis_command(s, "EXISTS k"), "1");
    hf__redis_free(s);
}

TEST_WITHIN(60, a_paused_server_is_silent_until_it_is_resumed)
{
    struct hf__redis *s = hf__redis_start(NULL);

    EXPECT_TEXT(ask(s, "PING"), "PONG");
    hf__redis_pause(s);
    EXPECT_TEXT(ask(s, "PING"), "");
    EXPECT(!hf__redis_has_ended(s));
    hf__redis_resume(s);
    EXPECT_TEXT(ask(s, "PING"), "PONG");
    hf__redis_free(s);
}

TEST_WITHIN(60, a_password_and_users_bind_all_but_the_administrator)
{
    const struct hf__redis_opts opts = {
        .password = "knock-twice",
        .users = "user bob on >bobs ~bob:* resetchannels +@read"};
    struct hf__redis *s = hf__redis_start(&opts);
    char url[HF__REDIS_URL];
    redisContext *c = connect_client(s);
    redisReply *reply;

    hf__redis_url(s, 7, url, sizeof url);
    EXPECT_HAS(url, "redis://:knock-twice@127.0.0.1:");
    EXPECT_TEXT(strrchr(url, '/'), "/7");
    EXPECT_HAS(ask(s, "GET k"), "NOAUTH");
    EXPECT_HAS(ask(s, "AUTH wrong"), "WRONGPASS");
    EXPECT_TEXT(ask(s, "AUTH knock-twice"), "OK");
    EXPECT(c);
    freeReplyObject(redisCommand(c, "AUTH bob bobs"));
    reply = redisCommand(c, "SET bob:k 1");
    EXPECT(reply);
    EXPECT_HAS(reply->str, "NOPERM");
    freeReplyObject(reply);
    redisFree(c);
    hf__redis_command(s, "ACL SETUSER default off");
    EXPECT_HAS(ask(s, "AUTH knock-twice"), "WRONGPASS");
    EXPECT_TEXT(hf__redis_command(s, "ACL WHOAMI"), "admin");
    hf__redis_kill(s);
    hf__redis_restart(s, NULL);
    EXPECT_TEXT(ask(s, "AUTH knock-twice"), "OK");
    hf__redis_free(s);
}

struct owned {
    pid_t server;
    char folder[HF__SERVERS_PATH];
};

static struct owned start_owned(void)
{
    struct hf__redis *s = hf__redis_start(NULL);
    struct owned owned = {.server = hf__redis_pid(s)};

    snprintf(owned.folder, sizeof owned.folder, "%s", hf__redis_folder(s));
    return owned;
}

/* With the group that it is in, as a test past its limit. */
TEST_WITHIN(60, nothing_is_left_of_an_owner_that_is_killed)
{
    struct owned owned = {0};
    int ends[2];
    pid_t owner;

    hf__redis_need();
    EXPECT_IS(pipe(ends), 0);
    owner = fork();
    if (owner == 0) {
        setpgid(0, 0);
        owned = start_owned();
        EXPECT_IS(write(ends[1], &owned, sizeof owned), sizeof owned);
        pause();
        _exit(0);
    }
    EXPECT_IS(read(ends[0], &owned, sizeof owned), sizeof owned);
    EXPECT_IS(kill(owned.server, 0), 0);
    EXPECT_IS(kill(-owner, SIGKILL), 0);
    EXPECT_IS(waitpid(owner, NULL, 0), owner);
    EXPECT(hf__servers_is_gone(owned.server));
    EXPECT(hf__servers_is_removed(owned.folder));
    close(ends[0]);
    close(ends[1]);
}

TEST_WITHIN(60, a_group_starts_at_once_and_each_member_is_alone)
{
    int64_t start = hf__test_now_ms();
    struct hf__redis_group *g = hf__redis_group_start(0, NULL);
    char url[HF__REDIS_URL];
    char part[32];

    printf("%lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT_IS(hf__redis_group_size(g), HF__REDIS_GROUP);
    hf__redis_group_url(g, 3, url, sizeof url);
    printf("%s\n", url);
    EXPECT_IS(strncmp(url, "redlock://127.0.0.1:", 20), 0);
    EXPECT_HAS(url, "/3");
    for (int i = 0; i < HF__REDIS_GROUP; i++) {
        snprintf(part, sizeof part, "127.0.0.1:%d",
                 hf__redis_port(hf__redis_member(g, i)));
        EXPECT_HAS(url, part);
    }
    hf__redis_command(hf__redis_member(g, 1), "SET k 1");
    hf__redis_kill(hf__redis_member(g, 2));
    hf__redis_pause(hf__redis_member(g, 4));
    EXPECT_TEXT(ask(hf__redis_member(g, 0), "GET k"), "");
    EXPECT_TEXT(ask(hf__redis_member(g, 1), "GET k"), "1");
    EXPECT_TEXT(ask(hf__redis_member(g, 2), "PING"), "");
    EXPECT_TEXT(ask(hf__redis_member(g, 3), "PING"), "PONG");
    hf__redis_restart(hf__redis_member(g, 2), NULL);
    EXPECT_TEXT(ask(hf__redis_member(g, 2), "PING"), "PONG");
    hf__redis_group_free(g);
}
