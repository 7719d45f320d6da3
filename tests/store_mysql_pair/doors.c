/* SPDX-License-Identifier: MIT */
/*
 * Which servers are taken for one store, and by which clients: those that
 * replicate each other, of which one can be written to, by clients that name
 * all of them and say the same longest lease.
 */
#include "tests/store_mysql_pair/site.h"

#include "src/backend/cell.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void share_a_pair(void)
{
    hf__test_prepare(hf__mariadb_pair_share);
}

TEST(the_writable_one_is_gone_to_whichever_comes_first)
{
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_CLIENT *bob = client_of(url_of(1));
    hf_acquire_opts opts = longest(0);
    AUTO_LOCK *lock = must_acquire(alice, "job", &opts);

    EXPECT_SAFE_IS(attempt_longest(bob, "job", 0), HF_BUSY);
    EXPECT_IS(primary_at(0), 1);
    expect_held(lock);
}

TEST(a_lease_that_is_longer_than_the_longest_is_refused)
{
    AUTO_CLIENT *alice = client_of(url_of(0));
    hf_acquire_opts opts = wanting(0, longest_ms() + 1);

    expect_no_grant(alice, "job", &opts, HF_EINVAL, "longest_lease");
    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
}

TEST(who_says_another_longest_lease_is_refused)
{
    AUTO_CLIENT *alice = client_of(url_of(0));
    AUTO_LOCK *lock = NULL;
    hf_acquire_opts opts = longest(0);

    lock = must_acquire(alice, "job", &opts);
    expect_refused(url_with(0, "longest_lease=60s"), HF_EINVAL,
                   "name the same in all urls");
    expect_held(lock);
}

TEST(who_names_one_of_them_is_refused)
{
    AUTO_CLIENT *alice = client_of(url_of(0));
    char url[HF__MARIADB_URL];

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    hf__mariadb_url(node(0), database(), url, sizeof url);
    expect_refused(url, HF_EUNSAFE, "one of several");
}

TEST(who_has_locked_at_one_of_them_is_not_overlooked)
{
    char url[HF__MARIADB_URL];
    AUTO_CLIENT *alice = NULL;
    AUTO_LOCK *lock = NULL;

    hf__mariadb_url(node(0), database(), url, sizeof url);
    alice = client_of(url);
    lock = acquire(alice, "job");
    expect_refused(url_of(0), HF_EUNSAFE, "by clients that name one host");
    expect_held(lock);
}

static int ask_for_a_cell(struct door *d)
{
    char bytes[] = "holdfast=stock";
    static unsigned char value[HF__CELL_MAX];
    struct hf__cell_op op = {.what = HF__CELL_GET,
                             .key = {bytes, (uint16_t)strlen(bytes), 9},
                             .value = value,
                             .err = &d->error};

    EXPECT_IS(hf__conn_cell(&d->conn, &op, hf__after_ms(hf__now(), 5000), NULL),
              HF_OK);
    return op.result;
}

TEST(they_have_no_cells)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_of(0)), HF_OK);
    EXPECT_IS(d.conn.caps & HF_CAP_CELLS, 0);
    EXPECT_IS(ask_for_a_cell(&d), HF_ENOTSUP);
    EXPECT_HAS(d.error.text, "replicate each other have no cells");
}

/* By the URL they may be nodes of a cluster. */
TEST(that_they_have_none_is_found_once_they_are_known)
{
    DOOR(d);
    struct hf__key prefix = {"holdfast=", 9, 9};
    struct hf__gc g = {.of_cells = true};

    EXPECT_IS(enter(&d, url_with(0, "tls=off")), HF_OK);
    EXPECT_IS(ask_for_a_cell(&d), HF_ENOTSUP);
    EXPECT_IS(hf__conn_gc(&d.conn, &prefix, &g, hf__after_ms(hf__now(), 5000),
                          &d.error),
              HF_OK);
    EXPECT_IS(g.count, 0);
}

TEST_WITHIN(60, a_server_that_replicates_nothing_of_it_is_refused)
{
    static const char *const extra[] = {"--server-id=9", "--read-only=ON",
                                        NULL};
    struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *alone = hf__mariadb_start(&opts);
    char url[512];

    hf__mariadb_sql(alone, "CREATE DATABASE %s", database());
    hf__mariadb_url(node(0), database(), url, sizeof url);
    snprintf(strrchr(url, '/'), 100, ",127.0.0.1:%d/%s",
             hf__mariadb_port(alone), database());
    expect_refused(url, HF_EUNSAFE, "replicate each other");
    hf__mariadb_free(alone);
}

/* That both hosts are of one system is shown by both. */
TEST(who_was_never_seen_with_the_other_grants_nothing)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_reaching(0)), HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "up once");
    EXPECT_IS(enter(&d, url_of(0)), HF_OK);
    shut(&d);
    EXPECT_IS(enter(&d, url_reaching(0)), HF_OK);
}

TEST_WITHIN(60, two_that_can_be_written_to_are_refused)
{
    OWN_PAIR;
    DOOR(d);

    hf__mariadb_pair_set_read_only(pair(), 1, false);
    expect_refused(url_of(0), HF_EUNSAFE, "none was the primary lately");
    expect_refused(url_of(1), HF_EUNSAFE, "set read_only");
    hf__mariadb_pair_set_read_only(pair(), 1, true);
    EXPECT_IS(enter(&d, url_of(1)), HF_OK);
}

static void be_refused_for_both(void *unused)
{
    (void)unused;
    expect_refused(url_of(1), HF_EUNAVAIL, "two of its hosts");
}

/* It is asked for what it has granted while the other has begun. */
TEST_WITHIN(60, one_that_becomes_writable_beside_who_begins_is_seen)
{
    OWN_PAIR;
    AUTO_CLIENT *alice = client_of(url_of(0));
    struct hf__test_thread *bob = NULL;

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    hf__mariadb_pair_await_caught_up(pair(), 1);
    hf__mariadb_pair_set_read_only(pair(), 0, true);
    hf__mariadb_sql(node(0), "STOP SLAVE");
    hf__mariadb_pair_set_read_only(pair(), 1, false);
    bob = hf__test_start(be_refused_for_both, NULL);
    UNTIL(primary_at(1) == 2);
    hf__mariadb_pair_set_read_only(pair(), 0, false);
    hf__test_join(bob);
}

TEST_WITHIN(60, a_log_of_statements_is_refused)
{
    OWN_PAIR;
    DOOR(d);

    hf__mariadb_sql(node(0), "SET GLOBAL binlog_format='STATEMENT'");
    expect_refused(url_of(0), HF_EUNSAFE, "binlog_format");
    hf__mariadb_sql(node(0), "SET GLOBAL binlog_format='ROW'");
    EXPECT_IS(enter(&d, url_of(0)), HF_OK);
    hf__mariadb_sql(node(0), "SET GLOBAL binlog_format='STATEMENT'");
    expect_refused(url_of(0), HF_EUNSAFE, "binlog_format");
}

static uint64_t epoch(void)
{
    return strtoull(hf__mariadb_value(node(0),
                                      "SELECT MAX(epoch) FROM "
                                      "%s.holdfast_server",
                                      database()),
                    NULL, 10);
}

/* Somebody locks, and nobody after that for longer than the longest lease.
 * Gives the epoch. A server tells how long it has run in seconds: as one that
 * was started lately it would be taken for one that was started since. */
static uint64_t rest_after_use(void)
{
    AUTO_CLIENT *alice = NULL;
    uint64_t before;

    UNTIL(strtol(hf__mariadb_status(node(0), "Uptime"), NULL, 10) > 3);
    alice = client_of(url_of(0));
    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    before = epoch();
    close_client(&alice);
    alice = NULL;
    hf__test_pause_ms(longest_ms() + 200);
    return before;
}

/* The other can tell that it has granted nothing meanwhile. */
TEST_WITHIN(60, who_comes_after_a_long_rest_is_served_at_once)
{
    uint64_t before = rest_after_use();
    AUTO_CLIENT *alice = client_of(url_of(1));

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    EXPECT_IS(epoch(), before);
}

/* The primary itself has run since, and heard of no other. */
TEST_WITHIN(60, who_comes_after_it_is_served_at_once_by_one_that_is_alone)
{
    uint64_t before = rest_after_use();
    AUTO_CLIENT *alice = client_of(url_reaching(0));

    EXPECT_IS(attempt_longest(alice, "job", 0), HF_OK);
    EXPECT_IS(epoch(), before);
}

TEST(check_says_which_is_the_primary)
{
    DOOR(d);
    hf_verdict verdict = HF_UNFIT;

    EXPECT_IS(enter(&d, url_of(1)), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'C');
    EXPECT_HAS(finding(&d, "primary", &verdict), "server 1");
    EXPECT_IS(verdict, HF_FINE);
    EXPECT_TEXT(finding(&d, "new_grants", &verdict), "now");
    EXPECT_IS(verdict, HF_FINE);
    EXPECT_TEXT(finding(&d, "two_primaries", &verdict), "none seen");
    EXPECT_IS(verdict, HF_FINE);
}
