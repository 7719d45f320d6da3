/* SPDX-License-Identifier: MIT */
/*
 * Listing and cleaning on a server: a row that a person keeps locked stops no
 * other, rows of the other tables go with their name's and keep it while they
 * count.
 */
#include "tests/servers/proxy.h"
#include "tests/store_postgres/site.h"

#include <stdlib.h>
#include <string.h>

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

/* Microseconds since 1970, by the server, and so much more. */
#define WHEN "((extract(epoch FROM clock_timestamp())*1000000)::bigint%+d)"

/* A name that was let go ten seconds ago. */
static void add_idle(const char *name, int crowd)
{
    sql("INSERT INTO holdfast_lock(name_key,fence,changed_at,crowd) "
        "VALUES('holdfast:%s'," WHEN "," WHEN ",%d)",
        name, -10000000, -10000000, crowd);
}

static void add_beside(const char *name, int expires_us)
{
    sql("INSERT INTO holdfast_beside(name_key,token,mode,fence,expires) "
        "VALUES('holdfast:%s',repeat('t',16)::bytea,1," WHEN "," WHEN ")",
        name, -10000000, expires_us);
}

static void add_ticket(const char *name, int asked_us)
{
    sql("INSERT INTO holdfast_ticket(name_key,seq,token,asked) "
        "VALUES('holdfast:%s',1,repeat('t',16)::bytea," WHEN ")",
        name, asked_us);
}

static int rows(const char *table)
{
    return (int)strtol(value("SELECT count(*) FROM %s", table), NULL, 10);
}

/* ---- cleaning */

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

/* Who has read the one before and was stopped since then must not take the new
 * one for it: his fence would be of that time. */
TEST(a_record_that_is_made_anew_is_never_as_the_one_before)
{
    DOOR(d);
    char before[32];

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    use(&d, "n");
    snprintf(before, sizeof before, "%s",
             value("SELECT revision FROM holdfast_lock"));
    EXPECT_IS(clean(&d, 0), 1);
    use(&d, "n");
    EXPECT_TEXT(value("SELECT revision>%s FROM holdfast_lock", before), "t");
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

/* More than are looked at with one statement. */
TEST_WITHIN(60, all_that_are_idle_go_however_many)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("INSERT INTO holdfast_lock(name_key,fence,changed_at) SELECT "
        "convert_to('holdfast:'||i,'UTF8'),1,1 FROM generate_series(1,600) i");
    EXPECT_IS(claim(&d, "3", NULL), HF_OK);
    EXPECT_IS(clean(&d, 1000000), 599);
    EXPECT_IS(rows("holdfast_lock"), 1);
}

TEST_WITHIN(60, a_row_that_a_person_keeps_locked_stops_no_other)
{
    DOOR(d);
    PGconn *person = stranger();
    char name[16];

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%02d", i);
        add_idle(name, 0);
    }
    add_idle("n171", 1);
    add_beside("n171", -9000000);
    say(person, "BEGIN;SELECT fence FROM holdfast_lock WHERE "
                "name_key='holdfast:n17' FOR UPDATE;"
                "SELECT fence FROM holdfast_beside FOR UPDATE");
    EXPECT_IS(clean(&d, 1000000), 99);
    EXPECT_IS(rows("holdfast_lock"), 2);
    say(person, "ROLLBACK");
    EXPECT_IS(clean(&d, 1000000), 2);
    PQfinish(person);
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
    struct hf__proxy *proxy =
        hf__proxy_start(hf__postgres_port(server()), &hf__framing_postgres);
    struct hf__proxy_rule rule = {.what = HF__STATEMENT,
                                  .where = HF__BEFORE,
                                  .action = HF__SILENCE,
                                  .text = "DELETE FROM holdfast_lock"};
    struct cleaning c = {.n = 9};
    struct hf__test_thread *cleaner;
    char url[HF__POSTGRES_URL];
    DOOR(other);

    snprintf(url, sizeof url, "postgres://%s:%s@127.0.0.1:%d/%s",
             HF__POSTGRES_USER, HF__POSTGRES_PASSWORD, hf__proxy_port(proxy),
             database());
    EXPECT_IS(enter(&c.d, url), HF_OK);
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    add_idle("job", 0);
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
    sql("INSERT INTO holdfast_lock(name_key,fence) VALUES"
        "(('holdfast:'||repeat('x',600))::bytea,1),('other:job',1)");
    add_idle("a", 0);
    add_idle("y", 0);
    EXPECT_IS(clean(&d, 0), 2);
    EXPECT_IS(rows("holdfast_lock"), 2);
}

/* ---- listing */

struct listed {
    int n;
    char last[HF_NAME_MAX + 1];
    bool is_sorted;
};

static int list_one(void *arg, const char *name, size_t length,
                    const struct hf__record *record)
{
    struct listed *l = arg;
    char text[HF_NAME_MAX + 1];

    snprintf(text, sizeof text, "%.*s", (int)length, name);
    l->is_sorted = l->is_sorted && (l->n == 0 || strcmp(l->last, text) < 0);
    memcpy(l->last, text, sizeof text);
    l->n++;
    EXPECT(record->is_held);
    return 0;
}

/* Some are held in each part that is read, also in one that nobody holds. */
TEST(all_that_are_held_are_listed_in_their_order)
{
    DOOR(d);
    struct listed l = {.is_sorted = true};
    struct hf__key prefix = {"holdfast:", 9, 9};

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("INSERT INTO holdfast_lock(name_key,fence,token,expires) SELECT "
        "convert_to('holdfast:'||to_char(i,'FM0000'),'UTF8'),1,"
        "CASE WHEN i%%7=0 AND i NOT BETWEEN 300 AND 900 THEN "
        "repeat('t',16)::bytea ELSE '' END," WHEN " FROM "
        "generate_series(1,1400) i",
        60000000);
    EXPECT_IS(hf__conn_list(&d.conn, &prefix, list_one, &l,
                            hf__after_ms(hf__now(), 5000), &d.error),
              HF_OK);
    EXPECT_IS(l.n, 200 - (900 / 7 - 299 / 7));
    EXPECT(l.is_sorted);
    EXPECT_TEXT(l.last, "1400");
}
