/* SPDX-License-Identifier: MIT */
/*
 * Waiting without polling: what it costs the server, waiting and being served.
 * Those who wait are processes, because threads of one client stand in its own
 * line.
 */
#include "tests/contract/peer.h"
#include "tests/store_mysql/world.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Statements that the server was sent so far; this one is the last. */
static int64_t questions(void)
{
    MYSQL *db = stranger();
    MYSQL_RES *rows;
    int64_t count;

    EXPECT_IS(mysql_query(db, "SHOW GLOBAL STATUS LIKE 'Questions'"), 0);
    rows = mysql_store_result(db);
    count = strtoll(mysql_fetch_row(rows)[1], NULL, 10);
    mysql_free_result(rows);
    mysql_close(db);
    return count;
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static void until(atomic_int *value, int least)
{
    UNTIL_WITHIN(60000, atomic_load(value) >= least);
}

/* ---- at what cost */

enum { CREW = 64 };

static struct {
    atomic_int ready; /* connected */
    atomic_int go;    /* somebody has the lock */
    atomic_int waiting;
    atomic_int served;
    atomic_int inside;
    atomic_int may_end;
    atomic_llong granted_at;
    atomic_llong longest_us; /* from one grant to the next */
} * crowd;

static void note_grant(void)
{
    int64_t now = now_us();
    int64_t gap = now - atomic_exchange(&crowd->granted_at, now);

    if (gap > atomic_load(&crowd->longest_us)) {
        atomic_store(&crowd->longest_us, gap); /* one at a time is here */
    }
}

static void wait_in_the_crowd(int is_fair)
{
    AUTO_CLIENT *client = open_store();
    hf_acquire_opts opts = wanting(patience(60000), 60000);
    AUTO_LOCK *warm = NULL;
    AUTO_LOCK *lock = NULL;
    char own[32];

    /* What a client does once only is done: it renews already. */
    snprintf(own, sizeof own, "own %d", (int)getpid());
    warm = acquire(client, own);
    expect_held(warm);
    opts.fair = is_fair;
    atomic_fetch_add(&crowd->ready, 1);
    until(&crowd->go, 1);
    atomic_fetch_add(&crowd->waiting, 1);
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_OK);
    EXPECT_SAFE_IS(atomic_fetch_add(&crowd->inside, 1), 0);
    note_grant();
    atomic_fetch_sub(&crowd->inside, 1);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    atomic_fetch_add(&crowd->served, 1);
    until(&crowd->may_end, 1);
}

/* Of so many most wait for their bells now; each looks up twice a second. */
static void await_sleepers(int n)
{
    int64_t start = hf__test_now_ms();
    const char *asleep = "";

    do {
        EXPECT_LESS(since(start), patience(20000));
        hf__test_pause_ms(10);
        asleep =
            hf__mariadb_value(server(), "SELECT COUNT(*) FROM "
                                        "information_schema.processlist WHERE "
                                        "state='User lock'");
    } while (2 * strtol(asleep, NULL, 10) <= n);
}

/* All wait, then one after the other is served: statements for each. */
static int64_t cost_of_a_handover(int n, int is_fair)
{
    pid_t crew[CREW];
    int64_t asked;
    int64_t began;
    AUTO_LOCK *lock = NULL;

    crowd = shared_page(sizeof *crowd);
    for (int i = 0; i < n; i++) {
        crew[i] = start_crew(wait_in_the_crowd, is_fair);
    }
    AUTO_CLIENT *client = open_store();
    lock = acquire_leased(client, "job", 60000);
    until(&crowd->ready, n);
    atomic_store(&crowd->go, 1);
    until(&crowd->waiting, n);
    await_sleepers(n);
    asked = questions();
    began = hf__test_now_ms();
    atomic_store(&crowd->granted_at, now_us());
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    until(&crowd->served, n);
    asked = questions() - asked;
    printf("%d %s waiters: %lld statements, %lld ms, each; longest %lld ms\n",
           n, is_fair ? "fair" : "unfair", (long long)(asked / n),
           (long long)((hf__test_now_ms() - began) / n),
           (long long)atomic_load(&crowd->longest_us) / 1000);
    /* Nobody slept until its next look, which is half a second later. */
    EXPECT_SOON(atomic_load(&crowd->longest_us), patience(400000));
    atomic_store(&crowd->may_end, 1);
    for (int i = 0; i < n; i++) {
        end_crew(crew[i]);
    }
    return asked / n;
}

/* Each of them has three connections. */
static const char *const roomy[] = {"--max-connections=400", NULL};

TEST(a_handover_costs_as_many_statements_among_64_as_among_8)
{
    AUTO_SERVER *own = own_server(roomy);

    EXPECT(own);
    EXPECT_LESS(cost_of_a_handover(8, 0), 40);
    EXPECT_LESS(cost_of_a_handover(CREW, 0), 40);
}

TEST(so_it_does_in_line)
{
    AUTO_SERVER *own = own_server(roomy);

    EXPECT(own);
    EXPECT_LESS(cost_of_a_handover(8, 1), 60);
    EXPECT_LESS(cost_of_a_handover(CREW, 1), 60);
}

static void expect_idle(int is_fair)
{
    struct peer *waiter = start_peer();
    AUTO_CLIENT *client = open_store();
    AUTO_LOCK *lock = acquire_leased(client, "job", 60000);
    hf_acquire_opts opts = wanting(60000, 60000);
    int64_t asked;
    int64_t start;

    opts.fair = is_fair;
    peer_begin_acquire_as(waiter, "job", &opts);
    await_sleepers(1);
    asked = questions();
    start = hf__test_now_ms();
    hf__test_pause_ms(2000);
    asked = questions() - asked;
    printf("%lld statements in 2 s\n", (long long)asked);
    EXPECT_LESS(asked, 2 * since(start) / 1000 + 2);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    end_peer(waiter);
}

CASE(who_waits_asks_at_most_twice_a_second, expect_idle(0));
CASE(who_waits_in_line_asks_at_most_twice_a_second, expect_idle(1));
