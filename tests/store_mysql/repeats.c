/* SPDX-License-Identifier: MIT */
/*
 * What is asked a second time, at the contract: an acquire whose answer was
 * lost, a look that finds no connection any more, a renewal after the server's
 * clock stepped back; and two who do the same to the line at the same time.
 */
#include "src/backend/compatibility.h"
#include "tests/servers/proxy.h"
#include "tests/store_mysql/site.h"

#include <stdlib.h>
#include <string.h>

/* A number that the test's database says. */
static int64_t number(const char *expression, const char *table)
{
    return strtoll(hf__mariadb_value(server(), "SELECT %s FROM %s.%s",
                                     expression, database(), table),
                   NULL, 10);
}

static struct hf__proxy *open_proxy(void)
{
    return hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql);
}

static void enter_through(struct door *d, const struct hf__proxy *p)
{
    char url[512];

    snprintf(url, sizeof url, "mysql://%s:%s@127.0.0.1:%d/%s?tls=off",
             HF__MARIADB_USER, HF__MARIADB_PASSWORD, hf__proxy_port(p),
             database());
    EXPECT_IS(enter(d, url), HF_OK);
}

/* ---- once more */

TEST(an_acquire_repeated_in_a_batch_begins_its_lease_anew)
{
    DOOR(d);
    struct batch b;
    uint64_t fences[2];
    int64_t first;
    int64_t last;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&b, "n", 2, 3000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    fences[0] = b.op[0].fence;
    fences[1] = b.op[1].fence;
    last = number("MAX(expires)", "holdfast_lock");
    hf__test_pause_ms(2000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    first = number("MIN(expires)", "holdfast_lock");
    /* By the server's clock: as much later as it was asked later. */
    EXPECT_SAFE(first - last > 1500000);
    EXPECT_SAFE(b.op[0].fence >= fences[0] && b.op[1].fence >= fences[1]);
}

TEST(a_connection_that_ends_before_the_second_look_gives_a_status)
{
    DOOR(d);
    DOOR(operator);
    struct hf__proxy *p = open_proxy();
    struct batch b;
    int result;

    EXPECT_IS(enter(&operator, url_with("")), HF_OK);
    enter_through(&d, p);
    prepare(&b, "n", 1, 10000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    ask_all(&operator, & b, HF__OP_BREAK);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__STATEMENT,
                                               .where = HF__BEFORE,
                                               .action = HF__RESET,
                                               .text = "SELECT name_key"});
    EXPECT_NOT(ask(&d, &b, HF__OP_RENEW, 5000), HF_OK);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    result = b.op[0].result;
    EXPECT(result == HF_EUNAVAIL || result == HF_EUNKNOWN);
    hf__proxy_free(p);
}

TEST(a_shared_grant_is_renewed_after_the_servers_clock_stepped_back)
{
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare_shared(&b, "n", 1, 10000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    ask_all(&d, &b, HF__OP_RENEW);
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_beside SET expires=expires+20000000,"
                    "changed_at=changed_at+20000000",
                    database());
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_lock SET changed_at=changed_at+"
                    "20000000",
                    database());
    ask_all(&d, &b, HF__OP_RENEW);
}

/* ---- two at once */

struct claimant {
    struct door *d;
    struct batch b;
};

static void get_in_line(void *arg)
{
    struct claimant *c = arg;

    EXPECT_IS(ask(c->d, &c->b, HF__OP_ACQUIRE, 5000), HF_OK);
}

/* A ticket that has been dead for a minute: whoever gets in line removes it. */
static void bury(const char *key)
{
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_lock SET crowd=2,revision=revision+1 "
                    "WHERE name_key='%s'",
                    database(), key);
    hf__mariadb_sql(server(),
                    "INSERT INTO %s.holdfast_ticket(name_key,seq,token,asked) "
                    "VALUES('%s',1,REPEAT('t',16),TIMESTAMPDIFF(MICROSECOND,"
                    "'1970-01-01',UTC_TIMESTAMP(6))-61000000)",
                    database(), key);
}

static void meet(struct door *holder, struct claimant pair[2], const char *stem)
{
    struct hf__test_thread *threads[2];
    struct batch held;

    prepare(&held, stem, 1, 20000000);
    ask_all(holder, &held, HF__OP_ACQUIRE);
    bury(held.key[0]);
    for (int i = 0; i < 2; i++) {
        prepare(&pair[i].b, stem, 1, 20000000);
        pair[i].b.op[0].queueing = HF__QUEUE_ALWAYS;
        threads[i] = hf__test_start(get_in_line, &pair[i]);
    }
    for (int i = 0; i < 2; i++) {
        hf__test_join(threads[i]);
        EXPECT_IS(pair[i].b.op[0].result, HF_BUSY);
        EXPECT(pair[i].b.op[0].is_queued);
    }
}

TEST_WITHIN(60, two_who_get_in_line_at_once_both_stand_there)
{
    DOOR(holder);
    DOOR(a);
    DOOR(b);
    struct claimant pair[2] = {{.d = &a}, {.d = &b}};
    struct hf__proxy *p = open_proxy();

    EXPECT_IS(enter(&holder, url_with("")), HF_OK);
    enter_through(&a, p);
    enter_through(&b, p);
    hf__proxy_delay(p, HF__TO_SERVER, 20); /* both look before either writes */
    for (int i = 0; i < 10; i++) {
        char stem[8];

        snprintf(stem, sizeof stem, "j%d-", i);
        meet(&holder, pair, stem);
        EXPECT_SAFE_IS(number("SUM(token<>REPEAT('t',16))", "holdfast_ticket"),
                       2 * (i + 1));
    }
    hf__proxy_free(p);
}

/* ---- a wait that ends */

struct waiter {
    struct door *d;
    struct hf__watch watch;
    hf__time until;
};

/* Then its session has other things to do than to wait. */
static void wait_and_leave(void *arg)
{
    struct waiter *w = arg;
    struct hf__watch *one = &w->watch;

    while (!w->watch.has_fired && hf__before(hf__now(), w->until)) {
        EXPECT_IS(hf__conn_wait(&w->d->conn, &one, 1, w->until, &w->d->error),
                  HF_OK);
    }
    EXPECT_IS(hf__conn_wait(&w->d->conn, NULL, 0, hf__after_ms(hf__now(), 5000),
                            &w->d->error),
              HF_OK);
}

/* Nobody can change the tickets that are there until the person is gone. */
static void lock_tickets(MYSQL *person)
{
    EXPECT_IS(mysql_query(person, "SET SESSION TRANSACTION ISOLATION LEVEL "
                                  "READ COMMITTED"),
              0);
    EXPECT_IS(mysql_query(person, "BEGIN"), 0);
    EXPECT_IS(mysql_query(person, "SELECT 1 FROM holdfast_ticket FOR UPDATE"),
              0);
    mysql_free_result(mysql_store_result(person));
}

static void await_stamping(void)
{
    UNTIL(strcmp(hf__mariadb_value(server(),
                                   "SELECT COUNT(*)>0 FROM "
                                   "information_schema.processlist WHERE info "
                                   "LIKE 'UPDATE holdfast_ticket%%'"),
                 "1") == 0);
}

/* Its ticket is as old as the wait, and cannot be stamped: until it is, the
 * bell alone says that somebody stands there. */
TEST_WITHIN(60, who_ends_a_wait_is_in_line_all_the_time)
{
    DOOR(alice);
    DOOR(bob);
    DOOR(carol);
    MYSQL *person = stranger();
    struct batch held;
    struct batch queued;
    struct batch tried;

    EXPECT_IS(enter(&alice, url_with("")), HF_OK);
    EXPECT_IS(enter(&bob, url_with("")), HF_OK);
    EXPECT_IS(enter(&carol, url_with("")), HF_OK);
    prepare(&held, "n", 1, 60000000);
    prepare(&queued, "n", 1, 20000000);
    prepare(&tried, "n", 1, 20000000);
    ask_all(&alice, &held, HF__OP_ACQUIRE);
    queued.op[0].queueing = HF__QUEUE_ALWAYS;
    tried.op[0].queueing = HF__QUEUE_ALWAYS;
    EXPECT_IS(ask(&bob, &queued, HF__OP_ACQUIRE, 1000), HF_OK);
    EXPECT(queued.op[0].is_queued);
    struct waiter w = {
        .d = &bob,
        .watch = {.key = queued.op[0].key,
                  .token = held.op[0].token,
                  .fence = held.op[0].fence,
                  .ticket = queued.op[0].token},
        .until = hf__after_ms(hf__now(), 30000),
    };
    struct hf__test_thread *thread = hf__test_start(wait_and_leave, &w);

    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 200);
    lock_tickets(person);
    ask_all(&alice, &held, HF__OP_RELEASE);
    await_stamping();
    EXPECT_IS(ask(&carol, &tried, HF__OP_ACQUIRE, 5000), HF_OK);
    EXPECT_IS(tried.op[0].result, HF_BUSY);
    mysql_close(person);
    hf__test_join(thread);
    EXPECT(w.watch.has_fired);
    EXPECT_IS(ask(&bob, &queued, HF__OP_ACQUIRE, 5000), HF_OK);
    EXPECT_IS(queued.op[0].result, HF_OK);
}
