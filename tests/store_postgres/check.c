/* SPDX-License-Identifier: MIT */
/*
 * check() and the grade: what is found is said, and what limits a promise is
 * warned of by the name of its setting.
 */
#include "tests/servers/pgbouncer.h"
#include "tests/servers/postgres_pair.h"
#include "tests/store_postgres/site.h"
#include "tests/store_server/cell.h"

#include "src/backend/postgres/postgres.h"

#include <stdlib.h>
#include <string.h>

static hf_verdict verdict_on(struct door *d, const char *name)
{
    hf_verdict verdict = HF_UNFIT;

    EXPECT(*finding(d, name, &verdict) != '\0');
    return verdict;
}

/* A server with these settings. */
struct guest {
    struct hf__postgres *server;
    char url[HF__POSTGRES_URL];
};

static void begin_guest(struct guest *g, const char *const *extra)
{
    const struct hf__postgres_opts opts = {.extra = extra};

    g->server = hf__postgres_start(&opts);
    hf__postgres_fresh_url(g->server, g->url, sizeof g->url);
}

/* Its grade, and the verdict on `name`. */
static void expect_grade(const char *const *extra, char grade, const char *name)
{
    struct guest g;
    DOOR(d);

    begin_guest(&g, extra);
    EXPECT_IS(enter(&d, g.url), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, grade);
    EXPECT_IS(verdict_on(&d, name), HF_WARN);
    use(&d, "job");
    shut(&d);
    hf__postgres_free(g.server);
}

TEST_WITHIN(60, a_sound_server_is_fine)
{
    static const char *const extra[] = {"fsync = on", NULL};
    static const char *const names[] = {"version",
                                        "user",
                                        "schema",
                                        "timeline",
                                        "create",
                                        "owner",
                                        "privileges",
                                        "fsync",
                                        "tables",
                                        "full_page_writes",
                                        "standbys",
                                        "autovacuum",
                                        "old_snapshots",
                                        "connections",
                                        "tls",
                                        "max_locks_per_transaction",
                                        "connection",
                                        "waiting",
                                        "clock_ahead_of_ours"};
    struct guest g;
    DOOR(d);

    begin_guest(&g, extra);
    EXPECT_IS(enter(&d, g.url), HF_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT_IS(verdict_on(&d, names[i]), HF_FINE);
    }
    EXPECT_TEXT(finding(&d, "version", NULL),
                hf__postgres_value(g.server, NULL, "SHOW server_version"));
    EXPECT_TEXT(finding(&d, "waiting", NULL), "woken by advisory locks");
    EXPECT_TEXT(finding(&d, "schema", NULL), "public");
    EXPECT_LESS(
        labs(strtol(finding(&d, "clock_ahead_of_ours", NULL), NULL, 10)), 1000);
    EXPECT_IS(hf__conn_server_info(&d.conn).reach, HF_REACH_HOSTS);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'B');
    use(&d, "job");
    shut(&d);
    hf__postgres_free(g.server);
}

TEST_WITHIN(60, a_server_that_forgets_is_volatile)
{
    static const char *const lazy[] = {"fsync = off", NULL};
    static const char *const torn[] = {"fsync = on", "full_page_writes = off",
                                       NULL};

    expect_grade(lazy, 'D', "fsync");
    expect_grade(torn, 'D', "full_page_writes");
}

TEST_WITHIN(60, what_makes_it_slow_or_small_is_warned_of)
{
    static const char *const extra[] = {"fsync = on", "autovacuum = off",
                                        "max_locks_per_transaction = 20", NULL};

    expect_grade(extra, 'B', "autovacuum");
    expect_grade(extra, 'B', "max_locks_per_transaction");
}

/* The sessions of others count too. */
TEST_WITHIN(60, few_connections_left_are_warned_of)
{
    static const char *const extra[] = {"max_connections = 14", NULL};
    struct door doors[10] = {0};
    struct guest g;

    begin_guest(&g, extra);
    for (int i = 0; i < 10; i++) {
        EXPECT_IS(enter(&doors[i], g.url), HF_OK);
    }
    EXPECT_IS(verdict_on(&doors[0], "connections"), HF_WARN);
    for (int i = 0; i < 10; i++) {
        shut(&doors[i]);
    }
    hf__postgres_free(g.server);
}

TEST_WITHIN(60, a_standby_that_is_not_waited_for_has_a_lower_grade)
{
    struct hf__postgres_pair *p = hf__postgres_pair_start(NULL);
    const struct hf__postgres *primary = hf__postgres_pair_node(p, 0);
    char url[HF__POSTGRES_URL];
    DOOR(d);
    hf_verdict verdict;

    hf__postgres_sql(primary, NULL, "ALTER SYSTEM SET fsync=on");
    hf__postgres_sql(primary, NULL, "SELECT pg_reload_conf()");
    hf__postgres_fresh_url(primary, url, sizeof url);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'C');
    EXPECT_TEXT(finding(&d, "standbys", &verdict),
                "1 connected, none is waited for");
    EXPECT_IS(verdict, HF_WARN);
    hf__postgres_pair_set_synchronous(p, 0, true);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'B');
    EXPECT_HAS(finding(&d, "standbys", &verdict), "1 connected, waited for: ");
    EXPECT_IS(verdict, HF_FINE);
    use(&d, "job");
    shut(&d);
    hf__postgres_pair_free(p);
}

TEST_WITHIN(60, a_pooler_is_told_of_and_serves)
{
    struct hf__pgbouncer *pooler;
    char url[HF__POSTGRES_URL];
    DOOR(d);
    hf_verdict verdict;

    pooler = hf__pgbouncer_start(server(), "transaction", NULL);
    hf__pgbouncer_url(pooler, database(), url, sizeof url);
    EXPECT_IS(enter(&d, url), HF_OK);
    EXPECT_TEXT(finding(&d, "connection", &verdict), "a pooler's");
    EXPECT_IS(verdict, HF_WARN);
    EXPECT_TEXT(finding(&d, "waiting", NULL), "by polling");
    EXPECT_TEXT(finding(&d, "schema", NULL), "public");
    use(&d, "job");
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    EXPECT_IS(put(&d, "stock", told(), "nine"), HF_OK);
    EXPECT_IS(delete_cell(&d, "stock", told()), HF_OK);
    EXPECT_IS(clean_cells(&d, 0), 1);
    shut(&d);
    hf__pgbouncer_free(pooler);
}

TEST(tables_that_a_crash_empties_are_volatile)
{
    DOOR(d);
    hf_verdict verdict;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("ALTER TABLE holdfast_beside SET UNLOGGED");
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'D');
    EXPECT_TEXT(finding(&d, "tables", &verdict), "UNLOGGED: holdfast_beside");
    EXPECT_IS(verdict, HF_WARN);
    sql("ALTER TABLE holdfast_beside SET LOGGED");
    EXPECT_IS(verdict_on(&d, "tables"), HF_FINE);
}

/* Until the last of the tables is there, which is made at the first cell. */
TEST(a_schema_where_everybody_makes_things_is_warned_of)
{
    DOOR(d);

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(verdict_on(&d, "create"), HF_FINE);
    sql("GRANT CREATE ON SCHEMA public TO PUBLIC");
    EXPECT_IS(verdict_on(&d, "create"), HF_WARN);
    EXPECT_TEXT(finding(&d, "create", NULL), "everybody may make things there");
    EXPECT_IS(put(&d, "stock", 0, "ten"), HF_OK);
    EXPECT_IS(verdict_on(&d, "create"), HF_FINE);
}

TEST(tables_that_a_stranger_has_made_are_warned_of)
{
    DOOR(d);
    const char *user = make_user("mallory");
    hf_verdict verdict;

    sql("GRANT CREATE ON SCHEMA public TO PUBLIC");
    sql("SET ROLE %s;%s;GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC",
        user, hf__pg_ddl(NULL));
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_TEXT(finding(&d, "owner", &verdict), user);
    EXPECT_IS(verdict, HF_WARN);
    sql("REASSIGN OWNED BY %s TO CURRENT_USER", user);
    EXPECT_IS(verdict_on(&d, "owner"), HF_FINE);
}

TEST(a_user_who_may_only_read_is_unfit)
{
    DOOR(d);
    const char *user = make_user("reader");
    hf_verdict verdict;

    sql("%s", hf__pg_ddl(NULL));
    sql("GRANT SELECT ON holdfast_lock,holdfast_beside,holdfast_ticket TO %s",
        user);
    EXPECT_IS(enter(&d, url_as(user)), HF_OK);
    EXPECT_HAS(finding(&d, "privileges", &verdict),
               "no UPDATE on holdfast_lock");
    EXPECT_IS(verdict, HF_UNFIT);
    EXPECT_TEXT(finding(&d, "create", NULL), "none, and the tables are there");
}

/* Of somebody else, of whom it is not shown since when it is open. */
TEST_WITHIN(60, what_keeps_old_rows_is_warned_of)
{
    DOOR(d);
    hf_verdict verdict;
    PGconn *old = PQconnectdb(url_as(make_user("old")));

    EXPECT_IS(PQstatus(old), CONNECTION_OK);
    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    EXPECT_IS(verdict_on(&d, "old_snapshots"), HF_FINE);
    say(old, "BEGIN ISOLATION LEVEL REPEATABLE READ;SELECT 1");
    EXPECT_IS(verdict_on(&d, "old_snapshots"), HF_FINE);
    sql("CREATE TEMP TABLE t(); DO $$ BEGIN FOR i IN 1..10010 LOOP BEGIN "
        "INSERT INTO t DEFAULT VALUES; EXCEPTION WHEN division_by_zero THEN "
        "END; END LOOP; END $$");
    EXPECT_HAS(finding(&d, "old_snapshots", &verdict), "process ");
    EXPECT_IS(verdict, HF_WARN);
    say(old, "COMMIT");
    EXPECT_IS(verdict_on(&d, "old_snapshots"), HF_FINE);
    PQfinish(old);
}
