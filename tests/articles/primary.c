/* SPDX-License-Identifier: MIT */
/*
 * A primary and a replica are not enough for a lock, on two MariaDB servers of
 * which one copies the other: what the primary has confirmed and the replica
 * has not yet copied is granted again there once it stands in. What Holdfast
 * says of it before, by the grade, and after. failover.py has it for Redis.
 */
#include "tests/store_mysql/world.h"

#include <string.h>

enum { URL = 3 * HF__MARIADB_URL };

struct pair {
    struct hf__mariadb *primary;
    struct hf__mariadb *replica;
};

#define AUTO_PAIR __attribute__((cleanup(end_pair))) struct pair

static void end_pair(struct pair *p)
{
    hf__mariadb_free(p->replica);
    hf__mariadb_free(p->primary);
}

/* All that the primary has done so far is there, too. */
static void await_copy(const struct pair *p)
{
    char at[128];

    snprintf(at, sizeof at, "%s",
             hf__mariadb_value(p->primary, "SELECT @@gtid_binlog_pos"));
    EXPECT_TEXT(
        hf__mariadb_value(p->replica, "SELECT MASTER_GTID_WAIT('%s', 30)", at),
        "0");
}

/* The store is on the primary. */
static struct pair start_pair(void)
{
    static const char *const first[] = {"--log-bin=changes", "--server-id=1",
                                        NULL};
    static const char *const second[] = {"--server-id=2", NULL};
    struct hf__mariadb_opts opts = {.extra = second};
    struct pair p = {own_server(first), hf__mariadb_start(&opts)};

    hf__mariadb_sql(p.primary, "GRANT REPLICATION SLAVE ON *.* TO "
                               "copy@'127.0.0.1' IDENTIFIED BY 'all'");
    hf__mariadb_sql(p.replica,
                    "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', "
                    "MASTER_PORT = %d, MASTER_USER = 'copy', "
                    "MASTER_PASSWORD = 'all', MASTER_USE_GTID = slave_pos",
                    hf__mariadb_port(p.primary));
    hf__mariadb_sql(p.replica, "START SLAVE");
    await_copy(&p);
    return p;
}

/* With both hosts, the primary first. */
static hf_client *open_both(const struct pair *p)
{
    char url[URL];
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;

    snprintf(url, sizeof url, "mysql://%s:%s@127.0.0.1:%d,127.0.0.1:%d/%s?%s",
             HF__MARIADB_USER, HF__MARIADB_PASSWORD,
             hf__mariadb_port(p->primary), hf__mariadb_port(p->replica),
             database(), io_timeout(1000, "allow=hosts"));
    if (hf_open(url, NULL, &client, &err) != HF_OK) {
        printf("%s\n", err.text);
    }
    EXPECT(client);
    return client;
}

TEST_WITHIN(90, a_primary_that_waits_for_no_replica_has_a_lower_grade)
{
    AUTO_PAIR p = start_pair();

    EXPECT_IS(store_info().grade, 'C');
    hf__mariadb_sql(p.primary, "SET GLOBAL rpl_semi_sync_master_enabled = ON");
    hf__mariadb_sql(p.replica, "STOP SLAVE");
    hf__mariadb_sql(p.replica, "SET GLOBAL rpl_semi_sync_slave_enabled = ON");
    hf__mariadb_sql(p.replica, "START SLAVE");
    UNTIL(strcmp(hf__mariadb_value(p.primary,
                                   "SELECT VARIABLE_VALUE FROM "
                                   "information_schema.global_status WHERE "
                                   "VARIABLE_NAME = "
                                   "'Rpl_semi_sync_master_clients'"),
                 "1") == 0);
    EXPECT_IS(store_info().grade, 'B');
}

TEST_WITHIN(90, a_copy_that_lags_grants_again_what_its_primary_granted)
{
    static const char *const take =
        "INSERT INTO %s.named_lock VALUES ('job', '%s')";
    AUTO_PAIR p = start_pair();
    AUTO_CLIENT *alice = open_both(&p);
    AUTO_LOCK *ours = NULL;
    AUTO_LOCK *renewed = NULL;
    AUTO_CLIENT *bob = NULL;
    AUTO_LOCK *theirs = NULL;

    hf__mariadb_sql(p.primary,
                    "CREATE TABLE %s.named_lock (lock_key VARCHAR(100) "
                    "PRIMARY KEY, lock_value VARCHAR(255))",
                    database());
    EXPECT_IS(try_once(alice, "job"), HF_OK); /* the tables are there */
    await_copy(&p);
    hf__mariadb_sql(p.replica, "STOP SLAVE"); /* what comes now, it lacks */
    hf__mariadb_sql(p.primary, take, database(), "one");
    ours = acquire_fixed(alice, "job", 30000);
    renewed = acquire_leased(alice, "renewed", patience(3000));
    hf__mariadb_kill(p.primary);
    hf__mariadb_sql(p.replica, take, database(), "two");
    bob = open_both(&p);
    theirs = acquire(bob, "job");

    /* Two believe that they have it. What the lock guards can tell them apart,
     * and the first one is told at its renewal, if it has any. */
    expect_held(ours);
    expect_held(theirs);
    EXPECT_SAFE_MORE(hf_fence(theirs), hf_fence(ours));
    EXPECT_IS(hf_wait_lost(renewed, patience(10000)), HF_LOST);
    EXPECT_IS(hf_lost_reason(renewed), HF_REASON_STORE_GONE);
    EXPECT_IS(hf_release(theirs, NULL), HF_OK);
}
