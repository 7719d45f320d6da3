/* SPDX-License-Identifier: MIT */
/*
 * Members that were away for a while, and clients that call rarely, in a hurry
 * or for a member that is slow: who comes back is told what it missed.
 */
#include "tests/servers/proxy.h"
#include "tests/store_redlock/world.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <string.h>

/* ---- a resolver that is down: "localhost" takes long, and is not found */

enum { RESOLVER_MS = 6000 };
static atomic_bool is_resolver_down;
static atomic_int look_ups; /* of it, meanwhile */

int getaddrinfo(const char *node, const char *service,
                const struct addrinfo *hints, struct addrinfo **ret_list)
{
    static int (*real)(const char *, const char *, const struct addrinfo *,
                       struct addrinfo **);

    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    }
    if (atomic_load(&is_resolver_down) && strcmp(node, "localhost") == 0) {
        atomic_fetch_add(&look_ups, 1);
        hf__test_pause_ms(RESOLVER_MS);
        return EAI_AGAIN;
    }
    return real(node, service, hints, ret_list);
}

/* The group's URL, but the first member is "localhost". */
static hf_client *open_by_name(void)
{
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;
    char url[600];

    snprintf(url, sizeof url, "redlock://localhost:%d,%s", port_of(0),
             url_of(~1U, "") + strlen("redlock://"));
    EXPECT_IS(hf_open(url, NULL, &client, &err), HF_OK);
    return client;
}

TEST_WITHIN(60, a_name_that_is_not_found_any_more_costs_no_lock)
{
    GROUP(5);
    AUTO_CLIENT *alice = open_by_name();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 20000);
    int64_t start = hf__test_now_ms();

    atomic_store(&is_resolver_down, true);
    hf__redis_kill(member(0));
    for (int i = 0; i < 10; i++) {
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        hf__test_pause_ms(50);
    }
    EXPECT_IS(atomic_load(&look_ups), 0);
    hf__redis_restart(member(0), NULL);
    clear_at(0, "job");
    while (token_at(0, "job")[0] == '\0') {
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        EXPECT_LESS(since(start), patience(8000));
        hf__test_pause_ms(50);
    }
    EXPECT_IS(atomic_load(&look_ups), 0);
}

/* One attempt later, where nothing goes on without them. */
TEST_WITHIN(60, names_are_looked_up_again_when_a_majority_is_missing)
{
    GROUP(3);
    AUTO_CLIENT *alice = open_by_name();
    int64_t start = hf__test_now_ms();

    atomic_store(&is_resolver_down, true);
    hf__redis_kill(member(0));
    hf__redis_kill(member(1));
    while (atomic_load(&look_ups) == 0) {
        EXPECT(try_once(alice, "job") < 0);
        EXPECT_LESS(since(start), patience(20000));
    }
    atomic_store(&is_resolver_down, false);
    hf__redis_restart(member(0), NULL);
    while (try_once(alice, "job") != HF_OK) {
        EXPECT_LESS(since(start), patience(50000));
    }
}

/* ---- what was over meanwhile */

/* Lets go of so many times 128 names, faster than grants can be told apart from
 * those before by their time. */
static void be_busy(hf_client *client, int times)
{
    enum { NAMES = 128 };
    char texts[NAMES][16];
    const char *names[NAMES];
    hf_acquire_opts opts = wanting(0, 30000);

    for (int i = 0; i < NAMES; i++) {
        snprintf(texts[i], sizeof texts[i], "other-%d", i);
        names[i] = texts[i];
    }
    for (int i = 0; i < times; i++) {
        AUTO_LOCK *lock = NULL;

        EXPECT_IS(hf_acquire_many(client, names, NAMES, &opts, &lock, NULL),
                  HF_OK);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
}

/* What a busy client does meanwhile does not matter to those members. */
static void expect_told(int n, int busy_times)
{
    AUTO_GROUP *g = durable_group(5);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);
    int64_t start;

    for (int i = 0; i < n; i++) {
        UNTIL(token_at(i, "job")[0] != '\0');
        hf__redis_kill(hf__redis_member(g, i));
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    be_busy(alice, busy_times);
    for (int i = 0; i < n; i++) {
        hf__redis_restart(member(i), NULL);
        EXPECT(token_at(i, "job")[0] != '\0');
    }
    start = hf__test_now_ms();
    for (int i = 0; i < n; i++) {
        while (token_at(i, "job")[0] != '\0') {
            EXPECT_IS(try_once(alice, "other"), HF_OK);
            EXPECT_LESS(since(start), patience(8000));
            hf__test_pause_ms(50);
        }
    }
}

CASE_WITHIN(60, members_that_are_back_are_told_of_releases, expect_told(2, 0));
CASE_WITHIN(60, members_that_are_back_are_told_though_the_client_was_busy,
            expect_told(1, 20));

/* ---- slow members */

enum { DELAY_MS = 30, ROUNDS = 300 };

TEST_WITHIN(60, a_slow_member_is_not_hung_up_on)
{
    GROUP(3);
    struct hf__proxy *p = hf__proxy_start(port_of(2), &hf__framing_none);
    AUTO_CLIENT *alice = NULL;
    char url[200];

    snprintf(url, sizeof url,
             "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", port_of(0),
             port_of(1), hf__proxy_port(p));
    hf__proxy_delay(p, HF__TO_SERVER, DELAY_MS);
    hf__proxy_delay(p, HF__TO_CLIENT, DELAY_MS);
    EXPECT_IS(hf_open(url, NULL, &alice, NULL), HF_OK);
    for (int i = 0; i < ROUNDS; i++) {
        AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);

        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
    AUTO_LOCK *last = acquire_fixed(alice, "job", 30000);
    EXPECT_IS(hf_release(last, NULL), HF_OK);
    hf__test_pause_ms(patience(4 * DELAY_MS));
    expect_nothing_left(~0U, "job");
    EXPECT_LESS(hf__proxy_counts(p).connections, 3);
    hf__proxy_free(p);
}

/* Three members, each behind a proxy. */
static hf_client *open_by_proxies(struct hf__proxy *p[3])
{
    hf_client *client = NULL;
    char url[200];

    for (int i = 0; i < 3; i++) {
        p[i] = hf__proxy_start(port_of(i), &hf__framing_none);
    }
    snprintf(url, sizeof url,
             "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
             hf__proxy_port(p[0]), hf__proxy_port(p[1]), hf__proxy_port(p[2]));
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    return client;
}

/* More than an attempt waits for, and less than a renewal does. */
TEST_WITHIN(60, where_all_members_are_slow_what_is_held_is_renewed)
{
    GROUP(3);
    int64_t lease_ms = patience(2000);
    struct hf__proxy *p[3];
    AUTO_CLIENT *alice = open_by_proxies(p);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);

    for (int i = 0; i < 3; i++) {
        hf__proxy_delay(p[i], HF__TO_SERVER, lease_ms / 20);
        hf__proxy_delay(p[i], HF__TO_CLIENT, lease_ms / 20);
    }
    EXPECT_IS(hf_wait_lost(job, 2 * lease_ms), HF_TIMEDOUT);
    EXPECT_IS(hf_held(job), 1);
    for (int i = 0; i < 3; i++) {
        hf__proxy_free(p[i]);
    }
}

/* ---- one that comes while the others are asked */

static void let_go_of(void *lock)
{
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

/* Its connections end, and the next one is greeted when the proxy is healed. */
static void keep_away(struct hf__proxy *p, hf_client *client, hf_lock *other)
{
    int before = hf__proxy_counts(p).connections;

    hf__proxy_cut(p, HF__RESET);
    hf__proxy_hold(p, HF__TO_CLIENT);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
    while (hf__proxy_counts(p).connections == before) {
        EXPECT_IS(try_once(client, "probe"), HF_OK);
    }
}

/* It is told of what was over before, and is not asked for the release that
 * runs: of that it hears once the others have answered, and no later, for
 * nothing is called after that. */
TEST_WITHIN(60, a_member_that_comes_while_others_are_asked_is_told)
{
    GROUP(3);
    struct hf__proxy *p[3];
    AUTO_CLIENT *alice = open_by_proxies(p);
    AUTO_LOCK *other = acquire_fixed(alice, "other", 60000);
    AUTO_LOCK *job = acquire_fixed(alice, "job", 60000);
    struct hf__test_thread *thread;
    int64_t start;

    UNTIL(token_at(2, "other")[0] != '\0' && token_at(2, "job")[0] != '\0');
    keep_away(p[2], alice, other);
    hf__proxy_hold(p[0], HF__TO_CLIENT);
    hf__proxy_hold(p[1], HF__TO_CLIENT);
    start = hf__test_now_ms();
    thread = hf__test_start(let_go_of, job);
    UNTIL(token_at(0, "job")[0] == '\0' && token_at(1, "job")[0] == '\0');
    hf__proxy_heal(p[2]);
    UNTIL(token_at(2, "other")[0] == '\0');
    EXPECT(token_at(2, "job")[0] != '\0');
    EXPECT_SOON(since(start), 1200); /* of 1500 that a release waits */
    hf__proxy_heal(p[0]);
    hf__proxy_heal(p[1]);
    hf__test_join(thread);
    UNTIL_WITHIN(2000, token_at(2, "job")[0] == '\0');
    for (int i = 0; i < 3; i++) {
        hf__proxy_free(p[i]);
    }
}

/* ---- what was asked of a member that is silent, and arrives later */

struct late {
    struct hf__test_thread *thread;
    const char *url;
    hf_cancel *cancel;
    int result;
};

static void want_job(void *arg)
{
    struct late *l = arg;
    hf_acquire_opts opts = wanting(40000, 30000);
    hf_client *client = NULL;
    hf_lock *job = NULL;

    EXPECT_IS(hf_open(l->url, NULL, &client, NULL), HF_OK);
    opts.cancel = l->cancel;
    l->result = hf_acquire(client, "job", &opts, &job, NULL);
    hf_free(job);
    hf_close(client);
}

/* Its first attempts are in doubt, for one member stands still and another
 * hears of nothing; what the next one is told comes from the other two. */
TEST_WITHIN(60, a_claim_in_doubt_leaves_nothing_where_it_comes_late)
{
    GROUP(3);
    struct hf__proxy *p = hf__proxy_start(port_of(2), &hf__framing_none);
    struct late bob = {.cancel = NULL};
    char url[200];

    snprintf(url, sizeof url,
             "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/0?io_timeout=1s",
             port_of(0), port_of(1), hf__proxy_port(p));
    take_at(0, "job");
    take_at(1, "job");
    EXPECT_IS(hf_cancel_new(&bob.cancel), HF_OK);
    bob.url = url;
    bob.thread = hf__test_start(want_job, &bob);
    hf__test_pause_ms(300);
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__redis_pause(member(1));
    hf__test_pause_ms(5000); /* it has been hung up on */
    hf__redis_resume(member(1));
    hf__test_pause_ms(1000);
    hf__proxy_heal(p);
    hf__test_pause_ms(500);
    hf_cancel_fire(bob.cancel);
    hf__test_join(bob.thread);
    EXPECT_IS(bob.result, HF_CANCELLED);
    expect_nothing_left(4, "job");
    hf_cancel_free(bob.cancel);
    hf__proxy_free(p);
}

/* ---- clients that call rarely */

/* Between two renewals of a lease of twelve seconds. */
enum { RARELY_MS = 3200 };

static bool is_soon_told(hf_lock *job, int i)
{
    for (int renewals = 0; renewals < 3; renewals++) {
        hf__test_pause_ms(RARELY_MS);
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        if (strcmp(token_at(i, hf_name(job)), "") != 0) {
            return true;
        }
    }
    return false;
}

TEST_WITHIN(60, rare_renewals_reach_a_member_that_is_back)
{
    AUTO_GROUP *g = forgetful_group(3);
    say_options("longest_lease=1m&allow=volatile");
    AUTO_CLIENT *alice = open_counted();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 60000);

    EXPECT_IS(hf__redis_group_size(g), 3);
    hf__redis_kill(member(2));
    hf__redis_restart(member(2), NULL);
    EXPECT(is_soon_told(job, 2));
}
