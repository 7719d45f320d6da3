/* SPDX-License-Identifier: MIT */
/*
 * Several hosts of one URL: who may stand in for the first. One that follows
 * it, or went on where it ended, and nobody else: two masters that know nothing
 * of each other would each grant all locks.
 */
#include "tests/store_redis/connect/site.h"

static const struct hf__redis_opts durable = {.has_aof = true};

TEST_WITHIN(60, two_masters_that_know_nothing_of_each_other)
{
    AUTO_SERVER *first = hf__redis_start(&durable);
    AUTO_SERVER *second = hf__redis_start(&durable);
    char url[128];
    DOOR(d);

    snprintf(url, sizeof url, "redis://%s,%s/0", at(first), at(second));
    EXPECT_IS(expect_open(url), 'C');
    hf__redis_pause(first);
    EXPECT_IS(enter_within(&d, url, 2000), HF_EUNSAFE);
    EXPECT_HAS(d.error.text, at(second));
    EXPECT_HAS(d.error.text, "know nothing of each other");
    hf__redis_resume(first);
    EXPECT_IS(expect_open(url), 'C');
    hf__redis_kill(first);
    expect_refused(url, HF_EUNSAFE, "redlock:");
    hf__redis_kill(second);
    hf__redis_restart(second, NULL);
    expect_refused(url, HF_EUNSAFE, "redlock:");
    EXPECT_IS(expect_open(url_of("redis://%s", at(second))), 'B');
}

TEST_WITHIN(60, a_replica_that_is_promoted_stands_in)
{
    AUTO_SERVER *first = hf__redis_start(&durable);
    AUTO_SERVER *second = hf__redis_start(&durable);
    char url[128];
    DOOR(d);

    snprintf(url, sizeof url, "redis://%s,%s/0", at(first), at(second));
    follow(second, first);
    hf__redis_kill(first);
    expect_refused(url, HF_EUNSAFE, "replica");
    hf__redis_command(second, "REPLICAOF NO ONE");
    EXPECT_IS(expect_open(url), 'C');
    /* After a restart it knows that no more, */
    hf__redis_kill(second);
    hf__redis_restart(second, NULL);
    expect_refused(url, HF_EUNSAFE, "know nothing of each other");
    EXPECT_IS(expect_open(url_of("redis://%s,%s", at(second), at(first))), 'C');
    /* but that the first is its replica now shows the same, */
    hf__redis_restart(first, NULL);
    follow(first, second);
    EXPECT_IS(expect_open(url), 'C');
    /* while another master's replica shows nothing. */
    AUTO_SERVER *other = hf__redis_start(&durable);
    follow(first, other);
    EXPECT_IS(enter(&d, url), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "not the master of the replica");
}
