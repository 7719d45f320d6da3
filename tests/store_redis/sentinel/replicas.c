/* SPDX-License-Identifier: MIT */
/*
 * wait_replicas=: nothing is told to be granted or renewed that too few
 * replicas have; a grant that they lack is given back.
 */
#include "tests/servers/servers.h"
#include "tests/store_redis/sentinel/site.h"

#include <string.h>

/* The replicas stand still, or go on. */
static void stop_replicas(const struct hf__redis_sentinels *g, bool stopped)
{
    for (int i = 1; i < 3; i++) {
        if (stopped) {
            hf__redis_pause(hf__redis_watched(g, i));
        } else {
            hf__redis_resume(hf__redis_watched(g, i));
        }
    }
}

TEST_WITHIN(60, a_grant_that_no_replica_has_is_given_back)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=1");
    AUTO_CLIENT *bob = open_there("");
    hf_acquire_opts opts = wanting(0, patience(30000));

    stop_replicas(g, true);
    expect_no_grant(alice, "job", &opts, HF_EUNAVAIL,
                    "confirmed by 0 of 1 replicas");
    EXPECT(!has_grant(hf__redis_watched(g, 0), "job"));
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    stop_replicas(g, false);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

TEST_WITHIN(60, as_many_must_have_it_as_were_said)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=2");
    AUTO_CLIENT *bob = open_there("wait_replicas=1");
    hf_acquire_opts opts = wanting(0, patience(30000));

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__redis_pause(hf__redis_watched(g, 2));
    expect_no_grant(alice, "job", &opts, HF_EUNAVAIL,
                    "confirmed by 1 of 2 replicas");
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__redis_resume(hf__redis_watched(g, 2));
}

TEST_WITHIN(60, a_renewal_that_no_replica_has_is_not_believed)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=1");
    int64_t lease_ms = patience(3000);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    int64_t end = hf__test_now_ms() + hf_remaining_ms(job);

    stop_replicas(g, true);
    EXPECT_IS(hf_renew(job, NULL), HF_EUNKNOWN);
    EXPECT_IS(hf_state(job), HF_STATE_AT_RISK);
    EXPECT_LESS(hf__test_now_ms() + hf_remaining_ms(job), end + 50);
    stop_replicas(g, false);
    UNTIL(hf_state(job) == HF_STATE_HELD);
    stop_replicas(g, true);
    EXPECT_IS(hf_wait_lost(job, 3 * lease_ms), HF_LOST);
    expect_lost(job, HF_REASON_EXPIRED);
    stop_replicas(g, false);
    UNTIL(!has_grant(hf__redis_watched(g, 0), "job"));
}

/* Half a site is cut off: its primary has nobody to confirm. Bob stays there,
 * for he asks no Sentinel. */
TEST_WITHIN(90, a_primary_that_is_cut_off_grants_nothing)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("wait_replicas=1");
    AUTO_CLIENT *bob = NULL;
    hf_acquire_opts opts = wanting(0, patience(30000));
    AUTO_LOCK *job = NULL;
    char url[HF__REDIS_URL];
    int now;

    snprintf(url, sizeof url, "redis://:clients@%s/0?wait_replicas=1",
             at(hf__redis_watched(g, 0)));
    EXPECT_IS(hf_open(url, NULL, &bob, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__redis_keep_out(hf__redis_watched(g, 0), true);
    expect_no_grant(bob, "job", &opts, HF_EUNAVAIL,
                    "confirmed by 0 of 1 replicas");
    now = await_failover(g, 0);
    UNTIL_WITHIN(30000,
                 *hf__redis_value(hf__redis_watched(g, now), "connected_slaves",
                                  "INFO replication") != '0');
    job = acquire(alice, "job");
    expect_no_grant(bob, "job", &opts, HF_EUNAVAIL,
                    "confirmed by 0 of 1 replicas");
    EXPECT(!has_grant(hf__redis_watched(g, 0), "job"));
    expect_held(job);
}

/* ---- without Sentinels */

TEST(a_server_alone_confirms_nothing)
{
    AUTO_SERVER *r = hf__redis_start(NULL);
    AUTO_CLIENT *client = NULL;
    hf_acquire_opts opts = wanting(0, patience(30000));
    char url[HF__REDIS_URL + 32];

    snprintf(url, sizeof url, "redis://%s?wait_replicas=1", at(r));
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    expect_no_grant(client, "job", &opts, HF_EUNAVAIL,
                    "confirmed by 0 of 1 replicas");
    EXPECT(!has_grant(r, "job"));
    snprintf(url, sizeof url, "redis://%s?wait_replicas=17", at(r));
    EXPECT_IS(open_status(url, NULL), HF_EINVAL);
}

TEST(who_may_not_wait_is_told_so)
{
    AUTO_SERVER *r = hf__redis_start(
        &(struct hf__redis_opts){.users = "user bob on >pw ~* &* +@all -wait"});
    AUTO_CLIENT *client = NULL;
    hf_acquire_opts opts = wanting(0, patience(30000));
    char url[HF__REDIS_URL];

    snprintf(url, sizeof url, "redis://bob:pw@%s/0?wait_replicas=1", at(r));
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    expect_no_grant(client, "job", &opts, HF_EAUTH, "NOPERM");
    EXPECT(!has_grant(r, "job"));
}
