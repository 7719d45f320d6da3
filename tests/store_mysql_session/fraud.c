/* SPDX-License-Identifier: MIT */
/*
 * Who may write the table holdfast_session has no lock by it, and costs nobody
 * one: it is for people, and for fences. What is in it that can't be is told.
 */
#include "tests/store_mysql_session/world.h"

#include <string.h>

static int n_listed;

static int count(void *arg, const hf_info *info)
{
    (void)arg;
    (void)info;
    n_listed++;
    return 0;
}

/* All that one may ask, which answers, or says what is wrong. */
static void ask_everything(hf_client *client)
{
    hf_error err = HF_ERROR_INIT;
    hf_info *info = NULL;
    int r;

    EXPECT_IS(try_once(client, "job"), HF_BUSY);
    r = hf_inspect(client, "job", &info, &err);
    EXPECT(r == HF_OK || (r == HF_EPROTO && err.text[0]));
    hf_info_free(info);
    r = hf_list(client, "", count, NULL, &err);
    EXPECT(r == HF_OK || (r == HF_EPROTO && err.text[0]));
    r = hf_gc(client, 0, NULL, &err);
    EXPECT(r == HF_OK || (r == HF_EPROTO && err.text[0]));
}

TEST_WITHIN(60, what_is_written_into_the_table_costs_no_grant)
{
    static const char *const garbage[] = {
        "fence=0",
        "fence=18446744073709551615",
        "fence=9223372036854775808,broken=9223372036854775808",
        "fence=9007199254740992",
        "broken=fence",
        "broken=18446744073709551615",
        "token=''",
        "token=REPEAT('x',16)",
        "connection=0",
        "connection=18446744073709551615",
        "connection=CONNECTION_ID()",
        "acquired_at=-9223372036854775808",
        "acquired_at=9223372036854775807",
        "label=REPEAT('\\\\',60),note='\\0\\n\\r'",
        "host=REPEAT('%s',30),pid=-9223372036854775808",
        "lock_name=''",
        "lock_name='hf:other:name'",
        "lock_name=REPEAT('\xf0\x9f\x94\x92',64)",
        "name_key=REPEAT('\xff',320)",
    };

    say_options("session_timeout=60s");
    HELD(job, alice, bob);
    int64_t holder = holder_of("job");

    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        hf__mariadb_sql(server(),
                        "UPDATE %s.holdfast_session SET %s WHERE name_key "
                        "LIKE '%%job'",
                        database(), garbage[i]);
        ask_everything(bob);
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        expect_held(job);
        EXPECT_IS(holder_of("job"), holder);
    }
    hf__mariadb_sql(server(), "DELETE FROM %s.holdfast_session", database());
    ask_everything(bob);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* A fence that can't be followed by another. */
TEST(a_name_whose_fence_is_too_high_is_not_granted)
{
    static const char *const fences[] = {"fence=18446744073709551615",
                                         "fence=9007199254740991"};
    HELD(job, alice, bob);

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < 2; i++) {
        hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
        hf_lock *none = NULL;
        hf_error err = HF_ERROR_INIT;

        set_row("job", fences[i]);
        EXPECT_IS(hf_acquire(bob, "job", &opts, &none, &err), HF_EPROTO);
        EXPECT(err.text[0]);
        printf("%s\n", err.text);
        EXPECT(!none);
        UNTIL(holder_of("job") == 0);
    }
    EXPECT_IS(try_once(bob, "other"), HF_OK);
    set_row("job", "fence=1");
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* Rows of names that are none, as they are listed. */
TEST(rows_of_no_names_are_no_locks)
{
    HELD(job, alice, bob);

    hf__mariadb_sql(server(),
                    "INSERT INTO %s.holdfast_session(name_key,lock_name,fence)"
                    " SELECT CONCAT('holdfast:',n),lock_name,5 FROM "
                    "%s.holdfast_session,(SELECT '' n UNION SELECT "
                    "REPEAT('y',310) UNION SELECT UNHEX('ff0001')) d",
                    database(), database());
    EXPECT(hf_list(bob, "", count, NULL, NULL) <= 0);
    printf("%d listed\n", n_listed);
    expect_held(job);
    EXPECT_IS(try_once(bob, "y"), HF_OK);
}

/* ---- the table itself */

TEST(a_row_that_somebody_writes_holds_up_no_cleaning)
{
    CLIENTS(alice, bob);
    AUTO_STRANGER *db = stranger();
    hf_gc_info gc = HF_GC_INFO_INIT;

    EXPECT_IS(try_once(alice, "a"), HF_OK);
    EXPECT_IS(try_once(alice, "b"), HF_OK);
    EXPECT_IS(try_once(alice, "c"), HF_OK);
    EXPECT_IS(mysql_query(db, "BEGIN"), 0);
    EXPECT_IS(mysql_query(db, "UPDATE holdfast_session SET note='x' WHERE "
                              "name_key='holdfast:b'"),
              0);
    EXPECT_IS(hf_gc(bob, 0, &gc, NULL), HF_OK);
    EXPECT_IS(gc.removed, 1);
    EXPECT_IS(mysql_query(db, "ROLLBACK"), 0);
    EXPECT_IS(hf_gc(bob, 0, &gc, NULL), HF_OK);
    EXPECT_IS(gc.removed, 2);
}

/* The table is no more; the lock is. It is made anew by who needs it. */
TEST(a_dropped_table_costs_no_grant)
{
    HELD(job, alice, bob);
    int64_t holder = holder_of("job");

    hf__mariadb_sql(server(), "DROP TABLE %s.holdfast_session", database());
    EXPECT_IS(hf_wait_lost(job, session_ms() * 3 / 2), HF_TIMEDOUT);
    expect_held(job);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(attempt(alice, "other", patience(5000)), HF_OK);
    expect_held(job);
    EXPECT_IS(holder_of("job"), holder);
    EXPECT_IS(attempt(bob, "other", patience(5000)), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(holder_of("job"), 0);
}
