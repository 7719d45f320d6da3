/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what postgres.h says: an ordinary role, data that stay,
 * and on the server that all tests of a program share nothing of the test
 * before?
 */
#include "tests/lib/test.h"
#include "tests/servers/postgres.h"
#include "tests/servers/postgres_private.h"

#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { URL = 1024 };

/* NULL: it is not let in. */
static PGconn *connect_to(const char *url)
{
    PGconn *db = PQconnectdb(url);

    if (PQstatus(db) != CONNECTION_OK) {
        printf("%s\n", PQerrorMessage(db));
        PQfinish(db);
        return NULL;
    }
    return db;
}

/* "", or the error. */
static const char *query(PGconn *db, const char *sql)
{
    static char state[8];
    PGresult *rows = PQexec(db, sql);
    const char *told = PQresultErrorField(rows, PG_DIAG_SQLSTATE);

    snprintf(state, sizeof state, "%s", told ? told : "");
    PQclear(rows);
    return state;
}

TEST_WITHIN(60, the_role_is_an_ordinary_one)
{
    struct hf__postgres *s = hf__postgres_start(NULL);
    char name[HF__POSTGRES_NAME];
    char other[HF__POSTGRES_NAME];
    char url[HF__POSTGRES_URL];
    PGconn *db;

    hf__postgres_database(s, name);
    hf__postgres_database(s, other);
    EXPECT(strcmp(name, other) != 0);
    hf__postgres_url(s, name, url, sizeof url);
    db = connect_to(url);
    EXPECT(db);
    EXPECT_TEXT(query(db, "CREATE TABLE t (a INT)"), "");
    EXPECT_TEXT(query(db, "INSERT INTO t VALUES (7)"), "");
    EXPECT_TEXT(query(db, "CREATE DATABASE more"), "42501");
    EXPECT_TEXT(query(db, "ALTER SYSTEM SET fsync = on"), "42501");
    EXPECT_TEXT(hf__postgres_value(s, name, "SELECT a FROM t"), "7");
    EXPECT_TEXT(hf__postgres_try(s, other, "SELECT a FROM t"), "42P01");
    PQfinish(db);
    hf__postgres_free(s);
}

TEST_WITHIN(60, a_password_is_asked_for_where_one_shall_be)
{
    const struct hf__postgres_opts opts = {.with_password = true};
    struct hf__postgres *s = hf__postgres_start(&opts);
    char url[HF__POSTGRES_URL];
    PGconn *db;

    hf__postgres_fresh_url(s, url, sizeof url);
    db = connect_to(url);
    EXPECT(db);
    PQfinish(db);
    EXPECT_HAS(hf__postgres_value(s, NULL,
                                  "SELECT rolpassword FROM pg_authid WHERE "
                                  "rolname = '" HF__POSTGRES_USER "'"),
               "SCRAM-SHA-256");
    *strstr(url, HF__POSTGRES_PASSWORD) = 'K';
    EXPECT(!connect_to(url));
    hf__postgres_free(s);
}

TEST_WITHIN(60, the_administrator_comes_by_the_socket_only)
{
    struct hf__postgres *s = hf__postgres_start(NULL);
    char url[HF__POSTGRES_URL];

    snprintf(url, sizeof url,
             "postgres://" HF__POSTGRES_ADMIN "@127.0.0.1:%d/postgres",
             hf__postgres_port(s));
    EXPECT(!connect_to(url));
    EXPECT_TEXT(hf__postgres_value(s, NULL,
                                   "SELECT rolsuper FROM pg_roles "
                                   "WHERE rolname = current_user"),
                "t");
    hf__postgres_free(s);
}

TEST_WITHIN(60, data_stay_and_settings_are_as_they_are_told)
{
    static const char *const first[] = {"work_mem = 1MB", NULL};
    static const char *const second[] = {"work_mem = 2MB", "fsync = on", NULL};
    const struct hf__postgres_opts opts = {.extra = first};
    struct hf__postgres *s = hf__postgres_start(&opts);
    int port = hf__postgres_port(s);

    EXPECT_TEXT(hf__postgres_value(s, NULL, "SHOW work_mem"), "1MB");
    EXPECT_TEXT(hf__postgres_value(s, NULL, "SHOW fsync"), "off");
    hf__postgres_sql(s, NULL, "CREATE TABLE t AS SELECT 1 AS a");
    hf__postgres_stop(s);
    EXPECT_TEXT(hf__postgres_try(s, NULL, "SELECT 1"), "08006");
    hf__postgres_restart(s, second);
    EXPECT_TEXT(hf__postgres_value(s, NULL, "SHOW work_mem"), "2MB");
    EXPECT_TEXT(hf__postgres_value(s, NULL, "SHOW fsync"), "on");
    hf__postgres_sql(s, NULL, "INSERT INTO t VALUES (2)");
    hf__postgres_kill(s);
    hf__postgres_restart(s, NULL);
    EXPECT_TEXT(hf__postgres_value(s, NULL, "SELECT sum(a) FROM t"), "3");
    EXPECT_TEXT(hf__postgres_value(s, NULL, "SHOW fsync"), "on");
    EXPECT_IS(hf__postgres_port(s), port);
    hf__postgres_free(s);
}

TEST_WITHIN(60, a_stranger_is_of_another_system)
{
    static const char system[] =
        "SELECT system_identifier FROM pg_control_system()";
    const struct hf__postgres_opts opts = {.is_stranger = true};
    struct hf__postgres *s = hf__postgres_start(NULL);
    struct hf__postgres *stranger = hf__postgres_start(&opts);
    char of_template[HF__POSTGRES_NAME];
    char url[HF__POSTGRES_URL];

    snprintf(of_template, sizeof of_template, "%s",
             hf__postgres_value(s, NULL, system));
    EXPECT(strcmp(hf__postgres_value(stranger, NULL, system), of_template) !=
           0);
    hf__postgres_fresh_url(stranger, url, sizeof url);
    PQfinish(connect_to(url));
    hf__postgres_free(s);
    hf__postgres_free(stranger);
}

static bool comes_in(const struct hf__postgres *s, const char *ca)
{
    char url[URL];
    PGconn *db;
    bool has_tls;

    hf__postgres_url(s, "postgres", url, sizeof url);
    snprintf(url + strlen(url), sizeof url - strlen(url),
             "?sslmode=verify-full&sslrootcert=%s",
             hf__postgres_tls_file(s, ca));
    db = connect_to(url);
    has_tls = db && PQsslInUse(db);
    PQfinish(db);
    return has_tls;
}

TEST_WITHIN(60, who_wants_tls_has_it_by_a_certificate_that_can_be_verified)
{
    static const char *const hba[] = {"hostnossl all bob all reject", NULL};
    const struct hf__postgres_opts opts = {.with_tls = true, .hba = hba};
    struct hf__postgres *s = hf__postgres_start(&opts);
    char url[HF__POSTGRES_URL];
    PGconn *db;

    EXPECT(comes_in(s, "ca.crt"));
    EXPECT(!comes_in(s, "other-ca.crt"));
    hf__postgres_sql(s, NULL, "CREATE ROLE bob LOGIN");
    snprintf(url, sizeof url,
             "postgres://bob@127.0.0.1:%d/postgres?sslmode=disable",
             hf__postgres_port(s));
    EXPECT(!connect_to(url));
    url[strcspn(url, "?")] = '\0';
    db = connect_to(url);
    EXPECT(db);
    PQfinish(db);
    hf__postgres_free(s);
}

/* ---- the server that the tests of a program share */

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__postgres_share);
}

static const char *databases(void)
{
    return hf__postgres_value(hf__postgres_shared(), NULL,
                              "SELECT count(*) FROM pg_database WHERE datname"
                              " LIKE 'hf\\_test\\_%%'");
}

static const char *sleepers(void)
{
    return hf__postgres_value(hf__postgres_shared(), NULL,
                              "SELECT count(*) FROM pg_stat_activity"
                              " WHERE wait_event = 'PgSleep'");
}

static _Noreturn void lock_for_long(const char *url)
{
    PGconn *db = connect_to(url);

    query(db, "CREATE TABLE t (a INT)");
    query(db, "BEGIN; LOCK t; SELECT pg_sleep(600)");
    _exit(0);
}

/* And kills a client whose statement the server does not stop for that. */
TEST(the_next_test_has_another_one_and_the_first_is_gone)
{
    char url[HF__POSTGRES_URL];
    char again[HF__POSTGRES_URL];
    pid_t pid;

    hf__postgres_test_url(url, sizeof url);
    hf__postgres_test_url(again, sizeof again);
    EXPECT_TEXT(url, again);
    EXPECT_TEXT(databases(), "1");
    pid = fork();
    if (pid == 0) {
        lock_for_long(url);
    }
    UNTIL(strcmp(sleepers(), "1") == 0);
    EXPECT_IS(kill(pid, SIGKILL), 0);
    EXPECT_IS(waitpid(pid, NULL, 0), pid);
    EXPECT_TEXT(sleepers(), "1");
}

TEST(what_a_client_left_goes_too)
{
    char url[HF__POSTGRES_URL];
    PGconn *db;

    hf__postgres_test_url(url, sizeof url);
    EXPECT_TEXT(databases(), "1");
    EXPECT_TEXT(sleepers(), "0");
    db = connect_to(url);
    EXPECT(db);
    EXPECT_TEXT(query(db, "CREATE TABLE t (a INT)"), "");
    PQfinish(db);
}
