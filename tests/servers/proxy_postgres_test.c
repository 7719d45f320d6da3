/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy count statements, replies, notifications and handshakes of
 * PostgreSQL as libpq does, alone and in a pipeline, and find them by what is
 * in them? What it does where it cuts, proxy_redis_test.c sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/postgres.h"
#include "tests/servers/proxy.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { URL = 512 };

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__postgres_share);
}

static struct hf__proxy *scene_proxy(void)
{
    return hf__proxy_start(hf__postgres_port(hf__postgres_shared()),
                           &hf__framing_postgres);
}

static PGconn *scene_dial(const struct hf__proxy *p, const char *user,
                          const char *options)
{
    char url[URL];

    snprintf(url, sizeof url, "postgres://%s@127.0.0.1:%d/postgres?%s", user,
             hf__proxy_port(p), options);
    return PQconnectdb(url);
}

static PGconn *scene_connect(const struct hf__proxy *p)
{
    PGconn *db = scene_dial(p, HF__POSTGRES_USER, "");

    EXPECT_IS(PQstatus(db), CONNECTION_OK);
    return db;
}

static void expect_ok(PGresult *r)
{
    EXPECT(PQresultStatus(r) == PGRES_TUPLES_OK ||
           PQresultStatus(r) == PGRES_COMMAND_OK ||
           PQresultStatus(r) == PGRES_PIPELINE_SYNC);
    PQclear(r);
}

static void expect_lost(PGconn *db, PGresult *r)
{
    EXPECT_IS(PQstatus(db), CONNECTION_BAD);
    PQclear(r);
    PQfinish(db);
}

static void expect_counts(struct hf__proxy *p, int statements, int replies)
{
    struct hf__proxy_counts c = hf__proxy_counts(p);

    EXPECT_IS(c.statements, statements);
    EXPECT_IS(c.replies, replies);
}

/* By default libpq asks for TLS first, which this server has not. */
TEST(who_is_let_in_has_shaken_hands_once)
{
    struct hf__proxy *p = scene_proxy();
    PGconn *db;

    PQfinish(scene_connect(p));
    EXPECT_IS(hf__proxy_counts(p).handshakes, 1);
    db = scene_dial(p, HF__POSTGRES_USER, "sslmode=disable");
    EXPECT_IS(PQstatus(db), CONNECTION_OK);
    PQfinish(db);
    EXPECT_IS(hf__proxy_counts(p).handshakes, 2);
    db = scene_dial(p, "nobody_known", "sslmode=disable");
    EXPECT_IS(PQstatus(db), CONNECTION_BAD);
    PQfinish(db);
    EXPECT_IS(hf__proxy_counts(p).handshakes, 3);
    expect_counts(p, 0, 0);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__HANDSHAKE,
                                               .where = HF__INSIDE,
                                               .bytes = 20});
    db = scene_dial(p, HF__POSTGRES_USER, "");
    EXPECT_IS(PQstatus(db), CONNECTION_BAD);
    PQfinish(db);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    hf__proxy_free(p);
}

TEST(statements_and_replies_are_counted)
{
    static const char *const values[] = {"7"};
    struct hf__proxy *p = scene_proxy();
    PGconn *db = scene_connect(p);

    expect_ok(PQexec(db, "SELECT generate_series(1, 1000)"));
    expect_counts(p, 1, 1);
    PQclear(PQexec(db, "SELECT 1/0"));
    PQclear(PQexec(db, ""));
    expect_ok(PQexec(db, "CREATE TEMP TABLE IF NOT EXISTS t (a INT)"));
    expect_ok(PQexec(db, "CREATE TEMP TABLE IF NOT EXISTS t (a INT)"));
    expect_counts(p, 5, 5);
    expect_ok(
        PQexecParams(db, "SELECT $1::int", 1, NULL, values, NULL, NULL, 0));
    expect_ok(PQprepare(db, "seven", "SELECT $1::int", 1, NULL));
    expect_ok(PQexecPrepared(db, "seven", 1, values, NULL, NULL, 1));
    expect_counts(p, 8, 8);
    PQfinish(db);
    EXPECT_IS(hf__proxy_counts(p).pushes, 0);
    hf__proxy_free(p);
}

static void send_three(PGconn *db)
{
    EXPECT_IS(PQenterPipelineMode(db), 1);
    for (int i = 0; i < 3; i++) {
        char sql[URL];

        snprintf(sql, sizeof sql, "SELECT %d", i);
        EXPECT_IS(PQsendQueryParams(db, sql, 0, NULL, NULL, NULL, NULL, 0), 1);
        EXPECT_IS(PQpipelineSync(db), 1);
    }
}

static void expect_answer(PGconn *db)
{
    expect_ok(PQgetResult(db));
    EXPECT(!PQgetResult(db));
    expect_ok(PQgetResult(db));
}

TEST(each_sync_of_a_pipeline_ends_a_statement)
{
    struct hf__proxy *p = scene_proxy();
    PGconn *db = scene_connect(p);

    send_three(db);
    for (int i = 0; i < 3; i++) {
        expect_answer(db);
    }
    expect_counts(p, 3, 3);
    EXPECT_IS(PQsendQueryParams(db, "SELECT 1", 0, NULL, NULL, NULL, NULL, 0),
              1);
    EXPECT_IS(PQsendFlushRequest(db), 1);
    expect_ok(PQgetResult(db));
    expect_counts(p, 3, 3);
    EXPECT_IS(PQpipelineSync(db), 1);
    EXPECT(!PQgetResult(db));
    expect_ok(PQgetResult(db));
    expect_counts(p, 4, 4);
    PQfinish(db);
    hf__proxy_free(p);
}

TEST(a_pipeline_is_cut_at_the_reply_that_is_meant)
{
    struct hf__proxy *p = scene_proxy();
    PGconn *db = scene_connect(p);

    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__REPLY,
                                               .where = HF__INSIDE,
                                               .bytes = 7,
                                               .text = "SELECT 1"});
    send_three(db);
    expect_answer(db);
    expect_lost(db, PQgetResult(db));
    expect_counts(p, 3, 1);
    EXPECT_IS(hf__proxy_counts(p).hits, 1);
    hf__proxy_free(p);
}

TEST(a_rule_finds_a_statement_by_its_text_or_name)
{
    struct hf__proxy *p = scene_proxy();
    PGconn *db = scene_connect(p);

    expect_ok(PQprepare(db, "one", "SELECT 1", 0, NULL));
    expect_ok(PQprepare(db, "two", "SELECT 2", 0, NULL));
    hf__proxy_rule(
        p, &(struct hf__proxy_rule){.what = HF__STATEMENT, .text = "two"});
    expect_ok(PQexecPrepared(db, "one", 0, NULL, NULL, NULL, 0));
    expect_lost(db, PQexecPrepared(db, "two", 0, NULL, NULL, NULL, 0));
    db = scene_connect(p);
    hf__proxy_rule(p, &(struct hf__proxy_rule){.what = HF__REPLY,
                                               .where = HF__AFTER,
                                               .text = "SELECT 'here'"});
    expect_ok(PQexec(db, "SELECT 'there'"));
    expect_ok(PQexec(db, "SELECT 'here'"));
    EXPECT_IS(hf__proxy_counts(p).hits, 2);
    expect_lost(db, PQexec(db, "SELECT 'there'"));
    hf__proxy_free(p);
}

/* False: the connection ended. */
static bool await_notification(PGconn *db)
{
    PGnotify *n;

    while (!(n = PQnotifies(db))) {
        poll(&(struct pollfd){.fd = PQsocket(db), .events = POLLIN}, 1, -1);
        if (!PQconsumeInput(db)) {
            return false;
        }
    }
    PQfreemem(n);
    return true;
}

TEST(a_notification_is_a_push_and_is_cut_by_its_text)
{
    const struct hf__postgres *s = hf__postgres_shared();
    struct hf__proxy *p = scene_proxy();
    PGconn *db = scene_connect(p);

    expect_ok(PQexec(db, "LISTEN bell"));
    hf__postgres_sql(s, NULL, "NOTIFY bell, 'first'");
    EXPECT(await_notification(db));
    EXPECT_IS(hf__proxy_counts(p).pushes, 1);
    expect_ok(PQexec(db, "NOTIFY bell, 'my own'"));
    EXPECT(await_notification(db));
    EXPECT_IS(hf__proxy_counts(p).pushes, 1);
    expect_counts(p, 2, 2);
    hf__proxy_rule(
        p, &(struct hf__proxy_rule){.what = HF__PUSH, .text = "second"});
    hf__postgres_sql(s, NULL, "NOTIFY bell, 'first'");
    EXPECT(await_notification(db));
    hf__postgres_sql(s, NULL, "NOTIFY bell, 'second'");
    EXPECT(!await_notification(db));
    PQfinish(db);
    EXPECT_IS(hf__proxy_counts(p).pushes, 2);
    hf__proxy_free(p);
}

TEST_WITHIN(60, what_is_behind_tls_passes_as_bytes)
{
    const struct hf__postgres_opts opts = {.with_tls = true};
    struct hf__postgres *s = hf__postgres_start(&opts);
    struct hf__proxy *p =
        hf__proxy_start(hf__postgres_port(s), &hf__framing_postgres);
    PGconn *db = scene_connect(p);

    EXPECT(PQsslInUse(db));
    expect_ok(PQexec(db, "SELECT generate_series(1, 1000)"));
    expect_counts(p, 0, 0);
    PQfinish(db);
    hf__proxy_free(p);
    hf__postgres_free(s);
}

/* Who ends another's statement sends no startup and gets no answer. */
TEST(a_statement_is_ended_by_the_proxy_too)
{
    struct hf__proxy *p = scene_proxy();
    PGconn *db = scene_connect(p);
    PGcancel *cancel = PQgetCancel(db);
    char why[256];
    PGresult *r;

    EXPECT(cancel);
    EXPECT_IS(PQsendQuery(db, "SELECT pg_sleep(600)"), 1);
    UNTIL(hf__postgres_value(hf__postgres_shared(), NULL,
                             "SELECT count(*) FROM pg_stat_activity"
                             " WHERE wait_event = 'PgSleep'")[0] == '1');
    EXPECT_IS(PQcancel(cancel, why, sizeof why), 1);
    r = PQgetResult(db);
    EXPECT_TEXT(PQresultErrorField(r, PG_DIAG_SQLSTATE), "57014");
    PQclear(r);
    EXPECT(!PQgetResult(db));
    expect_ok(PQexec(db, "SELECT 1"));
    expect_counts(p, 2, 2);
    PQfreeCancel(cancel);
    PQfinish(db);
    hf__proxy_free(p);
}
