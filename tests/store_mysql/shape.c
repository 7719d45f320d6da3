/* SPDX-License-Identifier: MIT */
/*
 * The tables: made by whoever comes first, also by many at once; one of
 * another shape is refused by the name of what is wrong.
 */
#include "tests/store_mysql/site.h"

#include <mysql.h>
#include <stdlib.h>
#include <unistd.h>

enum { MANY = 8 };

TEST(the_tables_are_made_by_the_first_to_come)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_TEXT(hf__mariadb_value(server(),
                                  "SELECT COUNT(*) FROM "
                                  "information_schema.tables WHERE "
                                  "table_schema='%s' AND engine='InnoDB' AND "
                                  "table_name LIKE 'holdfast\\_%%'",
                                  database()),
                "3");
    EXPECT_IS(claim(&d, "job", NULL), HF_OK);
}

TEST_WITHIN(60, many_processes_make_them_at_once)
{
    char url[1024];
    pid_t pids[MANY];

    snprintf(url, sizeof url, "%s", url_with(""));
    for (int i = 0; i < MANY; i++) {
        pids[i] = fork();
        EXPECT(pids[i] >= 0);
        if (pids[i] == 0) {
            struct door d = {0};
            char name[8];
            int r = enter(&d, url);

            snprintf(name, sizeof name, "n%d", i);
            if (r != HF_OK) {
                puts(d.error.text);
            }
            _exit(r == HF_OK && claim(&d, name, NULL) == HF_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(hf__test_exit_code(pids[i]), 0);
    }
}

/* However many names there are: nobody goes through them to see its shape. */
TEST(who_opens_reads_no_rows)
{
    DOOR(d);
    DOOR(next);
    const char *read;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    hf__mariadb_sql(server(), "SET GLOBAL userstat=1");
    hf__mariadb_sql(server(),
                    "INSERT INTO %s.holdfast_lock(name_key) "
                    "SELECT seq FROM %s.seq_1_to_500",
                    database(), database());
    hf__mariadb_sql(server(), "FLUSH TABLE_STATISTICS");
    EXPECT_IS(enter(&next, url_with("")), HF_OK);
    read = hf__mariadb_value(server(),
                             "SELECT COALESCE(SUM(rows_read),0) FROM "
                             "information_schema.table_statistics WHERE "
                             "table_schema='%s'",
                             database());
    EXPECT_TEXT(read, "0");
}

/* Alter the tables, expect a refusal with these words, and make them anew. */
static void expect_named(const char *change, const char *words)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    shut(&d);
    hf__mariadb_sql(server(), "ALTER TABLE %s.%s", database(), change);
    expect_refused(url_with(""), HF_EPROTO, words);
    hf__mariadb_sql(server(),
                    "DROP TABLE %s.holdfast_lock,%s.holdfast_beside,"
                    "%s.holdfast_ticket",
                    database(), database(), database());
}

TEST_WITHIN(60, a_column_of_another_type_is_named)
{
    expect_named("holdfast_lock MODIFY expires TIMESTAMP",
                 "holdfast_lock is not as Holdfast makes it: expires is "
                 "TIMESTAMP, and must be BIGINT");
    expect_named("holdfast_lock MODIFY name_key VARCHAR(320) CHARACTER SET "
                 "utf8mb4",
                 "name_key is VARCHAR(1280), and must be VARBINARY(329)");
    expect_named("holdfast_lock MODIFY name_key VARBINARY(190) NOT NULL",
                 "name_key is VARBINARY(190), and must be VARBINARY(329)");
    expect_named("holdfast_ticket MODIFY name_key BINARY(255) NOT NULL",
                 "holdfast_ticket is not as Holdfast makes it: name_key is "
                 "BINARY(255)");
    expect_named("holdfast_lock MODIFY fence BIGINT NOT NULL DEFAULT 0",
                 "fence is BIGINT, and must be BIGINT UNSIGNED");
    expect_named("holdfast_lock MODIFY fence BIGINT UNSIGNED NOT NULL",
                 "fence must be BIGINT UNSIGNED NOT NULL DEFAULT 0");
    expect_named("holdfast_lock MODIFY fence BIGINT UNSIGNED NULL",
                 "fence must be BIGINT UNSIGNED NOT NULL DEFAULT 0");
}

TEST_WITHIN(60, labels_that_hold_too_little_are_named)
{
    expect_named("holdfast_lock MODIFY note VARCHAR(255) CHARACTER SET latin1 "
                 "NOT NULL DEFAULT ''",
                 "note is of character set latin1, and must be of utf8mb4");
    expect_named("holdfast_beside MODIFY label VARCHAR(100) CHARACTER SET "
                 "utf8mb4 NOT NULL DEFAULT ''",
                 "label is VARCHAR(100), and must be VARCHAR(255)");
}

TEST_WITHIN(60, what_is_missing_or_too_much_is_named)
{
    expect_named("holdfast_lock DROP COLUMN note", "note is missing");
    expect_named("holdfast_lock ADD COLUMN mine INT NOT NULL",
                 "mine is not ours");
    expect_named("holdfast_lock ENGINE=MyISAM",
                 "its engine is MyISAM, and must be InnoDB");
    expect_named("holdfast_beside DROP PRIMARY KEY",
                 "name_key is not part of the primary key, which must be "
                 "(name_key, token)");
    expect_named("holdfast_ticket DROP PRIMARY KEY, ADD PRIMARY "
                 "KEY(name_key,seq,token)",
                 "token is part of the primary key, which must be (name_key, "
                 "seq)");
}

/* Of two names one would be taken for the other. */
TEST_WITHIN(60, an_index_that_keeps_names_out_is_named)
{
    expect_named("holdfast_lock DROP PRIMARY KEY, ADD PRIMARY "
                 "KEY(name_key(10))",
                 "its index PRIMARY keeps out rows that differ");
    expect_named("holdfast_lock ADD UNIQUE odd(token,fence)",
                 "its index odd keeps out rows that differ");
}

TEST(a_column_and_an_index_that_do_no_harm_are_fine)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    hf__mariadb_sql(server(),
                    "ALTER TABLE %s.holdfast_lock ADD mine INT, ADD "
                    "INDEX(expires), MODIFY name_key VARBINARY(400) "
                    "NOT NULL",
                    database());
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(claim(&d, "job", NULL), HF_OK);
}

TEST(a_view_in_place_of_a_table_is_refused)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    hf__mariadb_sql(server(), "RENAME TABLE %s.holdfast_lock TO %s.mine",
                    database(), database());
    hf__mariadb_sql(server(),
                    "CREATE VIEW %s.holdfast_lock AS SELECT * FROM "
                    "%s.mine",
                    database(), database());
    EXPECT_IS(enter(&d, url_with("")), HF_EPROTO);
}

/* Somebody has locked the tables until mysql_close(). */
static MYSQL *lock_the_tables(void)
{
    MYSQL *other = stranger();
    char statement[512];

    snprintf(statement, sizeof statement,
             "LOCK TABLES holdfast_lock WRITE,holdfast_beside WRITE,"
             "holdfast_ticket WRITE");
    EXPECT_IS(mysql_query(other, statement), 0);
    return other;
}

/* Statements of ours that still wait for a table at the server. */
static int waiting(void)
{
    return *hf__mariadb_value(server(),
                              "SELECT COUNT(*) FROM "
                              "information_schema.processlist WHERE db='%s' "
                              "AND state LIKE 'Waiting for table metadata%%'",
                              database()) -
           '0';
}

static void unlock_later(void *other)
{
    hf__test_pause_ms(1500);
    mysql_close(other);
}

TEST_WITHIN(60, locked_tables_are_waited_for_up_to_the_deadline)
{
    DOOR(d);
    MYSQL *other;
    struct hf__test_thread *thread;
    int64_t start;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    shut(&d);
    other = lock_the_tables();
    start = hf__test_now_ms();
    EXPECT_IS(enter_within(&d, url_with(""), 700), HF_EUNAVAIL);
    EXPECT_SOON(hf__test_now_ms() - start, 5000);
    /* What we gave up does not go on without us. */
    while (waiting() > 0 && hf__test_now_ms() - start < 10000) {
        hf__test_pause_ms(50);
    }
    EXPECT_IS(waiting(), 0);
    thread = hf__test_start(unlock_later, other);
    EXPECT_IS(enter_within(&d, url_with(""), 15000), HF_OK);
    hf__test_join(thread);
    EXPECT_IS(claim(&d, "job", NULL), HF_OK);
}
