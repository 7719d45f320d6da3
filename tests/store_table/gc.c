/* SPDX-License-Identifier: MIT */
/*
 * Cleaning on a server of SQL tables: a row that a person keeps locked stops no
 * other, rows of the other tables go with their name's and keep it while they
 * count.
 */
#include "tests/servers/proxy.h"
#include "tests/store_table/site.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of all names, until it is over. */
static uint64_t clean(struct door *d, int64_t idle_us)
{
    struct hf__key prefix = {"holdfast:", 9, 9};
    struct hf__gc g = {.idle_us = idle_us};

    do {
        EXPECT_IS(hf__conn_gc(&d->conn, &prefix, &g,
                              hf__after_ms(hf__now(), 5000), &d->error),
                  HF_OK);
    } while (g.length > 0);
    return g.count;
}

/* Microseconds since 1970, which are the server's on this machine, and so many
 * more. */
static long long when(int more_us)
{
    struct timespec now;

    EXPECT_IS(clock_gettime(CLOCK_REALTIME, &now), 0);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000 + more_us;
}

/* A name that was let go ten seconds ago. */
static void add_idle(const char *name, int crowd)
{
    sql("INSERT INTO holdfast_lock(name_key,fence,changed_at,crowd) "
        "VALUES('holdfast:%s',%lld,%lld,%d)",
        name, when(-10000000), when(-10000000), crowd);
}

static void add_beside(const char *name, int expires_us)
{
    sql("INSERT INTO holdfast_beside(name_key,token,mode,fence,expires) "
        "VALUES('holdfast:%s','tttttttttttttttt',1,%lld,%lld)",
        name, when(-10000000), when(expires_us));
}

static void add_ticket(const char *name, int asked_us)
{
    sql("INSERT INTO holdfast_ticket(name_key,seq,token,asked) "
        "VALUES('holdfast:%s',1,'tttttttttttttttt',%lld)",
        name, when(asked_us));
}

static int rows(const char *table)
{
    return (int)strtol(value("SELECT count(*) FROM %s", table), NULL, 10);
}

TEST(rows_of_the_other_tables_keep_a_name_while_they_count)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    add_idle("held", 1);
    add_beside("held", 20000000);
    add_idle("waited-for", 2);
    add_ticket("waited-for", 20000000);
    EXPECT_IS(clean(&d, 1000000), 0);
    EXPECT_IS(rows("holdfast_lock"), 2);
    EXPECT_IS(rows("holdfast_beside"), 1);
    EXPECT_IS(rows("holdfast_ticket"), 1);
}

TEST(rows_of_the_other_tables_go_with_their_name)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    add_idle("ended", 3);
    add_beside("ended", -9000000);
    add_ticket("ended", -90000000);
    add_idle("plain", 0);
    EXPECT_IS(clean(&d, 1000000), 2);
    EXPECT_IS(rows("holdfast_lock"), 0);
    EXPECT_IS(rows("holdfast_beside"), 0);
    EXPECT_IS(rows("holdfast_ticket"), 0);
}

/* It ended, but not for as long as was asked. */
TEST(a_grant_that_ended_lately_keeps_its_name)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    add_idle("job", 1);
    add_beside("job", -500000);
    EXPECT_IS(clean(&d, 5000000), 0);
    EXPECT_IS(clean(&d, 1), 1);
}

TEST(a_name_that_was_let_go_lately_stays)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    use(&d, "job");
    add_idle("old", 0);
    EXPECT_IS(clean(&d, 5000000), 1);
    EXPECT_IS(rows("holdfast_lock"), 1);
}

static void add_sixty(int first)
{
    char list[60 * 32];
    size_t n = 0;

    for (int i = first; i < first + 60; i++) {
        n +=
            (size_t)snprintf(list + n, sizeof list - n, "%s('holdfast:%d',1,1)",
                             i == first ? "" : ",", i);
    }
    sql("INSERT INTO holdfast_lock(name_key,fence,changed_at) VALUES%s", list);
}

/* More than are looked at with one statement. */
TEST_WITHIN(60, all_that_are_idle_go_however_many)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 600; i += 60) {
        add_sixty(i + 1);
    }
    EXPECT_IS(claim(&d, "3", NULL), HF_OK);
    EXPECT_IS(clean(&d, 1000000), 599);
    EXPECT_IS(rows("holdfast_lock"), 1);
}

TEST_WITHIN(60, a_row_that_a_person_keeps_locked_stops_no_other)
{
    DOOR(d);
    struct person *person = come_in();
    char name[16];

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%02d", i);
        add_idle(name, 0);
    }
    add_idle("n171", 1);
    add_beside("n171", -9000000);
    person_says(person, "BEGIN");
    person_says(person, "SELECT fence FROM holdfast_lock WHERE "
                        "name_key='holdfast:n17' FOR UPDATE");
    person_says(person, "SELECT fence FROM holdfast_beside FOR UPDATE");
    EXPECT_IS(clean(&d, 1000000), 99);
    EXPECT_IS(rows("holdfast_lock"), 2);
    person_says(person, "ROLLBACK");
    EXPECT_IS(clean(&d, 1000000), 2);
    go_out(person);
}

/* Between the look and the deletion somebody may come: then it stays. */
TEST_WITHIN(60, a_name_that_is_taken_meanwhile_is_not_deleted)
{
    DOOR(d);
    DOOR(other);
    uint64_t fence = 0;
    uint64_t last = 0;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    for (int i = 0; i < 20; i++) {
        (void)clean(&d, 0);
        EXPECT_IS(claim(&other, "job", &fence), HF_OK);
        EXPECT_SAFE_MORE(fence, last);
        last = fence;
        EXPECT_IS(clean(&d, 0), 0);
        EXPECT_IS(rows("holdfast_lock"), 1);
        sql("UPDATE holdfast_lock SET token='',expires=0");
    }
}

struct cleaning {
    struct door d;
    uint64_t n;
};

static void clean_some(void *arg)
{
    struct cleaning *c = arg;

    c->n = clean(&c->d, 1000000);
}

/* The deletion is on its way when somebody takes the name. */
TEST_WITHIN(60, a_name_that_was_taken_after_the_look_is_not_deleted)
{
    struct hf__proxy *proxy = hf__proxy_start(server_port(), framing);
    struct hf__proxy_rule rule = {
        .what = HF__STATEMENT, .where = HF__BEFORE, .action = HF__SILENCE};
    struct cleaning c = {.n = 9};
    struct hf__test_thread *cleaner;
    DOOR(other);

    EXPECT_IS(enter(&c.d, url_at_port(hf__proxy_port(proxy))), HF_OK);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    add_idle("job", 0);
    (void)snprintf(rule.text, sizeof rule.text, "%s", deletion);
    hf__proxy_rule(proxy, &rule);
    cleaner = hf__test_start(clean_some, &c);
    EXPECT(hf__proxy_wait_hits(proxy, 1, 4000));
    EXPECT_IS(claim(&other, "job", NULL), HF_OK);
    hf__proxy_heal(proxy);
    hf__test_join(cleaner);
    EXPECT_SAFE_IS(c.n, 0);
    EXPECT_SAFE_IS(rows("holdfast_lock"), 1);
    shut(&c.d);
    hf__proxy_free(proxy);
}

static void clean_all_the_time(void *end)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    while (!atomic_load((atomic_bool *)end)) {
        (void)clean(&d, 0);
    }
}

TEST_WITHIN(60, cleaning_all_the_time_lets_no_fence_fall)
{
    static atomic_bool end;
    DOOR(d);
    struct hf__test_thread *cleaner;
    uint64_t fence = 0;
    uint64_t last = 0;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    cleaner = hf__test_start(clean_all_the_time, &end);
    for (int i = 0; i < 150; i++) {
        int r = claim(&d, "job", &fence);

        if (r == HF_OK) {
            EXPECT_SAFE_MORE(fence, last);
            last = fence;
        }
        EXPECT(r == HF_OK || r == HF__AGAIN);
        sql("UPDATE holdfast_lock SET token='',expires=0");
        hf__test_pause_ms(i % 3 * 15); /* some are cleaned away, some not */
    }
    atomic_store(&end, true);
    hf__test_join(cleaner);
}

TEST(rows_that_are_not_ours_are_left_alone)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    admit_long_names();
    sql("INSERT INTO holdfast_lock(name_key,fence) VALUES('holdfast:%0600d',1),"
        "('other:job',1)",
        0);
    add_idle("a", 0);
    add_idle("y", 0);
    EXPECT_IS(clean(&d, 0), 2);
    EXPECT_IS(rows("holdfast_lock"), 2);
}
