/* SPDX-License-Identifier: MIT */
/*
 * A server that was started anew, and gives a session less time than the one
 * before: it may let a holder's node go long before the lease that the holder
 * was promised. So that session is over at once, and nobody believes in it,
 * whether the server can still be asked or not.
 */
#include "tests/store_zookeeper/api/guest.h"

/* Leases are two thirds of these. */
enum { LONG_MS = 30000, SHORT_MS = 3000 };

static const char *const long_times[] = {"maxSessionTimeout=30000", NULL};
static const char *const short_times[] = {"maxSessionTimeout=3000", NULL};

static struct hf__zookeeper *start_long(void)
{
    struct hf__zookeeper_opts opts = {.extra = long_times};

    return hf__zookeeper_start(&opts);
}

static int64_t lease_of(hf_client *client)
{
    hf_caps_info caps = HF_CAPS_INFO_INIT;

    EXPECT_IS(hf_caps(client, &caps), HF_OK);
    return caps.lease_ms;
}

static hf_client *open_long(int port)
{
    hf_client *client = open_at(port, "", "/locks?session_timeout=30s");

    EXPECT_IS(lease_of(client), LONG_MS * 2 / 3);
    return client;
}

static void shorten(struct hf__zookeeper *server)
{
    hf__zookeeper_kill(server);
    hf__zookeeper_restart(server, short_times);
}

TEST_WITHIN(60, a_holder_loses_a_session_that_is_given_less_time)
{
    AUTO_SERVER *server = start_long();
    AUTO_CLIENT *client = open_long(hf__zookeeper_port(server));
    AUTO_LOCK *lock = acquire_leased(client, "job", LONG_MS * 2 / 3);
    AUTO_LOCK *again = NULL;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    uint64_t fence = hf_fence(lock);

    shorten(server);
    int64_t start = hf__test_now_ms();
    /* How soon it comes back to the server is the library's doing. */
    EXPECT_IS(hf_wait_lost(lock, patience(2 * SHORT_MS)), HF_LOST);
    printf("# lost after %lld ms\n", (long long)since(start));
    expect_lost(lock, HF_REASON_SESSION);
    opts.wait_ms = patience(4 * SHORT_MS);
    EXPECT_IS(hf_acquire(client, "job", &opts, &again, NULL), HF_OK);
    EXPECT_IS(lease_of(client), SHORT_MS * 2 / 3);
    EXPECT_SAFE_MORE(hf_fence(again), fence);
    hf__test_pause_ms(SHORT_MS);
    expect_held(again);
}

/* It is told by who it is connected to, and no answer comes after that. */
TEST_WITHIN(60, a_holder_that_nobody_answers_any_more_loses_it_too)
{
    AUTO_SERVER *server = start_long();
    AUTO_PROXY *proxy =
        hf__proxy_start(hf__zookeeper_port(server), &hf__framing_zookeeper);
    AUTO_CLIENT *client = open_long(hf__proxy_port(proxy));
    AUTO_LOCK *lock = acquire_leased(client, "job", LONG_MS * 2 / 3);
    int handshakes = hf__proxy_counts(proxy).handshakes;

    hf__zookeeper_stop(server);
    hf__zookeeper_launch(server, short_times);
    hf__zookeeper_await(server);
    UNTIL(hf__proxy_counts(proxy).handshakes != handshakes);
    hf__proxy_hold(proxy, HF__TO_SERVER);
    int64_t start = hf__test_now_ms();
    EXPECT_SAFE(hf_wait_lost(lock, SHORT_MS) == HF_LOST);
    printf("# lost after %lld ms\n", (long long)since(start));
    expect_lost(lock, HF_REASON_SESSION);
    hf__proxy_heal(proxy);
}

/* Who stands in line goes on in a new session, and is granted by it. */
TEST_WITHIN(60, who_waits_is_granted_with_the_shorter_lease)
{
    AUTO_SERVER *server = start_long();
    AUTO_CLIENT *client = open_long(hf__zookeeper_port(server));
    AUTO_CLIENT *other = open_long(hf__zookeeper_port(server));
    AUTO_LOCK *lock = acquire_leased(client, "job", LONG_MS * 2 / 3);
    AUTO_LOCK *next = NULL;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    shorten(server);
    opts.wait_ms = patience(5 * SHORT_MS);
    EXPECT_IS(hf_acquire(other, "job", &opts, &next, NULL), HF_OK);
    EXPECT_SAFE_IS(hf_held(lock), 0);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(lock));
    EXPECT_IS(lease_of(other), SHORT_MS * 2 / 3);
}
