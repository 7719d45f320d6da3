/* SPDX-License-Identifier: MIT */
/*
 * The tables: made by whoever comes first, also by many at once; one of
 * another shape is refused by the name of what is wrong.
 */
#include "tests/store_postgres/site.h"

#include "src/backend/postgres/postgres.h"

#include <unistd.h>

enum { MANY = 8 };

static const char *tables(void)
{
    return value("SELECT count(*) FROM pg_tables WHERE schemaname='public' AND "
                 "tablename LIKE 'holdfast%%'");
}

TEST(the_tables_are_made_by_the_first_to_come)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_TEXT(tables(), "3");
    use(&d, "job");
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
    EXPECT_TEXT(tables(), "3");
}

TEST(the_tables_are_in_the_schema_that_is_named)
{
    DOOR(d);
    DOOR(other);

    sql("CREATE SCHEMA \"Odd name\" AUTHORIZATION " HF__POSTGRES_USER);
    EXPECT_IS(enter(&d, url_with("schema=Odd%20name")), HF_OK);
    EXPECT_IS(claim(&d, "job", NULL), HF_OK);
    EXPECT_TEXT(tables(), "0");
    EXPECT_TEXT(value("SELECT count(*) FROM \"Odd name\".holdfast_lock"), "1");
    EXPECT_IS(enter(&other, url_with("")), HF_OK);
    EXPECT_IS(claim(&other, "job", NULL), HF_OK);
    EXPECT_TEXT(tables(), "3");
}

/* ---- rights */

static void run_ddl(void)
{
    sql("%s", hf__pg_ddl(NULL));
}

static void grant(const char *user)
{
    sql("GRANT SELECT,INSERT,UPDATE,DELETE ON holdfast_lock,holdfast_beside,"
        "holdfast_ticket,holdfast_cell TO %s",
        user);
}

TEST(who_may_make_no_tables_is_told_what_helps)
{
    DOOR(d);
    char url[1024];
    const char *user = make_user("plain");

    sql("REVOKE CREATE ON SCHEMA public FROM public");
    snprintf(url, sizeof url, "%s", url_as(user));
    expect_refused(url, HF_EAUTH, "\"holdfast check --ddl\"");
    run_ddl();
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(claim(&d, "job", NULL), HF_EAUTH);
    EXPECT_HAS(d.error.text, "SELECT, INSERT, UPDATE, DELETE");
    grant(user);
    use(&d, "job");
}

TEST(what_the_ddl_makes_is_taken)
{
    DOOR(d);

    run_ddl();
    run_ddl();
    grant(HF__POSTGRES_USER);
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    use(&d, "job");
    EXPECT_HAS(hf__pg_ddl(NULL), "-- GRANT SELECT, INSERT, UPDATE, DELETE ON");
}

TEST(a_schema_that_may_not_be_used_is_told_of)
{
    char url[1100];
    const char *user = make_user("plain");

    sql("CREATE SCHEMA closed");
    snprintf(url, sizeof url, "%s?schema=closed", url_as(user));
    expect_refused(url, HF_EAUTH, "USAGE");
    snprintf(url, sizeof url, "%s?schema=none", url_as(user));
    expect_refused(url, HF_EINVAL, "CREATE SCHEMA");
}

/* ---- of another shape */

/* Change the tables, expect a refusal with these words, and drop them. */
static void expect_named(const char *change, const char *words)
{
    run_ddl();
    grant(HF__POSTGRES_USER);
    sql("%s", change);
    expect_refused(url_with(""), HF_EPROTO, words);
    sql("DROP TABLE IF EXISTS mine,holdfast_beside,holdfast_ticket,"
        "holdfast_cell CASCADE");
    sql("DROP TABLE IF EXISTS holdfast_lock");
}

TEST_WITHIN(60, a_column_of_another_type_is_named)
{
    expect_named("ALTER TABLE holdfast_lock ALTER expires TYPE int",
                 "holdfast_lock is not as Holdfast makes it: expires is "
                 "integer NOT NULL DEFAULT ..., and must be bigint NOT NULL");
    expect_named("ALTER TABLE holdfast_lock ALTER label TYPE varchar(255)",
                 "label is character varying(255)");
    expect_named("ALTER TABLE holdfast_beside ALTER fence DROP DEFAULT",
                 "fence is bigint NOT NULL, and must be bigint NOT NULL "
                 "DEFAULT 0");
    expect_named("ALTER TABLE holdfast_lock ALTER token DROP NOT NULL",
                 "token is bytea DEFAULT");
}

TEST_WITHIN(60, what_is_missing_or_too_much_is_named)
{
    expect_named("ALTER TABLE holdfast_ticket DROP note", "note is missing");
    expect_named("ALTER TABLE holdfast_lock ADD mine int NOT NULL",
                 "mine is not ours");
    expect_named("ALTER TABLE holdfast_beside DROP CONSTRAINT "
                 "holdfast_beside_pkey",
                 "its primary key must be (name_key, token)");
    expect_named("ALTER TABLE holdfast_ticket DROP CONSTRAINT "
                 "holdfast_ticket_pkey,ADD PRIMARY KEY(name_key)",
                 "its primary key must be (name_key, seq)");
    expect_named("ALTER TABLE holdfast_lock DROP CONSTRAINT "
                 "holdfast_lock_pkey,ADD PRIMARY KEY(name_key) DEFERRABLE",
                 "its primary key must be (name_key)");
}

/* Of two names one would be taken for the other. */
TEST(an_index_that_keeps_names_out_is_named)
{
    expect_named("CREATE UNIQUE INDEX odd ON holdfast_lock(token)",
                 "its index public.odd keeps out rows that differ");
}

TEST_WITHIN(60, what_is_no_plain_table_is_refused)
{
    expect_named("ALTER TABLE holdfast_lock RENAME TO mine;CREATE VIEW "
                 "holdfast_lock AS SELECT * FROM mine",
                 "it is no plain table");
    expect_named("CREATE RULE odd AS ON UPDATE TO holdfast_lock DO INSTEAD "
                 "NOTHING",
                 "rules or row security");
    expect_named("ALTER TABLE holdfast_ticket ENABLE ROW LEVEL SECURITY",
                 "rules or row security");
}

TEST(columns_and_an_index_that_do_no_harm_are_fine)
{
    DOOR(d);

    run_ddl();
    grant(HF__POSTGRES_USER);
    sql("ALTER TABLE holdfast_lock ADD mine int,ADD more int NOT NULL DEFAULT "
        "7,ADD id bigint GENERATED ALWAYS AS IDENTITY");
    sql("CREATE INDEX ON holdfast_lock(expires)");
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    use(&d, "job");
}

/* Whichever statement of its first words is refused. */
TEST(who_may_set_nothing_is_told_so)
{
    sql("REVOKE EXECUTE ON FUNCTION set_config(text,text,boolean) FROM PUBLIC");
    expect_refused(url_with(""), HF_EAUTH,
                   "permission denied for function set_config");
    expect_refused(url_with("schema=public"), HF_EAUTH,
                   "permission denied for function set_config");
}

/* What is locked is not looked at: a statement of ours meets it, and waits no
 * longer than any. */
TEST(tables_that_are_locked_keep_nobody_from_opening)
{
    DOOR(d);
    PGconn *other = stranger();

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    shut(&d);
    say(other, "BEGIN;LOCK TABLE holdfast_lock,holdfast_beside,"
               "holdfast_ticket");
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    say(other, "COMMIT");
    use(&d, "job");
    PQfinish(other);
}

/* By then the holder is on another connection, where the statements are sent
 * for the first time, and the server does not even read them: nothing is known,
 * and no lock is lost. */
TEST_WITHIN(60, a_table_that_is_locked_at_first_use_loses_nothing)
{
    DOOR(d);
    PGconn *other = stranger();
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    prepare(&b, "n", 1, 60000000);
    ask_all(&d, &b, HF__OP_ACQUIRE);
    shut(&d);
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    say(other, "BEGIN;LOCK TABLE holdfast_lock,holdfast_beside,"
               "holdfast_ticket");
    EXPECT_IS(ask(&d, &b, HF__OP_RENEW, 15000), HF_OK);
    EXPECT_SAFE_IS(count(&b, HF_LOST), 0);
    EXPECT_IS(ask(&d, &b, HF__OP_RELEASE, 15000), HF_OK);
    EXPECT_SAFE_IS(count(&b, HF_LOST), 0);
    say(other, "COMMIT");
    ask_all(&d, &b, HF__OP_RENEW);
    ask_all(&d, &b, HF__OP_RELEASE);
    PQfinish(other);
}
