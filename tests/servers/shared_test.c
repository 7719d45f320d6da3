/* SPDX-License-Identifier: MIT */
/*
 * The server that all tests of a program share: each test finds a database of
 * its own, the same one in each of its processes and threads, and what the
 * test before left is gone. Also what happens where a server is missing.
 */
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/servers.h"

#include <mysql.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void see_same(void *url)
{
    char own[HF__MARIADB_URL];

    database(own);
    EXPECT_TEXT(own, (const char *)url);
}

TEST(each_process_and_thread_of_a_test_has_the_same_database)
{
    char url[HF__MARIADB_URL];
    const char *name = database(url);
    struct hf__test_thread *thread;
    pid_t pid = fork();

    if (pid == 0) {
        see_same(url);
        _exit(0);
    }
    EXPECT_IS(hf__test_exit_code(pid), 0);
    thread = hf__test_start(see_same, url);
    hf__test_join(thread);
    hf__mariadb_sql(hf__mariadb_shared(), "CREATE TABLE %s.t (a INT)", name);
    database(url);
    EXPECT_TEXT(count("tables", "table_schema LIKE 'hf\\_test\\_%'"), "1");
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
    while (strcmp(count("processlist", "state = 'User sleep'"), "1") != 0) {
        hf__test_pause_ms(5);
    }
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

TEST(programs_are_found_by_their_name)
{
    char path[HF__SERVERS_PATH];

    EXPECT(hf__servers_find("sh", path, sizeof path));
    EXPECT_IS(access(path, X_OK), 0);
    EXPECT(!hf__servers_find("no-such-server", path, sizeof path));
    EXPECT_TEXT(path, "");
}
