/* SPDX-License-Identifier: MIT */
/*
 * What is asked a second time, at the contract: an acquire whose answer was
 * lost, a look that finds no connection any more, a renewal after the server's
 * clock stepped back; and two who do the same to the line at the same time.
 */
#include "tests/servers/proxy.h"
#include "tests/store_mysql/site.h"

#include <stdlib.h>

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
