/* SPDX-License-Identifier: MIT */
/*
 * One Redis, or one group of five, for all tests of a program: started by the
 * runner, used by the tests, which it forks. The first process of a test that
 * asks gets the next database and has all others emptied; those that come
 * after get the same one, for the server remembers the folder of the test. A
 * command of a client that was killed may still come, to the database of the
 * test before.
 */
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"
#include "tests/servers/redis_sentinel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct hf__redis *shared;
static struct hf__redis_group *group;
static struct hf__redis_sentinels *sentinels;
static pid_t runner;

/* Tests are forked from the runner and end by exit() too. */
static void end_shared(void)
{
    if (getpid() == runner) {
        hf__redis_free(shared);
        hf__redis_group_free(group);
        hf__redis_sentinels_free(sentinels);
        shared = NULL;
        group = NULL;
        sentinels = NULL;
    }
}

static const struct hf__redis_opts durable = {.has_aof = true};

static bool is_first(void)
{
    if (!hf__redis_is_installed()) {
        return false;
    }
    if (!runner) {
        runner = getpid();
        atexit(end_shared);
    }
    return true;
}

void hf__redis_share(void)
{
    if (!shared && is_first()) {
        shared = hf__redis_start(&durable);
    }
}

void hf__redis_share_group(void)
{
    if (!group && is_first()) {
        group = hf__redis_group_start(HF__REDIS_GROUP, &durable);
    }
}

/* No machine is so busy that a server is taken for dead. */
void hf__redis_share_sentinels(void)
{
    if (!sentinels && is_first()) {
        sentinels =
            hf__redis_sentinels_start(&(struct hf__redis_sentinels_opts){
                .has_aof = true, .down_ms = 60000});
    }
}

/* ---- the database of a test */

/* Gives the number that the folder of the test has, or makes it the next one,
 * or the one that is wanted, with all databases emptied. */
static const char claim_script[] =
    "redis.call('SELECT', 0)\n"
    "local last = redis.call('HMGET', KEYS[1], 'folder', 'number')\n"
    "if last[1] == ARGV[1] then return last[2] end\n"
    "local number = tonumber(ARGV[2])\n"
    "if number == 0 then\n"
    "    number = tonumber(last[2] or 0) % tonumber(ARGV[3]) + 1\n"
    "end\n"
    "redis.call('FLUSHALL')\n"
    "redis.call('HSET', KEYS[1], 'folder', ARGV[1], 'number', number)\n"
    "return number .. ' new'\n";

static int claim(struct hf__redis *s, int wanted)
{
    const char *reply =
        hf__redis_command(s, "EVAL %s 1 holdfast-tests %s %d %d", claim_script,
                          hf__test_folder(), wanted, HF__REDIS_DATABASES - 1);
    int number = (int)strtol(reply, NULL, 10);

    if (strstr(reply, " new")) {
        hf__redis_command(s, "SCRIPT FLUSH");
    }
    hf__redis_select(s, number);
    return number;
}

static _Noreturn void fail_unshared(const char *function)
{
    hf__servers_fail("no shared server: %s() was not called before the first "
                     "test",
                     function);
}

int hf__redis_test_database(void)
{
    static _Atomic int number;

    hf__redis_need();
    if (!shared) {
        fail_unshared("hf__redis_share");
    }
    if (!number) {
        number = claim(shared, 0);
    }
    return number;
}

static int redlock_test_database(void)
{
    static _Atomic int number;
    int first = 0;

    hf__redis_need();
    if (!group) {
        fail_unshared("hf__redis_share_group");
    }
    if (!number) {
        for (int i = 0; i < hf__redis_group_size(group); i++) {
            first = claim(hf__redis_member(group, i), first);
            hf__redis_mark(hf__redis_member(group, i));
        }
        number = first;
    }
    return number;
}

const struct hf__redis *hf__redis_shared(void)
{
    hf__redis_test_database();
    return shared;
}

void hf__redis_test_url(char *url, size_t size)
{
    int number = hf__redis_test_database();

    hf__redis_url(shared, number, url, size);
}

void hf__redlock_test_url(char *url, size_t size)
{
    int number = redlock_test_database();

    hf__redis_group_url(group, number, url, size);
}

void hf__redis_sentinels_test_url(char *url, size_t size)
{
    static _Atomic int number;

    hf__redis_need();
    if (!sentinels) {
        fail_unshared("hf__redis_share_sentinels");
    }
    if (!number) {
        number = claim(hf__redis_watched(sentinels, 0), 0);
    }
    hf__redis_sentinels_url(sentinels, number, url, size);
}
