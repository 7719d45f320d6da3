/* SPDX-License-Identifier: MIT */
/*
 * The server and the group that all tests of a program share: each test finds
 * a database of its own, the same one in each of its processes and threads,
 * and what the test before left is gone.
 */
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void share_both(void)
{
    hf__redis_share();
    hf__redis_share_group();
}

__attribute__((constructor)) static void register_servers(void)
{
    hf__test_prepare(share_both);
}

/* Processes that ask first all at once, as those of a crowd do. */
TEST(processes_that_begin_together_agree)
{
    int ends[2];
    int number;
    int first = 0;

    hf__redis_need();
    EXPECT_IS(pipe(ends), 0);
    for (int i = 0; i < 6; i++) {
        if (fork() == 0) {
            number = hf__redlock_test_database();
            hf__redis_command(hf__redis_member(hf__redis_shared_group(), i % 5),
                              "INCR k");
            EXPECT_IS(write(ends[1], &number, sizeof number), sizeof number);
            _exit(0);
        }
    }
    for (int i = 0; i < 6; i++) {
        EXPECT_IS(read(ends[0], &number, sizeof number), sizeof number);
        first = i ? first : number;
        EXPECT_IS(number, first);
    }
    close(ends[0]);
    close(ends[1]);
    EXPECT_IS(hf__redlock_test_database(), first);
    for (int i = 0; i < 5; i++) {
        EXPECT_TEXT(hf__redis_command(
                        hf__redis_member(hf__redis_shared_group(), i), "GET k"),
                    i ? "1" : "2");
    }
}

static int numbers(const char *url)
{
    return (int)strtol(strrchr(url, '/') + 1, NULL, 10);
}

/* Two of them, so that each sees what the other left. */
static void see_nothing_and_leave_something(void)
{
    const struct hf__redis *s = hf__redis_shared();
    const struct hf__redis_group *g = hf__redis_shared_group();
    char url[HF__REDIS_URL];

    hf__redis_test_url(url, sizeof url);
    EXPECT_IS(numbers(url), hf__redis_test_database());
    EXPECT_MORE(hf__redis_test_database(), 0);
    EXPECT_TEXT(hf__redis_command(s, "DBSIZE"), "0");
    EXPECT_TEXT(hf__redis_command(s, "SCRIPT EXISTS %s",
                                  "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"),
                "0");
    EXPECT_TEXT(hf__redis_value(s, "aof_enabled", "INFO"), "1");
    EXPECT_TEXT(hf__redis_command(s, "SCRIPT LOAD %s", "return 1"),
                "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    hf__redis_command(s, "SET k left");
    EXPECT_TEXT(hf__redis_command(s, "DBSIZE"), "1");
    hf__redlock_test_url(url, sizeof url);
    EXPECT_IS(numbers(url), hf__redlock_test_database());
    for (int i = 0; i < hf__redis_group_size(g); i++) {
        EXPECT_TEXT(hf__redis_command(hf__redis_member(g, i), "DBSIZE"), "0");
        hf__redis_command(hf__redis_member(g, i), "SET k left");
    }
    printf("%d %d\n", hf__redis_test_database(), hf__redlock_test_database());
}

TEST(a_test_begins_with_an_empty_database)
{
    see_nothing_and_leave_something();
}

TEST(the_next_test_does_too_and_the_first_one_is_gone)
{
    see_nothing_and_leave_something();
    EXPECT_TEXT(hf__redis_command(hf__redis_shared(), "EVAL %s 0",
                                  "local n = 0\n"
                                  "for i = 1, 20 do\n"
                                  "    redis.call('SELECT', i)\n"
                                  "    n = n + redis.call('DBSIZE')\n"
                                  "end\n"
                                  "return n"),
                "1");
}
