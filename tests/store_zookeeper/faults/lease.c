/* SPDX-License-Identifier: MIT */
/*
 * How long a holder may believe in its lock: never longer than the session
 * lives, whatever its leader has heard of it. And who is told that it is over
 * hears it at once, and the name is free soon.
 */
#include "tests/store_zookeeper/faults/world.h"

#include <signal.h>

static const char *const short_times[] = {"maxSessionTimeout=1000", NULL};

static hf_client *open_living(int port, int64_t session_ms)
{
    char options[60];

    snprintf(options, sizeof options, "session_timeout=%lldms",
             (long long)session_ms);
    return open_at(port, options);
}

/* ---- a session that is given less time */

static void await_handshake(struct hf__proxy *p, int before)
{
    UNTIL_WITHIN(15000, hf__proxy_counts(p).handshakes != before);
}

/* It is told so by the last that it hears. */
TEST_WITHIN(120,
            a_session_cut_off_with_less_time_than_before_is_not_believed_in)
{
    AUTO_SERVER *s = start_server("");
    AUTO_PROXY *p = start_proxy(s);
    AUTO_CLIENT *alice = open_living(hf__proxy_port(p), 12000);
    AUTO_LOCK *job = acquire(alice, "job");
    hf_lock *next = NULL;
    int before;

    hf__zookeeper_stop(s);
    before = hf__proxy_counts(p).handshakes;
    hf__zookeeper_launch(s, short_times);
    await_handshake(p, before);
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_hold(p, HF__TO_CLIENT);
    hf__zookeeper_await(s);
    AUTO_CLIENT *bob = open_living(hf__zookeeper_port(s), 1000);
    hf_acquire_opts opts = wanting(patience(30000), HF_LEASE_DEFAULT_MS);

    EXPECT_IS(hf_acquire(bob, "job", &opts, &next, NULL), HF_OK);
    EXPECT_SAFE_IS(hf_held(job), 0);
    EXPECT_IS(hf_release(next, NULL), HF_OK);
    hf_free(next);
    hf__proxy_heal(p);
}

/* Idle fronts of its client stay open. */
TEST_WITHIN(120, what_was_lost_with_a_shorter_session_is_free_soon)
{
    AUTO_SERVER *s = start_server("");
    AUTO_CLIENT *alice = open_living(hf__zookeeper_port(s), 12000);
    AUTO_LOCK *job = acquire(alice, "job");
    hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
    hf_lock *next = NULL;
    int64_t start;

    hf__zookeeper_stop(s);
    hf__zookeeper_launch(s, short_times);
    EXPECT_IS(hf_wait_lost(job, patience(20000)), HF_LOST);
    hf__zookeeper_await(s);
    AUTO_CLIENT *bob = open_living(hf__zookeeper_port(s), 1000);

    start = hf__test_now_ms();
    EXPECT_IS(hf_acquire(bob, "job", &opts, &next, NULL), HF_OK);
    printf("free after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), patience(4000));
    EXPECT_IS(hf_release(next, NULL), HF_OK);
    hf_free(next);
}

/* ---- a session that the server ends */

TEST_WITHIN(60, an_ended_session_is_known_to_its_holders)
{
    AUTO_SERVER *s = start_server("");
    AUTO_CLIENT *bob = open_living(hf__zookeeper_port(s), 30000);
    AUTO_CLIENT *alice = open_living(hf__zookeeper_port(s), 12000);
    AUTO_LOCK *job = acquire(alice, "job");
    hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
    hf_lock *next = NULL;
    int64_t start;

    hf__test_pause_ms(100);
    start = hf__test_now_ms();
    EXPECT(hf__zookeeper_expire(s, session_of(s, "job", 0)));
    EXPECT_IS(hf_acquire(bob, "job", &opts, &next, NULL), HF_OK);
    /* Who was let in again just before is not told, and hears nothing more. */
    EXPECT_IS(hf_wait_lost(job, patience(12000)), HF_LOST);
    printf("told after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), patience(10000));
    expect_lost(job, HF_REASON_SESSION);
    EXPECT_IS(hf_release(next, NULL), HF_OK);
    hf_free(next);
}

/* ---- what a follower knows, and its leader does not */

enum { SESSION_MS = 12000 };

static struct page {
    atomic_int renewals;
    atomic_int remaining_ms; /* as it was seen last */
    atomic_bool is_held;
} * page;
static int follower_port;

/* Those of the words of world.h are for a store with any options. */
static hf_lock *acquire_within(hf_client *client, int64_t ms)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;

    opts.wait_ms = ms;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_OK);
    return lock;
}

/* Until it is killed. */
static void hold(int number)
{
    hf_client *client = open_living(follower_port, SESSION_MS);
    hf_lock *job = acquire_within(client, 20000);

    (void)number;
    for (;;) {
        int left_ms = (int)hf_remaining_ms(job);

        atomic_store(&page->is_held, hf_held(job) != 0);
        if (left_ms > atomic_load(&page->remaining_ms) + 20) {
            atomic_fetch_add(&page->renewals, 1);
        }
        atomic_store(&page->remaining_ms, left_ms);
        hf__test_pause_ms(1);
    }
}

static struct hf__zookeeper_ensemble *start_slow_ensemble(void)
{
    static const char *const extra[] = {"tickTime=1500",
                                        "maxSessionTimeout=30000", NULL};
    const struct hf__zookeeper_opts opts = {.extra = extra};

    return hf__zookeeper_ensemble_start(3, &opts);
}

static void await_renewal(int64_t limit_ms)
{
    int64_t start = hf__test_now_ms();
    int before = atomic_load(&page->renewals);

    while (atomic_load(&page->renewals) == before && since(start) < limit_ms) {
        hf__test_pause_ms(1);
    }
}

/* It is stopped for longer than a third of its session, renews, and its server
 * dies before it has told the leader of that. */
TEST_WITHIN(180, a_holder_that_was_stopped_believes_no_longer_than_its_leader)
{
    AUTO_ENSEMBLE *e = start_slow_ensemble();
    int leader = hf__zookeeper_await_leader(e, -1);
    struct hf__zookeeper *victim = hf__zookeeper_member(e, (leader + 1) % 3);
    hf_lock *next;
    pid_t holder;

    page = shared_page(sizeof *page);
    follower_port = hf__zookeeper_port(victim);
    holder = start_crew(hold, 0);
    await_renewal(20000);
    await_renewal(20000);
    EXPECT_IS(kill(holder, SIGSTOP), 0);
    hf__test_pause_ms(SESSION_MS * 7 / 12);
    EXPECT_IS(kill(holder, SIGCONT), 0);
    await_renewal(SESSION_MS / 4);
    hf__zookeeper_kill(victim);
    printf("its server is dead, and it believes for %d ms\n",
           atomic_load(&page->remaining_ms));
    AUTO_CLIENT *bob =
        open_living(hf__zookeeper_port(hf__zookeeper_member(e, leader)), 6000);

    next = acquire_within(bob, patience(60000));
    EXPECT_SAFE(!atomic_load(&page->is_held));
    kill_crew(holder);
    hf__zookeeper_restart(victim, NULL); /* for the next test */
    EXPECT_IS(hf_release(next, NULL), HF_OK);
    hf_free(next);
}

/* Only when it is told to. */
static void acquire_later(int number)
{
    hf_client *client = open_living(follower_port, SESSION_MS);
    int64_t start;

    (void)number;
    atomic_store(&page->is_held, true);
    UNTIL(atomic_load(&page->renewals) != 0);
    start = hf__test_now_ms();
    hf_lock *job = acquire_within(client, 20000);
    atomic_store(&page->remaining_ms, (int)since(start));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf_free(job);
    hf_close(client);
}

/* There is no evidence for it, and none is waited for: it is made. */
TEST_WITHIN(180, who_was_stopped_is_granted_soon_after)
{
    AUTO_ENSEMBLE *e = start_slow_ensemble();
    int leader = hf__zookeeper_await_leader(e, -1);
    pid_t comer;

    page = shared_page(sizeof *page);
    follower_port =
        hf__zookeeper_port(hf__zookeeper_member(e, (leader + 1) % 3));
    comer = start_crew(acquire_later, 0);
    UNTIL(atomic_load(&page->is_held));
    EXPECT_IS(kill(comer, SIGSTOP), 0);
    hf__test_pause_ms(SESSION_MS / 2);
    atomic_store(&page->renewals, 1);
    EXPECT_IS(kill(comer, SIGCONT), 0);
    end_crew(comer);
    printf("granted after %d ms\n", atomic_load(&page->remaining_ms));
    EXPECT_SOON(atomic_load(&page->remaining_ms), SESSION_MS / 4 - 500);
}
