/* SPDX-License-Identifier: MIT */
/*
 * Clients with more grants, and more that they wait for, than a server lets be
 * watched: after a lost connection the library sets all watches again by one
 * request, and the server hangs up on one that is longer than a megabyte. And
 * to wait costs nothing while nothing happens, however many do.
 */
#include "tests/store_zookeeper/faults/world.h"

#include <string.h>

/* Their nodes' paths have 1.1 megabytes together. */
enum { MANY = 1400, BATCH = 200, LETTERS = 240, BATCHES = MANY / BATCH };

static char names[MANY][HF_NAME_MAX + 1];

/* Each letter is three in the tree. */
static void name_them(void)
{
    for (int i = 0; i < MANY; i++) {
        memset(names[i], '%', LETTERS);
        snprintf(names[i] + LETTERS, sizeof *names - LETTERS, "%06d", i);
    }
}

static void hold_all(hf_client *client, hf_lock *locks[BATCHES])
{
    for (int i = 0; i < BATCHES; i++) {
        hf_acquire_opts opts = wanting(10000, HF_LEASE_DEFAULT_MS);
        const char *list[BATCH];
        hf_error err = HF_ERROR_INIT;
        int r;

        for (int k = 0; k < BATCH; k++) {
            list[k] = names[i * BATCH + k];
        }
        r = hf_acquire_many(client, list, BATCH, &opts, &locks[i], &err);
        if (r != HF_OK) {
            printf("%s\n", err.text);
        }
        EXPECT_IS(r, HF_OK);
    }
}

static int count_held(hf_lock *locks[BATCHES])
{
    int n = 0;

    for (int i = 0; i < BATCHES; i++) {
        n += hf_held(locks[i]) == 1;
    }
    return n;
}

static void free_first(hf_lock *locks[BATCHES], int n)
{
    for (int i = 0; i < n; i++) {
        int r = hf_release(locks[i], NULL);

        /* With a sanitizer an answer may be late: it is given back later. */
        EXPECT(r == HF_OK || r == HF_EUNKNOWN);
        hf_free(locks[i]);
    }
}

/* They are renewed, and one that is broken is lost, watched or not. */
TEST_WITHIN(120, many_locks_outlast_a_lost_connection)
{
    AUTO_SERVER *s = start_server("");
    AUTO_PROXY *p = start_proxy(s);
    const int64_t life_ms = patience(10000);
    char options[48];

    snprintf(options, sizeof options, "session_timeout=%llds",
             (long long)life_ms / 1000);
    AUTO_CLIENT *alice = open_by(p, options);
    AUTO_CLIENT *admin = open_store();
    hf_lock *locks[BATCHES];
    int64_t start = hf__test_now_ms();
    int before;

    name_them();
    hold_all(alice, locks);
    printf("%d locks after %lld ms\n", MANY, (long long)since(start));
    hf__test_pause_ms(1000);
    before = hf__proxy_counts(p).connections;
    hf__proxy_cut(p, HF__RESET);
    hf__test_pause_ms(lease_of_session(life_ms) + 2000);
    printf("%d connections more\n", hf__proxy_counts(p).connections - before);
    EXPECT_IS(count_held(locks), BATCHES);
    EXPECT_LESS(hf__proxy_counts(p).connections, before + 4);
    EXPECT_IS(hf_break(admin, names[MANY - 1], 0, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(locks[BATCHES - 1], patience(10000)), HF_LOST);
    EXPECT_IS(count_held(locks), BATCHES - 1);
    hf_free(locks[BATCHES - 1]);
    free_first(locks, BATCHES - 1);
}

/* ---- who waits */

static int granted;
static int failed;

/* It gives back at once. */
static void take(void *arg, int status, hf_lock *lock, const hf_error *err)
{
    (void)arg;
    if (status != HF_OK) {
        printf("%s\n", err->text);
        failed++;
        return;
    }
    (void)!hf_release_async(lock, NULL, NULL, NULL);
    hf_free(lock);
    granted++;
}

static void wait_for(hf_client *client, const char *name)
{
    hf_acquire_opts opts = wanting(patience(60000), HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_acquire_async(client, name, &opts, take, NULL, &err), HF_OK);
}

/* Until nothing has been said for half a second. */
static void await_silence(struct hf__proxy *p)
{
    int64_t start = hf__test_now_ms();
    int seen = -1;

    while (seen != hf__proxy_counts(p).statements) {
        EXPECT_SOON(since(start), patience(30000));
        seen = hf__proxy_counts(p).statements;
        hf__test_pause_ms(100);
    }
}

static void await_granted(hf_client *client, int n)
{
    int64_t start = hf__test_now_ms();

    while (granted + failed < n) {
        EXPECT_SOON(since(start), patience(30000));
        EXPECT_MORE(hf_dispatch(client, NULL), -1);
        hf__test_pause_ms(5);
    }
    printf("all granted after %lld ms\n", (long long)since(start));
    EXPECT_IS(granted, n);
}

static const char *hot(int i)
{
    static char name[32];

    snprintf(name, sizeof name, "hot-%d", i);
    return name;
}

static int cost_of(struct hf__proxy *p, int ms)
{
    int before = hf__proxy_counts(p).statements;
    int cost;

    hf__test_pause_ms(ms);
    cost = hf__proxy_counts(p).statements - before;
    printf("%d requests in %d ms\n", cost, ms);
    return cost;
}

/* More than one wait on the store has room for. */
TEST_WITHIN(90, who_waits_costs_nothing_however_many_do)
{
    enum { WAITERS = 400, HOT = 300, QUIET_MS = 3000 };
    AUTO_SERVER *s = start_server("session_timeout=60s");
    AUTO_PROXY *p = start_proxy(s);
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_by(p, "session_timeout=60s");
    hf_lock *held[HOT];
    int cost;

    for (int i = 0; i < HOT; i++) {
        held[i] = acquire(alice, hot(i));
    }
    for (int i = 0; i < WAITERS; i++) {
        wait_for(bob, hot(i % HOT));
    }
    await_silence(p);
    cost = cost_of(p, QUIET_MS);
    for (int i = 0; i < 5 && cost >= 50; i++) {
        cost = cost_of(p, QUIET_MS); /* they had not all begun to wait */
    }
    EXPECT_LESS(cost, 50);
    for (int i = 0; i < HOT; i++) {
        EXPECT_IS(hf_release(held[i], NULL), HF_OK);
        hf_free(held[i]);
    }
    await_granted(bob, WAITERS);
}

/* More than there is room for: the others look again and again. */
TEST_WITHIN(120, many_who_wait_outlast_a_lost_connection)
{
    AUTO_SERVER *s = start_server("session_timeout=20s");
    AUTO_PROXY *p = start_proxy(s);
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_by(p, "session_timeout=20s");
    hf_lock *locks[BATCHES];
    int before;

    name_them();
    hold_all(alice, locks);
    for (int i = 0; i < MANY; i++) {
        wait_for(bob, names[i]);
    }
    hf__test_pause_ms(3000);
    before = hf__proxy_counts(p).connections;
    hf__proxy_cut(p, HF__RESET);
    hf__test_pause_ms(2000);
    free_first(locks, BATCHES);
    await_granted(bob, MANY);
    printf("%d connections more\n", hf__proxy_counts(p).connections - before);
    EXPECT_LESS(hf__proxy_counts(p).connections, before + 4);
}
