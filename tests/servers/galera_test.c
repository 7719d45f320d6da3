/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what galera.h says: three nodes with the same data, of
 * which one or two may be killed, paused or cut off, and come back?
 */
#include "tests/lib/test.h"
#include "tests/servers/galera.h"

#include <string.h>

enum { NO_CLUSTER = 1047 };

static struct hf__galera *g;

static void write_at(int node, int number)
{
    hf__mariadb_sql(hf__galera_node(g, node),
                    "REPLACE INTO hf_t.t VALUES(1,%d)", number);
}

static void expect_at(int node, const char *number)
{
    UNTIL(strcmp(hf__mariadb_value(hf__galera_node(g, node),
                                   "SELECT b FROM hf_t.t"),
                 number) == 0);
}

static void start(void)
{
    g = hf__galera_start(NULL);
    hf__mariadb_sql(hf__galera_node(g, 0), "CREATE DATABASE hf_t");
    hf__mariadb_sql(hf__galera_node(g, 0),
                    "CREATE TABLE hf_t.t(a INT PRIMARY KEY,b INT)");
    for (int i = 1; i < HF__GALERA_NODES; i++) {
        UNTIL(hf__mariadb_try(hf__galera_node(g, i), "SELECT b FROM hf_t.t") ==
              0);
    }
}

TEST_WITHIN(120, what_one_node_is_told_all_know_and_one_may_go)
{
    start();
    write_at(1, 1);
    expect_at(2, "1");
    hf__galera_kill(g, 0);
    write_at(1, 2);
    expect_at(2, "2");
    hf__galera_restart(g, 0);
    expect_at(0, "2");
    hf__galera_await(g, 0, 3);
    hf__galera_free(g);
}

TEST_WITHIN(120, of_two_that_go_the_third_takes_no_writes)
{
    start();
    write_at(0, 1);
    hf__galera_kill(g, 0);
    hf__galera_kill(g, 1);
    hf__galera_await_alone(g, 2);
    EXPECT_IS(hf__mariadb_try(hf__galera_node(g, 2),
                              "REPLACE INTO hf_t.t VALUES(1,2)"),
              NO_CLUSTER);
    hf__galera_relaunch(g, 0);
    hf__galera_relaunch(g, 1);
    for (int i = 0; i < HF__GALERA_NODES; i++) {
        hf__galera_await(g, i, HF__GALERA_NODES);
    }
    write_at(2, 3);
    expect_at(0, "3");
    expect_at(1, "3");
    hf__galera_free(g);
}

TEST_WITHIN(120, who_is_cut_off_or_paused_comes_back_by_itself)
{
    start();
    hf__galera_cut_off(g, 1);
    hf__galera_await_alone(g, 1);
    write_at(0, 1);
    hf__galera_let_back(g, 1);
    hf__galera_await(g, 1, 3);
    expect_at(1, "1");
    hf__mariadb_pause(hf__galera_node(g, 2));
    hf__galera_await(g, 0, 2);
    write_at(0, 2);
    hf__mariadb_resume(hf__galera_node(g, 2));
    hf__galera_await(g, 0, 3);
    hf__galera_await(g, 2, 3);
    expect_at(2, "2");
    hf__galera_free(g);
}
