/* SPDX-License-Identifier: MIT */
/*
 * How long a holder may believe in its lock: never longer than the session
 * lives, whatever its follower knows and its leader has not heard.
 */
#include "tests/store_zookeeper/faults/world.h"

#include <signal.h>

static hf_client *open_living(int port, int64_t session_ms)
{
    char options[60];

    snprintf(options, sizeof options, "session_timeout=%lldms",
             (long long)session_ms);
    return open_at(port, options);
}

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
