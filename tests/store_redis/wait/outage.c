/* SPDX-License-Identifier: MIT */
/*
 * Who waits on Redis when its connection, the server or what that knew goes
 * away: it waits on, and is granted the lock soon after that is free.
 */
#include "tests/contract/peer.h"
#include "tests/contract/urls.h"
#include "tests/store_redis/wait/sleeper.h"

int hf__store_url(const char *which, char *url, size_t size)
{
    snprintf(url, size, "%s://127.0.0.1:%d/0", which, hf__redis_port(server()));
    return 0;
}

static hf_acquire_opts patient(bool is_fair)
{
    hf_acquire_opts opts = wanting(patience(20000), 30000);

    opts.fair = is_fair;
    return opts;
}

static void expect_granted_after_a_cut(bool is_fair)
{
    SERVER(NULL);
    struct peer *waiter = start_peer();
    AUTO_CLIENT *client = open_store();
    AUTO_LOCK *job = acquire(client, "job");
    hf_acquire_opts opts = patient(is_fair);
    int64_t start;

    peer_begin_acquire_as(waiter, "job", &opts);
    await_count(channels, 1);
    for (int i = 0; i < 3; i++) {
        hf__redis_command(server(), "CLIENT KILL TYPE pubsub");
        await_count(channels, 0);
        await_count(channels, 1);
    }
    hf__test_pause_ms(50);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(100));
    end_peer(waiter);
}

CASE(who_is_cut_off_waits_on, expect_granted_after_a_cut(false));
CASE(who_is_cut_off_in_line_waits_on, expect_granted_after_a_cut(true));

TEST(who_waits_outlives_the_server)
{
    SERVER(NULL);
    AUTO_CLIENT *client = NULL;
    AUTO_LOCK *job = NULL;
    int64_t start;

    struct peer *waiter = start_peer();
    client = open_store();
    job = acquire(client, "job");
    EXPECT(job != NULL);
    peer_begin_acquire(waiter, "job", patience(15000), 30000);
    await_count(channels, 1);
    hf__redis_kill(server()); /* and what it knew: it keeps no file */
    hf__test_pause_ms(200);
    start = hf__test_now_ms();
    hf__redis_restart(server(), NULL);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(3000));
    end_peer(waiter);
}

static void expect_granted_after_a_flush(bool is_fair)
{
    SERVER(NULL);
    struct peer *waiter = start_peer();
    AUTO_CLIENT *client = open_store();
    AUTO_LOCK *job = acquire_fixed(client, "job", 30000);
    hf_acquire_opts opts = patient(is_fair);
    int64_t start;

    EXPECT(job != NULL);
    peer_begin_acquire_as(waiter, "job", &opts);
    await_count(channels, 1);
    hf__test_pause_ms(100);
    start = hf__test_now_ms();
    hf__redis_command(server(), "FLUSHALL");
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(LOOK_MS) + 300);
    end_peer(waiter);
}

/* Nobody wakes it: it looks. */
CASE(who_waits_outlives_a_flush, expect_granted_after_a_flush(false));
CASE(who_is_in_line_outlives_a_flush, expect_granted_after_a_flush(true));
