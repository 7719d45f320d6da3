/* SPDX-License-Identifier: MIT */
/*
 * What a server is: one that evicts, a replica, a node of a cluster is refused
 * with the remedy, overrides let through, and the grade says how good the rest
 * is.
 */
#include "tests/store_redis/connect/site.h"

#include <stdio.h>

static void expect_grade(const char *url, const char *allow, char grade)
{
    DOOR(d);
    int r = enter_allowing(&d, url, allow);

    if (r != HF_OK) {
        printf("%s: %s\n", url, d.error.text);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, grade);
    EXPECT_IS(hf__conn_server_info(&d.conn).reach, HF_REACH_HOSTS);
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
