/* SPDX-License-Identifier: MIT */
/*
 * Connections, of which each lock has one: how many there may be, that they are
 * used again, and what check() says of those that keep theirs for long. Then
 * what is refused when a store is opened.
 */
#include "tests/store_mysql_row/world.h"

#include <stdlib.h>

TEST(the_limit_is_told_by_its_name)
{
    PARTY_AT(alice, url_with("max_connections=2"));

    EXPECT_IS(acquire(&alice, "a"), HF_OK);
    EXPECT_IS(acquire(&alice, "b"), HF_OK);
    EXPECT_IS(acquire(&alice, "c"), HF_EUNAVAIL);
    EXPECT_HAS(alice.error.text, "max_connections");
    EXPECT_IS(renew(&alice, "a"), HF_OK);
    EXPECT_IS(release(&alice, "b"), HF_OK);
    EXPECT_IS(acquire(&alice, "c"), HF_OK);
    UNTIL(transactions() == 2);
}

static long connects(void)
{
    return strtol(hf__mariadb_value(server(),
                                    "SELECT VARIABLE_VALUE FROM "
                                    "information_schema.GLOBAL_STATUS WHERE "
                                    "VARIABLE_NAME='CONNECTIONS'"),
                  NULL, 10);
}

TEST(the_next_lock_needs_no_new_connection)
{
    PARTY(alice);
    long before;
    long asking;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    before = connects();
    asking = connects() - before; /* who asks connects, too */
    for (int i = 0; i < 20; i++) {
        EXPECT_IS(acquire(&alice, i % 2 ? "job" : "other"), HF_OK);
        EXPECT_IS(release(&alice, i % 2 ? "job" : "other"), HF_OK);
    }
    EXPECT_IS(connects() - before, 2 * asking);
}

TEST(what_is_held_for_over_a_minute_is_warned_of)
{
    JOB_OF(alice, bob);
    hf_verdict verdict;

    EXPECT_TEXT(finding(&bob, "held_over_a_minute", &verdict), "none");
    EXPECT_IS(verdict, HF_FINE);
    hf__mariadb_sql(server(),
                    "UPDATE %s.holdfast_row_holder SET "
                    "acquired_at=acquired_at-75000000",
                    database());
    EXPECT_HAS(finding(&bob, "held_over_a_minute", &verdict), "1, the longest");
    EXPECT_IS(verdict, HF_WARN);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_TEXT(finding(&bob, "held_over_a_minute", &verdict), "none");
}

/* ---- refusals */

TEST(a_database_is_needed)
{
    char url[HF__MARIADB_URL];

    snprintf(url, sizeof url, "mysql://%s:%s@127.0.0.1:%d?scheme=row",
             HF__MARIADB_USER, HF__MARIADB_PASSWORD,
             hf__mariadb_port(server()));
    expect_refusal(url, HF_EINVAL, "no database");
}

TEST(options_of_others_are_refused)
{
    expect_refusal(url_with("locks_per_connection=1"), HF_EINVAL,
                   "locks_per_connection");
    expect_refusal(url_with("max_connections=0"), HF_EINVAL, "max_connections");
    expect_refusal(url_with("session_timeout=1500ms"), HF_EINVAL,
                   "session_timeout");
}

TEST(another_engine_is_refused)
{
    {
        PARTY(alice);
    }
    change_table("holdfast_row", "ENGINE=MyISAM");
    expect_refusal(url_with(""), HF_EPROTO, "InnoDB");
}

TEST(a_server_that_takes_no_writes_is_refused)
{
    hf__mariadb_sql(server(), "SET GLOBAL read_only=1");
    expect_refusal(url_with(""), HF_EUNAVAIL, "read-only");
    hf__mariadb_sql(server(), "SET GLOBAL read_only=0");
}
