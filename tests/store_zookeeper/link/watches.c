/* SPDX-License-Identifier: MIT */
/*
 * More watches than a server lets be set again at once: after a lost
 * connection the library sets all of them by one request, and the server hangs
 * up on one that is longer than a megabyte.
 */
#include "tests/servers/proxy.h"
#include "tests/store_zookeeper/link/side.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 1400, LONG_PATH = 900, WATCHED_MAX = 512 * 1024 };

/* Till the next call. */
static const char *long_path(int i)
{
    static char path[LONG_PATH];

    memset(path, 'n', sizeof path - 1);
    path[snprintf(path, sizeof path, "/%06d", i)] = '-';
    return path;
}

static void watch_many(struct side *s, struct hf__zk_watch *watches[MANY])
{
    CALLS(calls) = calls_of(s, MANY);

    for (int i = 0; i < MANY; i++) {
        watches[i] = hf__zk_watch_new(&s->ref);
        EXPECT(watches[i] != NULL);
        hf__zk_exists(calls, i, long_path(i), watches[i]);
    }
    await(calls);
    EXPECT_IS(rc_of(calls, MANY - 1), ZNONODE);
}

static void end_proxy(struct hf__proxy **p)
{
    hf__proxy_free(*p);
}

/* What is beyond the room is asked, but not watched. */
TEST_WITHIN(60, many_watches_outlast_a_lost_connection)
{
    HF_AUTO(end_proxy)
    struct hf__proxy *p = hf__proxy_start(
        hf__zookeeper_port(hf__zookeeper_shared()), &hf__framing_zookeeper);
    struct hf__zk_watch *watches[MANY];
    struct hf__zk_target target = {.timeout_ms = 20000};
    char hosts[64];
    int n = 0;
    int before;
    SIDE(s);

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", hf__proxy_port(p));
    target.hosts = hosts;
    EXPECT_IS(meet_at(&s, &target, 1, 10000), HF_OK);
    watch_many(&s, watches);
    before = hf__proxy_counts(p).connections;
    hf__proxy_cut(p, HF__RESET);
    hf__test_pause_ms(3000);
    EXPECT_IS(look(&s, "/none"), ZNONODE);
    EXPECT_LESS(hf__proxy_counts(p).connections, before + 4);
    hf__zookeeper_put(hf__zookeeper_shared(), long_path(0), "");
    for (int i = 0; !hf__zk_watch_has_fired(watches[0]); i++) {
        EXPECT_LESS(i, 500);
        hf__test_pause_ms(10);
    }
    EXPECT(hf__zookeeper_remove(hf__zookeeper_shared(), long_path(0)));
    for (int i = 0; i < MANY; i++) {
        n += hf__zk_watch_is_set(watches[i]);
        hf__zk_watch_drop(watches[i]);
    }
    printf("# %d of %d were watched\n", n, MANY);
    EXPECT_LESS(n * LONG_PATH, WATCHED_MAX);
    EXPECT_MORE(n * LONG_PATH, WATCHED_MAX / 2);
    EXPECT_IS(hf__zk_watch_spare(&s.ref), WATCHED_MAX / 2);
}
