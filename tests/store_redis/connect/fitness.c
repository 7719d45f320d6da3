/* SPDX-License-Identifier: MIT */
/*
 * What a server is: one that evicts, a replica, a node of a cluster, a
 * sentinel, one that loads is refused with the remedy, overrides let through,
 * and the grade says how good the rest is.
 */
#include "tests/store_redis/connect/site.h"

#include <stdio.h>
#include <string.h>

static void expect_grade(const char *url, const char *allow, char grade)
{
    DOOR(d);
    int r = enter_allowing(&d, url, allow);

    if (r != HF_OK) {
        printf("%s: %s\n", url, d.error.text);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT_IS(hf__conn_facts(&d.conn).grade, grade);
    EXPECT_IS(hf__conn_facts(&d.conn).reach, HF_REACH_HOSTS);
}

TEST(the_grade_is_that_of_what_a_crash_leaves)
{
    struct hf__redis_opts opts = {.has_aof = true};
    AUTO_SERVER *durable = hf__redis_start(&opts);
    AUTO_SERVER *volatile_one = hf__redis_start(NULL);

    expect_grade(url_of("redis://%s", at(durable)), "", 'B');
    expect_grade(url_of("redis://%s", at(volatile_one)), "", 'D');
    hf__redis_command(volatile_one, "CONFIG SET save %s", "60 1");
    expect_grade(url_of("redis://%s", at(volatile_one)), "", 'D');
}

TEST(a_server_that_evicts_is_refused)
{
    static const char *const policies[] = {"allkeys-lru", "volatile-ttl",
                                           "volatile-random", "allkeys-lfu"};
    AUTO_SERVER *r = hf__redis_start(NULL);

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        hf__redis_command(r, "CONFIG SET maxmemory-policy %s", policies[i]);
        expect_refused(url_of("redis://%s", at(r)), HF_EUNSAFE, policies[i]);
        expect_refused(url_of("redis://%s", at(r)), HF_EUNSAFE, "noeviction");
        expect_grade(url_of("redis://%s", at(r)), "replica,evicting", 'D');
    }
    hf__redis_command(r, "CONFIG SET maxmemory-policy noeviction");
    expect_open(url_of("redis://%s", at(r)));
}

TEST_WITHIN(60, a_replica_is_refused_and_lowers_the_grade_of_its_master)
{
    struct hf__redis_opts opts = {.has_aof = true};
    AUTO_SERVER *master = hf__redis_start(&opts);
    AUTO_SERVER *replica = hf__redis_start(&opts);

    follow(replica, master);
    expect_refused(url_of("redis://%s", at(replica)), HF_EUNSAFE, "replica");
    expect_grade(url_of("redis://%s", at(replica)), "replica", 'C');
    expect_grade(url_of("redis://%s", at(master)), "", 'C');
    /* The URL may name both, in any order: the master is meant. */
    expect_grade(url_of("redis://%s,%s", at(replica), at(master)), "", 'C');
}

TEST(a_node_of_a_cluster_is_refused)
{
    char bus[40]; /* else that is 10,000 above, and may be anybody's */
    const char *const extra[] = {"cluster-enabled yes", bus, NULL};
    struct hf__redis_opts opts = {.extra = extra};

    snprintf(bus, sizeof bus, "cluster-port %d", hf__servers_take_port());
    AUTO_SERVER *r = hf__redis_start(&opts);

    expect_refused(url_of("redis://%s", at(r)), HF_EUNSAFE, "Cluster");
}

/* It answers nothing else well, and holds no locks. Of a log it reads 1024
 * commands before it looks whether anybody asks; so there are more. */
TEST(a_server_that_loads_is_not_there_yet)
{
    static const char *const slowly[] = {"key-load-delay 1000", NULL};
    struct hf__redis_opts opts = {.has_aof = true};
    AUTO_SERVER *r = hf__redis_start(&opts);
    DOOR(d);
    int status;

    for (int i = 0; i < 3000; i++) {
        hf__redis_command(r, "SET key:%d value", i);
    }
    hf__redis_stop(r);
    hf__redis_launch(r, slowly);
    do {
        hf__test_pause_ms(5);
        status = enter(&d, url_of("redis://%s", at(r)));
    } while (status == HF_EUNAVAIL && strstr(d.error.text, "refused") != NULL);
    EXPECT_IS(status, HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "loads its data");
    hf__redis_await(r);
    expect_open(url_of("redis://%s", at(r)));
}

TEST(when_all_places_are_taken_that_is_told)
{
    static const char *const extra[] = {"maxclients 4", NULL};
    struct hf__redis_opts opts = {.extra = extra};
    AUTO_SERVER *r = hf__redis_start(&opts);
    struct door doors[8] = {0};
    int status = HF_OK;
    int n = 0;

    while (n < 8 && status == HF_OK) {
        status = enter(&doors[n++], url_of("redis://%s", at(r)));
    }
    EXPECT_IS(status, HF_EUNAVAIL);
    EXPECT_HAS(doors[n - 1].error.text, "maxclients");
    for (int i = 0; i < n; i++) {
        shut(&doors[i]);
    }
}
