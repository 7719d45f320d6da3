/* SPDX-License-Identifier: MIT */
/*
 * Does an ensemble do what zookeeper.h says: its members are one store, one of
 * them leads, another does when that is killed, and without enough
 * of them there is no store?
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <stdio.h>
#include <string.h>

enum { SESSION_MS = 20000 };

static struct hf__zookeeper_client *dial(const struct hf__zookeeper *s)
{
    return hf__zookeeper_dial(hf__zookeeper_port(s), SESSION_MS);
}

TEST_WITHIN(120, members_are_one_store)
{
    struct hf__zookeeper_ensemble *e;
    int64_t start;
    int leaders = 0;
    char url[HF__ZOOKEEPER_URL];
    char part[32];

    start = hf__test_now_ms();
    e = hf__zookeeper_ensemble_start(0, NULL);
    printf("%lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT_IS(hf__zookeeper_ensemble_size(e), HF__ZOOKEEPER_ENSEMBLE);
    hf__zookeeper_ensemble_url(e, "/a", url, sizeof url);
    printf("%s\n", url);
    EXPECT_IS(strncmp(url, "zookeeper://127.0.0.1:", 22), 0);
    EXPECT_TEXT(strrchr(url, '/'), "/a");
    for (int i = 0; i < HF__ZOOKEEPER_ENSEMBLE; i++) {
        const struct hf__zookeeper *s = hf__zookeeper_member(e, i);

        leaders +=
            strcmp(hf__zookeeper_value(s, "Mode", "srvr"), "leader") == 0;
        snprintf(part, sizeof part, "127.0.0.1:%d", hf__zookeeper_port(s));
        EXPECT_HAS(url, part);
    }
    EXPECT_IS(leaders, 1);
    hf__zookeeper_put(hf__zookeeper_member(e, 0), "/a", "seen");
    EXPECT_TEXT(hf__zookeeper_data(hf__zookeeper_member(e, 1), "/a"), "seen");
    EXPECT_TEXT(hf__zookeeper_data(hf__zookeeper_member(e, 2), "/a"), "seen");
    hf__zookeeper_ensemble_free(e);
}

TEST_WITHIN(180, another_leads_when_the_leader_is_killed)
{
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(0, NULL);
    int first = hf__zookeeper_await_leader(e, -1);
    int next;
    int64_t start;

    hf__zookeeper_put(hf__zookeeper_member(e, first), "/a", "kept");
    start = hf__test_now_ms();
    hf__zookeeper_kill(hf__zookeeper_member(e, first));
    next = hf__zookeeper_await_leader(e, first);
    printf("%lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT_NOT(next, first);
    EXPECT_TEXT(hf__zookeeper_data(hf__zookeeper_member(e, next), "/a"),
                "kept");
    hf__zookeeper_put(hf__zookeeper_member(e, next), "/a", "newer");
    start = hf__test_now_ms();
    hf__zookeeper_restart(hf__zookeeper_member(e, first), NULL);
    printf("back in %lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT_TEXT(hf__zookeeper_data(hf__zookeeper_member(e, first), "/a"),
                "newer");
    EXPECT_IS(hf__zookeeper_leader(e), next);
    hf__zookeeper_ensemble_free(e);
}

static void await_no_service(const struct hf__zookeeper *s)
{
    int64_t until = hf__test_now_ms() + hf__servers_patience(30000);

    while (hf__zookeeper_value(s, "Mode", "srvr")[0] &&
           hf__test_now_ms() < until) {
        hf__test_pause_ms(10);
    }
    EXPECT_TEXT(hf__zookeeper_value(s, "Mode", "srvr"), "");
}

TEST_WITHIN(180, a_quorum_is_lost_and_regained)
{
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(0, NULL);
    struct hf__zookeeper *last = hf__zookeeper_member(e, 0);
    struct hf__zookeeper_client *c = dial(last);

    EXPECT(c);
    EXPECT_IS(hf__zookeeper_create(c, "/e", "", HF__ZOOKEEPER_EPHEMERAL, NULL),
              0);
    hf__zookeeper_kill(hf__zookeeper_member(e, 1));
    hf__zookeeper_kill(hf__zookeeper_member(e, 2));
    await_no_service(last);
    EXPECT_IS(hf__zookeeper_leader(e), -1);
    EXPECT(!dial(last));
    hf__zookeeper_launch(hf__zookeeper_member(e, 1), NULL);
    hf__zookeeper_launch(hf__zookeeper_member(e, 2), NULL);
    for (int i = 0; i < HF__ZOOKEEPER_ENSEMBLE; i++) {
        hf__zookeeper_await(hf__zookeeper_member(e, i));
    }
    EXPECT_IS(hf__zookeeper_count(last, "/e"), 0);
    EXPECT(hf__zookeeper_expire(last, hf__zookeeper_session(c)));
    EXPECT_IS(hf__zookeeper_count(hf__zookeeper_member(e, 2), "/e"), -1);
    hf__zookeeper_drop(c);
    hf__zookeeper_ensemble_free(e);
}
