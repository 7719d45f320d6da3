/* SPDX-License-Identifier: MIT */
/*
 * What becomes of held locks when another server is made the primary: the new
 * one is asked at once, long before a lease of half a minute has a third of it
 * behind it, and says which are still there. The old one may be dead, stand
 * still, or go on beside the new one.
 */
#include "tests/store_redis/sentinel/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No renewal is due before all is over, and the Sentinels are not asked again
 * without their news. */
enum { LEASE_MS = 300000, NOTICED_MS = 5000 };

static void await_replica(const struct hf__redis_sentinels *g, int i,
                          const char *name)
{
    UNTIL(has_grant(hf__redis_watched(g, i), name));
}

/* Until the holder has renewed there. */
static void await_renewal(hf_client *client)
{
    UNTIL_WITHIN(NOTICED_MS, stats_of(client).renewed >= 1);
}

static hf_lock *acquire_replicated(const struct hf__redis_sentinels *g,
                                   hf_client *client, const char *name)
{
    hf_lock *lock = acquire_leased(client, name, LEASE_MS);

    await_replica(g, 1, name);
    await_replica(g, 2, name);
    return lock;
}

/* ---- what the new one has goes on */

TEST_WITHIN(90, a_lock_outlives_its_killed_primary)
{
    AUTO_SITE *g = begin_site(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_replicated(g, alice, "job");
    uint64_t fence = hf_fence(job);
    int now;

    hf__redis_kill(hf__redis_watched(g, 0));
    now = await_failover(g, 0);
    await_renewal(alice);
    expect_held(job);
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT(!has_grant(hf__redis_watched(g, now), "job"));
    hf_free(job);
    job = acquire(bob, "job");
    EXPECT_SAFE_MORE(hf_fence(job), fence);
}

TEST_WITHIN(90, a_lock_outlives_its_stopped_primary)
{
    AUTO_SITE *g = begin_site(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_replicated(g, alice, "job");

    hf__redis_pause(hf__redis_watched(g, 0));
    (void)await_failover(g, 0);
    await_renewal(alice);
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    hf__redis_resume(hf__redis_watched(g, 0));
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* The old primary answers as before: the Sentinels' news alone tell. */
TEST_WITHIN(90, holders_and_waiters_leave_a_primary_that_goes_on)
{
    AUTO_SITE *g = begin_site(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_replicated(g, alice, "job");
    AUTO_LOCK *next = NULL;
    hf_acquire_opts opts = wanting(patience(60000), LEASE_MS);
    int now;

    hf__redis_keep_out(hf__redis_watched(g, 0), true);
    now = await_failover(g, 0);
    await_renewal(alice);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT(!has_grant(hf__redis_watched(g, now), "job"));
    next = must_acquire(bob, "job", &opts);
    EXPECT(has_grant(hf__redis_watched(g, now), "job"));
    /* The old one was told nothing of all that. */
    EXPECT(has_grant(hf__redis_watched(g, 0), "job"));
}

static void wait_for_job(void *arg)
{
    hf_client *client = arg;

    EXPECT_LESS(await_free(client, "job", patience(30000)), LEASE_MS);
}

TEST_WITHIN(90, who_waits_goes_along)
{
    AUTO_SITE *g = begin_site(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_replicated(g, alice, "job");
    struct hf__test_thread *waiter = hf__test_start(wait_for_job, bob);

    UNTIL(*hf__redis_command(hf__redis_watched(g, 0),
                             "ZCARD holdfast:{job}:w") == '1');
    hf__redis_keep_out(hf__redis_watched(g, 0), true);
    (void)await_failover(g, 0);
    await_renewal(alice);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(waiter);
}

/* ---- who is on the way to the old one */

struct claim {
    hf_client *client;
    hf_lock *lock;
};

static void claim_job(void *arg)
{
    struct claim *c = arg;
    hf_acquire_opts opts = wanting(0, LEASE_MS);

    c->lock = must_acquire(c->client, "job", &opts);
}

/* The client's sessions: for its claims, for renewals, to listen. */
static bool has_three_sessions(const struct hf__redis *server)
{
    const char *text = hf__redis_command(server, "CLIENT LIST");
    int n = 0;

    while ((text = strstr(text, "name=holdfast")) != NULL) {
        text++;
        n++;
    }
    return n == 3;
}

/* That which has claimed. */
static void cut_claims(const struct hf__redis *server)
{
    char list[4096];
    char *line;
    char *rest = list;

    snprintf(list, sizeof list, "%s", hf__redis_command(server, "CLIENT LIST"));
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        if (strstr(line, "name=holdfast") != NULL &&
            strstr(line, "cmd=evalsha") != NULL) {
            EXPECT_TEXT(hf__redis_command(server, "CLIENT KILL ID %ld",
                                          strtol(line + 3, NULL, 10)),
                        "1");
            return;
        }
    }
    EXPECT(false); /* no session of it has claimed */
}

/* It connects to the old primary, which stands still, as the Sentinels still
 * name it, and has much time for it. */
TEST_WITHIN(90, who_connects_to_a_deposed_primary_is_not_granted_by_it)
{
    AUTO_SITE *g = begin_site(NULL);
    AUTO_CLIENT *alice = open_there("io_timeout=40s");
    AUTO_LOCK *kept = acquire_replicated(g, alice, "kept");
    struct claim claim = {.client = alice};
    struct hf__test_thread *claimer;
    int now;

    UNTIL(has_three_sessions(hf__redis_watched(g, 0)));
    cut_claims(hf__redis_watched(g, 0));
    hf__redis_pause(hf__redis_watched(g, 0));
    claimer = hf__test_start(claim_job, &claim);
    now = await_failover(g, 0);
    await_renewal(alice);
    hf__redis_resume(hf__redis_watched(g, 0));
    hf__test_join(claimer);
    EXPECT_SAFE_IS(has_grant(hf__redis_watched(g, now), "job"), true);
    expect_held(claim.lock);
    expect_held(kept);
    hf_free(claim.lock);
}

/* ---- what it lacks is told */

TEST_WITHIN(90, a_lock_that_the_new_primary_lacks_is_told_at_once)
{
    AUTO_SITE *g = begin_site(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *kept = acquire_replicated(g, alice, "kept");
    AUTO_LOCK *job = NULL;

    hf__redis_keep_out(hf__redis_watched(g, 0), true);
    job = acquire_leased(alice, "job", LEASE_MS);
    (void)await_failover(g, 0);
    EXPECT_IS(hf_wait_lost(job, patience(NOTICED_MS)), HF_LOST);
    expect_lost(job, HF_REASON_STORE_GONE);
    expect_held(kept);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_SAFE_IS(try_once(bob, "kept"), HF_BUSY);
}

/* ---- the old one is back */

TEST_WITHIN(90, an_old_primary_that_comes_back_grants_nothing)
{
    AUTO_SITE *g = begin_site(NULL);
    CLIENTS(alice);
    int now;

    hf__redis_kill(hf__redis_watched(g, 0));
    now = await_failover(g, 0);
    hf__redis_restart(hf__redis_watched(g, 0), NULL);
    EXPECT_TEXT(
        hf__redis_value(hf__redis_watched(g, 0), "role", "INFO replication"),
        "master");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *other = acquire(bob, "other");
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT(has_grant(hf__redis_watched(g, now), "job"));
    EXPECT(has_grant(hf__redis_watched(g, now), "other"));
    /* Until the Sentinels make it a replica, it has nothing of it. */
    if (strcmp(hf__redis_value(hf__redis_watched(g, 0), "role",
                               "INFO replication"),
               "master") == 0) {
        EXPECT(!has_grant(hf__redis_watched(g, 0), "job"));
    }
    expect_held(job);
}
