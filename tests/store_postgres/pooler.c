/* SPDX-License-Identifier: MIT */
/*
 * A pooler between us and the server, by which each transaction of ours may be
 * on another connection, and others' on the same: locks are as right as
 * without, whoever waits asks, and nothing of ours stays on its connections.
 */
#include "tests/contract/peer.h"
#include "tests/servers/pgbouncer.h"
#include "tests/store_postgres/world.h"
#include "tests/store_server/door.h"

#include <stdatomic.h>
#include <string.h>

enum { CREW = 8, ROUNDS = 30, POOL = 2 };

#define AUTO_POOLER                                                            \
    __attribute__((cleanup(free_pooler), unused)) struct hf__pgbouncer
static void free_pooler(struct hf__pgbouncer **b)
{
    hf__pgbouncer_free(*b);
}

/* Before the test's database on the program's server. */
static struct hf__pgbouncer *start_pooler(const char *mode)
{
    static const char *const few[] = {"default_pool_size = 2", NULL};
    static const char *const many[] = {"default_pool_size = 50", NULL};

    return hf__pgbouncer_start(server(), mode,
                               strcmp(mode, "session") == 0 ? many : few);
}

static const char *url_by(const struct hf__pgbouncer *b)
{
    static char url[HF__POSTGRES_URL];

    hf__pgbouncer_url(b, database(), url, sizeof url);
    return url;
}

/* The clients that are opened from now on come by it; NULL: by none. */
static void come_by(const struct hf__pgbouncer *b)
{
    reach_by_url(b ? url_by(b) : NULL);
}

static hf_client *open_by(const struct hf__pgbouncer *b)
{
    hf_client *client;

    come_by(b);
    client = open_store();
    come_by(NULL);
    return client;
}

/* ---- what is left on its connections */

/* Asked at once, each is answered by a connection of its own. */
static void expect_nothing_left(const struct hf__pgbouncer *b)
{
    PGconn *all[POOL];

    for (int i = 0; i < POOL; i++) {
        all[i] = PQconnectdb(url_by(b));
        EXPECT_IS(PQstatus(all[i]), CONNECTION_OK);
    }
    for (int i = 0; i < POOL; i++) {
        EXPECT(PQsendQuery(
            all[i],
            "SELECT concat_ws(' ',(SELECT min(name) FROM "
            "pg_prepared_statements),(SELECT min(c) FROM "
            "pg_listening_channels() c),(SELECT min(name) FROM pg_settings "
            "WHERE source='session' AND name NOT IN('client_encoding',"
            "'application_name'))) FROM pg_sleep(0.1)"));
    }
    for (int i = 0; i < POOL; i++) {
        PGresult *result = PQgetResult(all[i]);

        EXPECT_IS(PQresultStatus(result), PGRES_TUPLES_OK);
        EXPECT_TEXT(PQgetvalue(result, 0, 0), "");
        PQclear(result);
        PQfinish(all[i]);
    }
    EXPECT_TEXT(answer("SELECT count(*) FROM pg_locks WHERE "
                       "locktype='advisory'"),
                "0");
}

/* ---- eight, half of whom come by it */

struct page {
    atomic_int inside;
    atomic_int clashes;
    atomic_int fallen;
    atomic_int strange;
    atomic_int grants;
    atomic_llong top; /* fence */
};

static struct page *page;
static char pooled_url[HF__POSTGRES_URL];

static void contend(int me)
{
    hf_client *client;

    reach_by_url(me % 2 ? pooled_url : NULL);
    client = open_store();
    for (int i = 0; i < ROUNDS; i++) {
        hf_acquire_opts opts = wanting(i % 3 ? 2000 : 0, 30000);
        hf_lock *lock = NULL;
        int r = hf_acquire(client, "job", &opts, &lock, NULL);

        if (r == HF_OK) {
            long long fence = (long long)hf_fence(lock);

            atomic_fetch_add(&page->clashes,
                             atomic_fetch_add(&page->inside, 1));
            atomic_fetch_add(&page->fallen,
                             atomic_exchange(&page->top, fence) >= fence);
            atomic_fetch_sub(&page->inside, 1);
            r = hf_release(lock, NULL);
            atomic_fetch_add(&page->grants, 1);
        }
        hf_free(lock);
        if (r != HF_OK && r != HF_BUSY && r != HF_TIMEDOUT) {
            atomic_store(&page->strange, r);
        }
    }
    hf_close(client);
}

static void share_a_name(const char *mode)
{
    AUTO_POOLER *b = start_pooler(mode);
    pid_t crew[CREW];

    hf_close(open_store()); /* the tables are there */
    snprintf(pooled_url, sizeof pooled_url, "%s", url_by(b));
    page = shared_page(sizeof *page);
    for (int i = 0; i < CREW; i++) {
        crew[i] = start_crew(contend, i);
    }
    for (int i = 0; i < CREW; i++) {
        end_crew(crew[i]);
    }
    printf("%d grants\n", atomic_load(&page->grants));
    EXPECT_SAFE_IS(atomic_load(&page->clashes), 0);
    EXPECT_SAFE_IS(atomic_load(&page->fallen), 0);
    EXPECT_IS(atomic_load(&page->strange), 0);
    EXPECT_MORE(atomic_load(&page->grants), ROUNDS);
    expect_nothing_left(b);
}

CASE_WITHIN(60, half_of_eight_come_by_a_pooler_of_transactions,
            share_a_name("transaction"));
CASE_WITHIN(60, half_of_eight_come_by_a_pooler_of_statements,
            share_a_name("statement"));
CASE_WITHIN(60, half_of_eight_come_by_a_pooler_of_sessions,
            share_a_name("session"));

/* ---- one by it */

struct waiter {
    hf_client *client;
    hf_lock *lock;
    int status;
};

static void wait_for_job(void *arg)
{
    struct waiter *w = arg;
    hf_acquire_opts opts = wanting(HF_FOREVER, 60000);

    w->status = hf_acquire(w->client, "job", &opts, &w->lock, NULL);
}

static void wait_behind(hf_client *holder, hf_client *client)
{
    AUTO_LOCK *job = acquire_leased(holder, "job", 60000);
    struct waiter w = {.client = client};
    struct hf__test_thread *thread = hf__test_start(wait_for_job, &w);

    UNTIL(stats_of(client).waiting == 1);
    hf__test_pause_ms(300);
    EXPECT_IS(w.status, HF_OK);
    EXPECT(!w.lock);
    EXPECT_TEXT(answer("SELECT count(*) FROM pg_stat_activity WHERE "
                       "wait_event='advisory' AND datname='%s'",
                       database()),
                "0"); /* nobody stands in its connections' way */
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(thread);
    EXPECT_IS(w.status, HF_OK);
    EXPECT_SAFE_MORE(hf_fence(w.lock), hf_fence(job));
    EXPECT_IS(hf_release(w.lock, NULL), HF_OK);
    hf_free(w.lock);
}

TEST_WITHIN(60, who_waits_by_a_pooler_asks)
{
    AUTO_POOLER *b = start_pooler("transaction");
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_by(b);
    AUTO_CLIENT *carol = open_by(b);

    wait_behind(alice, bob);
    wait_behind(bob, carol);
    EXPECT_IS(attempt(bob, "job", 0), HF_OK);
}

/* Three hold and renew; so many connections there are not. */
TEST_WITHIN(60, what_is_held_by_a_pooler_is_renewed)
{
    AUTO_POOLER *b = start_pooler("transaction");
    AUTO_CLIENT *alice = open_by(b);
    AUTO_CLIENT *bob = open_by(b);
    AUTO_CLIENT *carol = open_by(b);
    int64_t lease_ms = patience(1500);
    AUTO_LOCK *a = acquire_leased(alice, "a", lease_ms);
    AUTO_LOCK *c = acquire_leased(carol, "c", lease_ms);
    AUTO_LOCK *d = acquire_leased(bob, "d", lease_ms);
    int64_t start = hf__test_now_ms();

    while (since(start) < 2 * lease_ms) {
        EXPECT_SAFE_IS(try_once(bob, "a"), HF_BUSY);
        EXPECT_SAFE_IS(try_once(alice, "c"), HF_BUSY);
        hf__test_pause_ms(20);
    }
    expect_held(a);
    expect_held(c);
    expect_held(d);
}

TEST_WITHIN(60, a_pooler_that_is_killed_costs_no_lock)
{
    AUTO_POOLER *b = start_pooler("transaction");
    AUTO_CLIENT *alice = open_by(b);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 30000);

    hf__pgbouncer_kill(b);
    EXPECT_IS(hf_renew(job, NULL), HF_EUNAVAIL);
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT(hf_held(job));
    hf__pgbouncer_restart(b);
    UNTIL(hf_renew(job, NULL) == HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* Whoever says that it is none is believed: with a connection that forgets all
 * after each transaction all is prepared and set anew, in the same call. */
TEST_WITHIN(60, what_was_prepared_is_so_again_where_all_is_discarded)
{
    static const char *const extra[] = {"default_pool_size = 1",
                                        "server_reset_query = DISCARD ALL",
                                        "server_reset_query_always = 1", NULL};
    AUTO_POOLER *b = hf__pgbouncer_start(server(), "transaction", extra);
    AUTO_CLIENT *alice = NULL;
    char url[HF__POSTGRES_URL + 16];

    snprintf(url, sizeof url, "%s?allow=proxy", url_by(b));
    reach_by_url(url);
    alice = open_store();
    for (int i = 0; i < 5; i++) {
        hf_acquire_opts opts = wanting(0, 30000);
        AUTO_LOCK *one = must_acquire(alice, "one", &opts);
        AUTO_LOCK *two = NULL;

        opts.shared = 1;
        two = must_acquire(alice, "two", &opts);
        EXPECT_IS(hf_renew(one, NULL), HF_OK);
        EXPECT_IS(hf_renew(two, NULL), HF_OK);
        EXPECT_IS(hf_release(one, NULL), HF_OK);
        EXPECT_IS(hf_release(two, NULL), HF_OK);
    }
}

TEST(check_tells_of_a_pooler)
{
    AUTO_POOLER *b = start_pooler("transaction");
    hf_verdict verdict = HF_FINE;
    DOOR(d);

    EXPECT_IS(enter(&d, url_by(b)), HF_OK);
    EXPECT_TEXT(finding(&d, "connection", &verdict), "a pooler's");
    EXPECT_IS(verdict, HF_WARN);
}
