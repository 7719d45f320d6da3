/* SPDX-License-Identifier: MIT */
/*
 * Cleaning on a server: a row that a person keeps locked stops no other, rows
 * of the other tables go with their name's and keep it while they count.
 */
#include "tests/store_mysql/site.h"

#include <mysql.h>
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
#define WHEN "(TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))%+d)"

/* A name that was let go ten seconds ago. */
static void add_idle(const char *name, int crowd)
{
    hf__mariadb_sql(server(),
                    "INSERT INTO %s.holdfast_lock(name_key,fence,changed_at,"
                    "crowd) VALUES('holdfast:%s'," WHEN "," WHEN ",%d)",
                    database(), name, -10000000, -10000000, crowd);
}

static void add_beside(const char *name, int expires_us)
{
    hf__mariadb_sql(server(),
                    "INSERT INTO %s.holdfast_beside(name_key,token,mode,"
                    "expires) VALUES('holdfast:%s',REPEAT('t',16),1," WHEN ")",
                    database(), name, expires_us);
}

static void add_ticket(const char *name, int asked_us)
{
    hf__mariadb_sql(server(),
                    "INSERT INTO %s.holdfast_ticket(name_key,seq,token,asked) "
                    "VALUES('holdfast:%s',1,REPEAT('t',16)," WHEN ")",
                    database(), name, asked_us);
}

static int rows(const char *table)
{
    return (int)strtol(hf__mariadb_value(server(), "SELECT COUNT(*) FROM %s.%s",
                                         database(), table),
                       NULL, 10);
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
    add_ticket("ended", -9000000);
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

TEST_WITHIN(60, a_row_that_a_person_keeps_locked_stops_no_other)
{
    DOOR(d);
    MYSQL *person = stranger();
    char name[16];

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%02d", i);
        add_idle(name, 0);
    }
    EXPECT_IS(mysql_query(person, "BEGIN"), 0);
    EXPECT_IS(mysql_query(person, "SELECT fence FROM holdfast_lock WHERE "
                                  "name_key='holdfast:n17' FOR UPDATE"),
              0);
    mysql_free_result(mysql_store_result(person));
    EXPECT_IS(clean(&d, 1000000), 99);
    EXPECT_IS(rows("holdfast_lock"), 1);
    EXPECT_IS(mysql_query(person, "ROLLBACK"), 0);
    EXPECT_IS(clean(&d, 1000000), 1);
    mysql_close(person);
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
    for (int i = 0; i < 100; i++) {
        (void)clean(&d, 0);
        EXPECT_IS(claim(&other, "job", &fence), HF_OK);
        EXPECT_SAFE_MORE(fence, last);
        last = fence;
        EXPECT_IS(clean(&d, 0), 0);
        EXPECT_IS(rows("holdfast_lock"), 1);
        hf__mariadb_sql(server(),
                        "UPDATE %s.holdfast_lock SET token='',expires=0",
                        database());
    }
}

TEST_WITHIN(60, rows_that_are_not_ours_are_left_alone)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    hf__mariadb_sql(server(),
                    "ALTER TABLE %s.holdfast_lock MODIFY name_key "
                    "VARBINARY(700) NOT NULL",
                    database());
    hf__mariadb_sql(server(),
                    "INSERT INTO %s.holdfast_lock(name_key,fence) "
                    "VALUES(CONCAT('holdfast:',REPEAT('x',600)),1),"
                    "('other:job',1)",
                    database());
    add_idle("a", 0);
    add_idle("y", 0);
    EXPECT_IS(clean(&d, 0), 2);
    EXPECT_IS(rows("holdfast_lock"), 2);
}
