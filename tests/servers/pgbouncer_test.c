/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what pgbouncer.h says: a pooler whose mode tells which
 * session of the server a client has, and which comes back after its end?
 */
#include "tests/lib/test.h"
#include "tests/servers/pgbouncer.h"
#include "tests/servers/postgres.h"

#include <libpq-fe.h>
#include <string.h>

enum { VALUE = 32 };

static PGconn *connect_by(const struct hf__pgbouncer *b, const char *database)
{
    char url[HF__POSTGRES_URL];
    PGconn *db;

    hf__pgbouncer_url(b, database, url, sizeof url);
    db = PQconnectdb(url);
    EXPECT_IS(PQstatus(db), CONNECTION_OK);
    return db;
}

/* Its first value, or the error. */
static const char *ask(PGconn *db, const char *sql)
{
    static char value[VALUE];
    PGresult *r = PQexec(db, sql);
    const char *told = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    strncpy(value,
            told               ? told
            : PQntuples(r) > 0 ? PQgetvalue(r, 0, 0)
                               : "",
            VALUE - 1);
    PQclear(r);
    return value;
}

/* Two clients, of which the first has set something. */
static bool shares_a_session(const struct hf__postgres *s, const char *mode)
{
    struct hf__pgbouncer *b = hf__pgbouncer_start(s, mode, NULL);
    PGconn *first = connect_by(b, "postgres");
    PGconn *second = connect_by(b, "postgres");
    bool shares;

    ask(first, "SET my.own = 'first'");
    EXPECT_TEXT(ask(first, "SELECT current_setting('my.own', true)"), "first");
    shares = strcmp(ask(second, "SELECT current_setting('my.own', true)"),
                    "first") == 0;
    PQfinish(first);
    PQfinish(second);
    hf__pgbouncer_free(b);
    return shares;
}

TEST_WITHIN(60, the_mode_says_for_how_long_a_client_has_a_session)
{
    struct hf__postgres *s = hf__postgres_start(NULL);

    EXPECT(!shares_a_session(s, "session"));
    EXPECT(shares_a_session(s, "transaction"));
    EXPECT(shares_a_session(s, "statement"));
    hf__postgres_free(s);
}

TEST_WITHIN(60, it_knows_the_password_and_takes_settings)
{
    static const char *const one[] = {"default_pool_size = 1",
                                      "query_wait_timeout = 1", NULL};
    const struct hf__postgres_opts opts = {.with_password = true};
    struct hf__postgres *s = hf__postgres_start(&opts);
    struct hf__pgbouncer *b = hf__pgbouncer_start(s, "session", one);
    PGconn *first = connect_by(b, "postgres");
    PGconn *second = connect_by(b, "postgres");

    EXPECT_TEXT(ask(first, "SELECT current_user"), HF__POSTGRES_USER);
    ask(second, "SELECT 1");
    EXPECT_HAS(PQerrorMessage(second), "query_wait_timeout");
    PQfinish(first);
    PQfinish(second);
    hf__pgbouncer_free(b);
    hf__postgres_free(s);
}

TEST_WITHIN(60, it_is_killed_and_comes_back_at_its_port)
{
    struct hf__postgres *s = hf__postgres_start(NULL);
    struct hf__pgbouncer *b = hf__pgbouncer_start(s, "transaction", NULL);
    PGconn *db = connect_by(b, "postgres");

    EXPECT_TEXT(ask(db, "SELECT 1"), "1");
    hf__pgbouncer_kill(b);
    ask(db, "SELECT 1");
    EXPECT_IS(PQstatus(db), CONNECTION_BAD);
    hf__pgbouncer_restart(b);
    PQreset(db);
    EXPECT_TEXT(ask(db, "SELECT 1"), "1");
    PQfinish(db);
    hf__pgbouncer_free(b);
    hf__postgres_free(s);
}
