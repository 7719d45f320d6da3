/* SPDX-License-Identifier: MIT */
/*
 * Does the fixture do what mariadb.h says: a server that answers, an ordinary
 * user, and nothing left when its warden is killed? That it is started again,
 * with_mariadb_test.py sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/servers.h"

#include <mysql.h>
#include <mysqld_error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

TEST_WITHIN(60, a_server_starts_answers_and_leaves_nothing)
{
    int64_t start;
    struct hf__mariadb *m;
    char folder[256];
    pid_t pid;

    hf__mariadb_free(hf__mariadb_start(NULL)); /* with the template */
    start = hf__test_now_ms();
    m = hf__mariadb_start(NULL);
    printf("%lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT_TEXT(hf__mariadb_value(m, "SELECT %d + %d", 2, 3), "5");
    EXPECT_TEXT(hf__mariadb_value(m, "SELECT NULL"), "");
    EXPECT_HAS(hf__mariadb_value(m, "SELECT @@tmpdir"), hf__mariadb_folder(m));
    EXPECT_HAS(hf__mariadb_value(m, "SELECT @@datadir"), hf__mariadb_folder(m));
    snprintf(folder, sizeof folder, "%s", hf__mariadb_folder(m));
    pid = hf__mariadb_pid(m);
    start = hf__test_now_ms();
    hf__mariadb_free(m);
    printf("ended in %lld ms\n", (long long)(hf__test_now_ms() - start));
    EXPECT(access(folder, F_OK) < 0);
    EXPECT(kill(pid, 0) < 0);
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

TEST_WITHIN(60, the_administrator_comes_by_the_socket_only)
{
    struct hf__mariadb *m = hf__mariadb_start(NULL);
    MYSQL *db = mysql_init(NULL);

    EXPECT(!mysql_real_connect(db, "127.0.0.1", "admin", "by-the-socket-only",
                               NULL, (unsigned)hf__mariadb_port(m), NULL, 0));
    EXPECT_IS(mysql_errno(db), ER_ACCESS_DENIED_ERROR);
    mysql_close(db);
    db = mysql_init(NULL);
    EXPECT(!mysql_real_connect(db, "127.0.0.1", "root", "", NULL,
                               (unsigned)hf__mariadb_port(m), NULL, 0));
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

    snprintf(folder, sizeof folder, "%s", hf__mariadb_folder(m));
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
