/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what postgres_pair.h says: a standby that follows and
 * takes no writes, of which one may be killed, parted from the other and
 * promoted, also beside an old primary that came back?
 */
#include "tests/lib/test.h"
#include "tests/servers/postgres_pair.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#define READ_ONLY "25006"

static struct hf__postgres_pair *p;

static const struct hf__postgres *node(int which)
{
    return hf__postgres_pair_node(p, which);
}

/* As clients do it; the answer is not read yet. */
static PGconn *ask_to_write(int which, int key)
{
    char text[HF__POSTGRES_URL];
    PGconn *db;

    hf__postgres_url(node(which), "postgres", text, sizeof text);
    db = PQconnectdb(text);
    EXPECT_IS(PQstatus(db), CONNECTION_OK);
    snprintf(text, sizeof text, "INSERT INTO t VALUES (%d)", key);
    EXPECT_IS(PQsendQuery(db, text), 1);
    return db;
}

/* "", or the error. */
static const char *answer_to(PGconn *db)
{
    static char state[8];
    PGresult *r = PQgetResult(db);
    const char *told = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    snprintf(state, sizeof state, "%s", told ? told : "");
    PQclear(r);
    PQfinish(db);
    return state;
}

static const char *write_at(int which, int key)
{
    return answer_to(ask_to_write(which, key));
}

static void expect_at(int which, const char *keys)
{
    EXPECT_TEXT(hf__postgres_value(node(which), NULL,
                                   "SELECT string_agg(a::text, ' ' ORDER BY a)"
                                   " FROM t"),
                keys);
}

static const char *timeline(int which)
{
    return hf__postgres_value(node(which), NULL,
                              "SELECT substr(pg_walfile_name("
                              "pg_current_wal_insert_lsn()), 1, 8)");
}

static void start(const struct hf__postgres_pair_opts *opts)
{
    p = hf__postgres_pair_start(opts);
    hf__postgres_sql(node(0), NULL,
                     "CREATE TABLE t (a INT PRIMARY KEY);"
                     "GRANT ALL ON t TO " HF__POSTGRES_USER);
    hf__postgres_pair_await_caught_up(p, 1);
}

TEST_WITHIN(60, what_one_writes_the_other_has_and_takes_no_writes_itself)
{
    start(NULL);
    EXPECT_TEXT(write_at(0, 1), "");
    hf__postgres_pair_await_caught_up(p, 1);
    expect_at(1, "1");
    EXPECT_TEXT(write_at(1, 2), READ_ONLY);
    hf__postgres_pair_free(p);
}

TEST_WITHIN(60, who_is_switched_to_has_all_and_the_other_follows)
{
    start(NULL);
    for (int i = 1; i < 20; i++) {
        EXPECT_TEXT(write_at(0, i), "");
    }
    hf__postgres_pair_switch_over(p, 1);
    EXPECT_TEXT(hf__postgres_value(node(1), NULL, "SELECT count(*) FROM t"),
                "19");
    EXPECT_TEXT(write_at(0, 20), READ_ONLY);
    EXPECT_TEXT(write_at(1, 20), "");
    hf__postgres_pair_switch_over(p, 0);
    EXPECT_TEXT(write_at(0, 21), "");
    hf__postgres_pair_await_caught_up(p, 1);
    EXPECT_TEXT(hf__postgres_value(node(1), NULL, "SELECT count(*) FROM t"),
                "21");
    hf__postgres_pair_free(p);
}

TEST_WITHIN(60, an_old_primary_comes_back_as_one_and_follows_when_it_is_told)
{
    start(NULL);
    EXPECT_TEXT(write_at(0, 1), "");
    hf__postgres_pair_await_caught_up(p, 1);
    hf__postgres_pair_kill(p, 0);
    hf__postgres_pair_promote(p, 1);
    EXPECT_TEXT(write_at(1, 2), "");
    EXPECT_TEXT(timeline(1), "00000002");
    hf__postgres_pair_restart(p, 0);
    EXPECT_TEXT(write_at(0, 3), "");
    EXPECT_TEXT(timeline(0), "00000001");
    expect_at(0, "1 3");
    hf__postgres_pair_follow(p, 0);
    expect_at(0, "1 2");
    EXPECT_TEXT(write_at(0, 4), READ_ONLY);
    hf__postgres_pair_kill(p, 0);
    EXPECT_TEXT(write_at(1, 5), "");
    hf__postgres_pair_restart(p, 0);
    hf__postgres_pair_await_caught_up(p, 0);
    expect_at(0, "1 2 5");
    hf__postgres_pair_free(p);
}

TEST_WITHIN(60, nothing_comes_by_a_link_that_is_cut_and_all_when_it_is_healed)
{
    start(NULL);
    hf__postgres_pair_cut_link(p);
    EXPECT_TEXT(write_at(0, 1), "");
    UNTIL(hf__postgres_value(node(1), NULL,
                             "SELECT count(*) FROM pg_stat_wal_receiver")[0] ==
          '0');
    expect_at(1, "");
    hf__postgres_pair_heal_link(p);
    hf__postgres_pair_await_caught_up(p, 1);
    expect_at(1, "1");
    hf__postgres_pair_expect_well(p, 1);
    hf__postgres_pair_free(p);
}

static bool is_waited_for(int which)
{
    return hf__postgres_value(node(which), NULL,
                              "SELECT count(*) FROM pg_stat_activity"
                              " WHERE wait_event = 'SyncRep'")[0] == '1';
}

TEST_WITHIN(60, a_synchronous_standby_has_what_is_answered_and_is_waited_for)
{
    const struct hf__postgres_pair_opts opts = {.is_synchronous = true};
    PGconn *db;

    start(&opts);
    hf__postgres_pause(hf__postgres_pair_node(p, 1));
    db = ask_to_write(0, 1);
    UNTIL(is_waited_for(0));
    hf__postgres_resume(hf__postgres_pair_node(p, 1));
    EXPECT_TEXT(answer_to(db), "");
    hf__postgres_pair_kill(p, 0);
    hf__postgres_pair_promote(p, 1);
    expect_at(1, "1");
    EXPECT_TEXT(write_at(1, 2), "");
    hf__postgres_pair_follow(p, 0);
    hf__postgres_pair_set_synchronous(p, 1, true);
    hf__postgres_pair_kill(p, 0);
    db = ask_to_write(1, 3);
    UNTIL(is_waited_for(1));
    hf__postgres_pair_set_synchronous(p, 1, false);
    EXPECT_TEXT(answer_to(db), "");
    hf__postgres_pair_free(p);
}

/* ---- the pair that the tests of a program share */

__attribute__((constructor)) static void register_pair(void)
{
    hf__test_prepare(hf__postgres_pair_share);
}

TEST(a_test_has_its_database_at_both_and_another_of_them_comes_first)
{
    char first[2 * HF__POSTGRES_URL];
    char second[2 * HF__POSTGRES_URL];
    PGconn *db;

    hf__postgres_pair_test_url(first, sizeof first);
    hf__postgres_pair_test_url(second, sizeof second);
    EXPECT(strcmp(first, second) != 0);
    for (int i = 0; i < HF__POSTGRES_PAIR; i++) {
        char url[2 * HF__POSTGRES_URL + 40];

        snprintf(url, sizeof url, "%s?target_session_attrs=%s", first,
                 i ? "standby" : "read-write");
        db = PQconnectdb(url);
        EXPECT_IS(PQstatus(db), CONNECTION_OK);
        EXPECT_HAS(PQdb(db), "hf_test_");
        PQfinish(db);
    }
}
