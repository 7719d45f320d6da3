/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what mariadb.h says: an ordinary user, nothing left when
 * its warden is killed, and on the server that all tests of a program share
 * nothing of the test before? Also what happens where a server is missing.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_private.h"
#include "tests/servers/servers.h"

#include <mysql.h>
#include <mysqld_error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The ordinary user's connection, by TCP. */
static MYSQL *connect_user(const struct hf__mariadb *m, const char *database)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db);
    if (!mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                            HF__MARIADB_PASSWORD, database,
                            (unsigned)hf__mariadb_port(m), NULL, 0)) {
        printf("%s\n", mysql_error(db));
        mysql_close(db);
        return NULL;
    }
    return db;
}

static unsigned query(MYSQL *db, const char *sql)
{
    if (mysql_query(db, sql) == 0) {
        mysql_free_result(mysql_store_result(db));
    }
    return mysql_errno(db);
}

TEST_WITHIN(60, the_user_is_an_ordinary_one)
{
    struct hf__mariadb *m = hf__mariadb_start(NULL);
    char name[HF__MARIADB_NAME];
    char other[HF__MARIADB_NAME];
    MYSQL *db;

    hf__mariadb_database(m, name);
    hf__mariadb_database(m, other);
    EXPECT(strcmp(name, other) != 0);
    hf__mariadb_sql(m, "CREATE DATABASE hfx");
    db = connect_user(m, name);
    EXPECT(db);
    EXPECT_IS(query(db, "CREATE TABLE t (a INT) ENGINE=InnoDB"), 0);
    EXPECT_IS(query(db, "INSERT INTO t VALUES (7)"), 0);
    EXPECT_IS(query(db, "CREATE DATABASE hf_more"), 0);
    EXPECT_IS(query(db, "CREATE TABLE hfx.t (a INT)"),
              ER_TABLEACCESS_DENIED_ERROR);
    EXPECT_IS(query(db, "CREATE DATABASE more"), ER_DBACCESS_DENIED_ERROR);
    EXPECT_IS(query(db, "SET GLOBAL max_connections = 10"),
              ER_SPECIFIC_ACCESS_DENIED_ERROR);
    EXPECT_TEXT(hf__mariadb_value(m, "SELECT a FROM %s.t", name), "7");
    mysql_close(db);
    hf__mariadb_free(m);
}

/* The system may have a MariaDB of its own, with a user of its own. */
TEST_WITHIN(60, the_first_data_are_made_without_touching_the_system)
{
    struct hf__mariadb *m;
    struct stat before = {0};
    struct stat after = {0};
    char path[1024];

    m = hf__mariadb_start(NULL);
    snprintf(path, sizeof path, "%s/auth_pam_tool_dir",
             hf__mariadb_value(m, "SELECT @@plugin_dir"));
    hf__mariadb_free(m);
    stat(path, &before);
    setenv("HOLDFAST_TEST_TEMPLATES", hf__test_folder(), 1);
    m = hf__mariadb_start(NULL);
    EXPECT_TEXT(hf__mariadb_value(m, "SELECT 1"), "1");
    hf__mariadb_free(m);
    stat(path, &after);
    EXPECT_IS(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
    EXPECT_IS(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

/* The harness kills what a test past its limit leaves: the warden too. */
TEST_WITHIN(60, a_warden_that_is_killed_takes_the_server_along)
{
    struct hf__mariadb *m = hf__mariadb_start(NULL);
    char folder[256];
    char path[64];
    int warden = 0;
    FILE *f;

    snprintf(folder, sizeof folder, "%s", m->folder);
    snprintf(path, sizeof path, "/proc/%d/stat", hf__mariadb_pid(m));
    f = fopen(path, "re");
    EXPECT(f);
    EXPECT_IS(fscanf(f, "%*d (%*[^)]%*[)] %*c %d", &warden), 1);
    fclose(f);
    EXPECT_MORE(warden, 1);
    EXPECT_IS(kill(warden, SIGKILL), 0);
    EXPECT(hf__servers_is_gone(hf__mariadb_pid(m)));
    /* The next one cleans up; or one of another test's has, meanwhile. */
    hf__mariadb_free(hf__mariadb_start(NULL));
    EXPECT(access(folder, F_OK) < 0);
    hf__mariadb_free(m);
}

/* ---- the server that the tests of a program share */

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__mariadb_share);
}

static const char *database(char url[HF__MARIADB_URL])
{
    hf__mariadb_test_url(url, HF__MARIADB_URL);
    return strrchr(url, '/') + 1;
}

static const char *count(const char *what, const char *where)
{
    return hf__mariadb_value(hf__mariadb_shared(),
                             "SELECT COUNT(*) FROM information_schema.%s "
                             "WHERE %s",
                             what, where);
}

static _Noreturn void read_for_long(const char *name)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(mysql_real_connect(
        db, "127.0.0.1", HF__MARIADB_USER, HF__MARIADB_PASSWORD, name,
        (unsigned)hf__mariadb_port(hf__mariadb_shared()), NULL, 0));
    mysql_query(db, "SELECT SLEEP(600) FROM t");
    _exit(0);
}

/* And kills a client whose statement the server does not stop for that, so
 * that the table stays locked. */
TEST(the_next_test_has_another_one_and_the_first_is_gone)
{
    char url[HF__MARIADB_URL];
    const char *name = database(url);
    const struct hf__mariadb *m = hf__mariadb_shared();
    pid_t pid;

    EXPECT_TEXT(count("tables", "table_schema LIKE 'hf\\_test\\_%'"), "0");
    EXPECT_TEXT(count("schemata", "schema_name LIKE 'hf\\_test\\_%'"), "1");
    hf__mariadb_sql(m, "CREATE TABLE %s.t (a INT) ENGINE=InnoDB", name);
    hf__mariadb_sql(m, "INSERT INTO %s.t VALUES (1)", name);
    pid = fork();
    if (pid == 0) {
        read_for_long(name);
    }
    UNTIL(strcmp(count("processlist", "state = 'User sleep'"), "1") == 0);
    EXPECT_IS(kill(pid, SIGKILL), 0);
    EXPECT_IS(waitpid(pid, NULL, 0), pid);
    EXPECT_TEXT(count("processlist", "state = 'User sleep'"), "1");
}

/* The server itself would look after the client every five seconds only. */
TEST(what_a_killed_client_locked_goes_too)
{
    char url[HF__MARIADB_URL];
    int64_t start = hf__test_now_ms();

    database(url);
    EXPECT_LESS(hf__test_now_ms() - start, 4000);
    EXPECT_TEXT(count("schemata", "schema_name LIKE 'hf\\_test\\_%'"), "1");
}

/* The outcome that a test without its server gets. */
static int outcome_when_missing(const char *ci)
{
    struct hf__test_page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();

    if (pid == 0) {
        hf__test_page = page;
        setenv("CI", ci, 1);
        hf__servers_missing("no-such-server");
    }
    EXPECT_IS(waitpid(pid, NULL, 0), pid);
    EXPECT_HAS(page->why, "no-such-server is not installed");
    return page->outcome;
}

TEST(a_missing_server_is_skipped_but_fails_in_ci)
{
    EXPECT_IS(outcome_when_missing(""), HF__TEST_SKIPPED);
    EXPECT_IS(outcome_when_missing("true"), HF__TEST_FAILED);
}
