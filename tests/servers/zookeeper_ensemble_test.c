/* SPDX-License-Identifier: MIT */
/*
 * Does an ensemble do what zookeeper.h says: its members are one store, one of
 * them leads, another does when that is killed or paused, and without enough
 * of them there is no store?
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    pid_t pids[HF__ZOOKEEPER_ENSEMBLE];
    char url[HF__ZOOKEEPER_URL];
    char part[32];

    hf__zookeeper_free(hf__zookeeper_start(NULL)); /* the archive is made */
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

        pids[i] = hf__zookeeper_pid(s);
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
    for (int i = 0; i < HF__ZOOKEEPER_ENSEMBLE; i++) {
        EXPECT(kill(pids[i], 0) < 0);
    }
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

/* Who is paused does not know what he missed. */
TEST_WITHIN(180, another_leads_when_the_leader_is_paused)
{
    static const char *const soon[] = {"syncLimit=15", NULL};
    const struct hf__zookeeper_opts opts = {.extra = soon};
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(0, &opts);
    int first = hf__zookeeper_await_leader(e, -1);
    int next;
    int64_t start = hf__test_now_ms();

    hf__zookeeper_pause(hf__zookeeper_member(e, first));
    next = hf__zookeeper_await_leader(e, first);
    printf("%lld ms\n", (long long)(hf__test_now_ms() - start));
    hf__zookeeper_put(hf__zookeeper_member(e, next), "/a", "newer");
    hf__zookeeper_resume(hf__zookeeper_member(e, first));
    EXPECT_TEXT(hf__zookeeper_data(hf__zookeeper_member(e, first), "/a"),
                "newer");
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

/* The leader ends the session of a client whose server it does not hear, and
 * that server goes on to answer as if the session lived. */
TEST_WITHIN(180, a_follower_that_is_cut_off_knows_nothing_new)
{
    const struct hf__zookeeper_opts opts = {.is_divisible = true};
    struct hf__zookeeper_ensemble *e = hf__zookeeper_ensemble_start(0, &opts);
    int leader = hf__zookeeper_await_leader(e, -1);
    int follower = (leader + 1) % HF__ZOOKEEPER_ENSEMBLE;
    struct hf__zookeeper_node node;
    struct hf__zookeeper_client *c = hf__zookeeper_dial(
        hf__zookeeper_port(hf__zookeeper_member(e, follower)), 1500);
    int64_t start;

    EXPECT(c);
    EXPECT_IS(hf__zookeeper_create(c, "/e", "", HF__ZOOKEEPER_EPHEMERAL, NULL),
              0);
    hf__zookeeper_divide(e, follower, leader);
    start = hf__test_now_ms();
    while (hf__zookeeper_count(hf__zookeeper_member(e, leader), "/e") >= 0) {
        EXPECT_IS(hf__zookeeper_ping(c), 0);
        hf__test_pause_ms(20);
    }
    printf("gone after %lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT_IS(hf__zookeeper_get(c, "/e", &node), 0);
    EXPECT_IS(node.owner, hf__zookeeper_session(c));
    hf__zookeeper_unite(e);
    EXPECT_IS(hf__zookeeper_count(hf__zookeeper_member(e, follower), "/e"), -1);
    EXPECT_IS(hf__zookeeper_set(c, "/e", ""), HF__ZOOKEEPER_LOST);
    hf__zookeeper_drop(c);
    hf__zookeeper_ensemble_free(e);
}
