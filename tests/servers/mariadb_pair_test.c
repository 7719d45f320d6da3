/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what mariadb_pair.h says: two servers that replicate each
 * other, of which one may be killed, parted from the other and made the one
 * that is written to? And would it be seen that both wrote the same row?
 */
#include "tests/lib/test.h"
#include "tests/servers/mariadb_pair.h"

#include <mysql.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hf__mariadb_pair *p;

static const struct hf__mariadb *node(int which)
{
    return hf__mariadb_pair_node(p, which);
}

/* As clients do it, whom read_only keeps from writing. */
static unsigned write_at(int which, int key, int number)
{
    MYSQL *db = mysql_init(NULL);
    char sql[80];
    unsigned r;

    EXPECT(db);
    EXPECT(mysql_real_connect(
        db, "127.0.0.1", HF__MARIADB_USER, HF__MARIADB_PASSWORD, "hf_t",
        (unsigned)hf__mariadb_port(node(which)), NULL, 0));
    snprintf(sql, sizeof sql, "INSERT INTO t VALUES(%d,%d)", key, number);
    mysql_query(db, sql);
    r = mysql_errno(db);
    mysql_close(db);
    return r;
}

static void expect_at(int which, int key, const char *number)
{
    EXPECT_TEXT(
        hf__mariadb_value(node(which), "SELECT b FROM hf_t.t WHERE a=%d", key),
        number);
}

static void expect_both_well(void)
{
    hf__mariadb_pair_expect_well(p, 0);
    hf__mariadb_pair_expect_well(p, 1);
}

static void start(const struct hf__mariadb_pair_opts *opts)
{
    p = hf__mariadb_pair_start(opts);
    hf__mariadb_sql(node(0), "CREATE DATABASE hf_t");
    hf__mariadb_sql(node(0), "CREATE TABLE hf_t.t(a INT PRIMARY KEY,b INT)");
    hf__mariadb_pair_await_caught_up(p, 1);
}

TEST_WITHIN(60, what_one_writes_the_other_has_and_takes_no_writes_itself)
{
    start(NULL);
    EXPECT_IS(write_at(0, 1, 10), 0);
    hf__mariadb_pair_await_caught_up(p, 1);
    expect_at(1, 1, "10");
    EXPECT_IS(write_at(1, 2, 20), ER_OPTION_PREVENTS_STATEMENT);
    hf__mariadb_pair_free(p);
}

TEST_WITHIN(60, who_is_switched_to_has_all_and_the_other_follows)
{
    start(NULL);
    for (int i = 1; i <= 20; i++) {
        EXPECT_IS(write_at(0, i, i), 0);
    }
    hf__mariadb_pair_switch_over(p, 1);
    expect_at(1, 20, "20");
    EXPECT_IS(write_at(0, 21, 21), ER_OPTION_PREVENTS_STATEMENT);
    EXPECT_IS(write_at(1, 21, 22), 0);
    hf__mariadb_pair_await_caught_up(p, 0);
    expect_at(0, 21, "22");
    hf__mariadb_pair_switch_over(p, 0);
    EXPECT_IS(write_at(0, 22, 23), 0);
    hf__mariadb_pair_await_caught_up(p, 1);
    expect_at(1, 22, "23");
    expect_both_well();
    hf__mariadb_pair_free(p);
}

TEST_WITHIN(60, who_was_killed_comes_back_as_it_is_told_and_catches_up)
{
    start(NULL);
    EXPECT_IS(write_at(0, 1, 1), 0);
    hf__mariadb_pair_await_caught_up(p, 1);
    hf__mariadb_pair_kill(p, 0);
    hf__mariadb_pair_await_applied(p, 1);
    hf__mariadb_pair_set_read_only(p, 1, false);
    EXPECT_IS(write_at(1, 2, 2), 0);
    hf__mariadb_pair_restart(p, 0, true);
    hf__mariadb_pair_await_caught_up(p, 0);
    expect_at(0, 2, "2");
    EXPECT_IS(write_at(0, 3, 3), ER_OPTION_PREVENTS_STATEMENT);
    expect_both_well();
    hf__mariadb_pair_kill(p, 0);
    hf__mariadb_pair_relaunch(p, 0, false);
    UNTIL(hf__mariadb_try(node(0), "DO 1") == 0);
    EXPECT_IS(write_at(0, 3, 3), 0);
    expect_both_well();
    hf__mariadb_pair_free(p);
}

TEST_WITHIN(60, nothing_comes_by_a_link_that_is_cut_and_all_when_it_is_healed)
{
    start(NULL);
    hf__mariadb_pair_cut_link(p);
    UNTIL(strcmp(hf__mariadb_replica(node(1), "Slave_IO_Running"), "Yes") != 0);
    EXPECT_IS(write_at(0, 1, 1), 0);
    hf__mariadb_pair_set_read_only(p, 1, false);
    EXPECT_IS(write_at(1, 2, 2), 0);
    hf__mariadb_pair_await_applied(p, 1);
    expect_at(1, 1, "");
    expect_at(0, 2, "");
    hf__mariadb_pair_heal_link(p);
    hf__mariadb_pair_await_caught_up(p, 0);
    hf__mariadb_pair_await_caught_up(p, 1);
    expect_at(1, 1, "1");
    expect_at(0, 2, "2");
    expect_both_well();
    hf__mariadb_pair_free(p);
}

TEST_WITHIN(60, it_is_seen_that_both_wrote_the_same_row)
{
    start(NULL);
    hf__mariadb_pair_cut_link(p);
    hf__mariadb_pair_set_read_only(p, 1, false);
    EXPECT_IS(write_at(0, 1, 1), 0);
    EXPECT_IS(write_at(1, 1, 2), 0);
    hf__mariadb_pair_heal_link(p);
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        UNTIL(strtoul(hf__mariadb_replica(node(i), "Last_SQL_Errno"), NULL,
                      10) == ER_DUP_ENTRY);
    }
    hf__mariadb_pair_free(p);
}

/* How many commits the other had got when they were answered. */
static unsigned long got_in_time(void)
{
    return strtoul(hf__mariadb_status(node(0), "Rpl_semi_sync_master_yes_tx"),
                   NULL, 10);
}

TEST_WITHIN(60, with_semi_sync_the_other_has_got_what_is_answered)
{
    struct hf__mariadb_pair_opts opts = {.is_semi_sync = true};
    unsigned long before;

    start(&opts);
    UNTIL(strcmp(hf__mariadb_status(node(0), "Rpl_semi_sync_master_status"),
                 "ON") == 0);
    before = got_in_time();
    EXPECT_IS(write_at(0, 1, 1), 0);
    EXPECT_IS(got_in_time(), before + 1);
    hf__mariadb_pair_await_applied(p, 1);
    expect_at(1, 1, "1");
    hf__mariadb_pair_kill(p, 1);
    EXPECT_IS(write_at(0, 2, 2), 0);
    hf__mariadb_pair_free(p);
}
