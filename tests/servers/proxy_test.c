/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy do to connections what it is told at once: cut, hold, delay,
 * accept silently, and heal? And does it count statements and replies of MySQL
 * as the client does? What it does where it cuts, proxy_redis_test.c sees.
 */
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/proxy.h"
#include "tests/servers/servers.h"

#include <errmsg.h>
#include <errno.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct scene {
    const struct hf__mariadb *server;
    struct hf__proxy *proxy;
    char database[HF__MARIADB_NAME];
};

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__mariadb_share);
}

static struct scene scene_start(void)
{
    struct scene s = {.server = hf__mariadb_shared()};

    hf__mariadb_database(s.server, s.database);
    hf__mariadb_sql(s.server, "CREATE TABLE %s.t (a INT) ENGINE=InnoDB",
                    s.database);
    s.proxy = hf__proxy_start(hf__mariadb_port(s.server), &hf__framing_mysql);
    return s;
}

static void scene_end(struct scene *s)
{
    hf__proxy_free(s->proxy);
}

static MYSQL *scene_connect(const struct scene *s, unsigned patience_s)
{
    MYSQL *db = mysql_init(NULL);

    EXPECT(db);
    mysql_options(db, MYSQL_OPT_CONNECT_TIMEOUT, &patience_s);
    mysql_options(db, MYSQL_OPT_READ_TIMEOUT, &patience_s);
    mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER, HF__MARIADB_PASSWORD,
                       s->database, (unsigned)hf__proxy_port(s->proxy), NULL,
                       CLIENT_MULTI_STATEMENTS);
    return db;
}

static unsigned scene_query(MYSQL *db, const char *sql)
{
    if (mysql_query(db, sql) == 0) {
        do {
            mysql_free_result(mysql_store_result(db));
        } while (!mysql_errno(db) && mysql_next_result(db) == 0);
    }
    return mysql_errno(db);
}

static unsigned scene_insert(MYSQL *db)
{
    return scene_query(db, "INSERT INTO t VALUES (1)");
}

static int scene_rows(const struct scene *s)
{
    return (int)strtol(
        hf__mariadb_value(s->server, "SELECT COUNT(*) FROM %s.t", s->database),
        NULL, 10);
}

enum { PATIENCE_S = 20, DELAY_MS = 300 };

struct attempt {
    MYSQL *db;
    unsigned error;
    int64_t took_ms;
    _Atomic bool is_over;
};

static void try_insert(void *arg)
{
    struct attempt *attempt = arg;
    int64_t start = hf__test_now_ms();

    attempt->error = scene_insert(attempt->db);
    attempt->took_ms = hf__test_now_ms() - start;
    attempt->is_over = true;
}

/* A connection that speaks no MySQL; −1: refused. */
static int connect_plainly(const struct hf__proxy *p)
{
    struct sockaddr_in at = hf__servers_at(hf__proxy_port(p));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (void *)&at, sizeof at) < 0) {
        EXPECT_IS(errno, ECONNREFUSED);
        close(fd);
        return -1;
    }
    return fd;
}

static bool has_input(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

static struct hf__proxy *start_plain(void)
{
    return hf__proxy_start(hf__mariadb_port(hf__mariadb_shared()),
                           &hf__framing_none);
}

/* Reads the greeting, then what the cut looks like. */
static ssize_t look_at_cut(enum hf__proxy_action action, int *ret_errno)
{
    struct hf__proxy *p = start_plain();
    int fd = connect_plainly(p);
    char bytes[1000];
    ssize_t n;

    EXPECT_MORE(recv(fd, bytes, sizeof bytes, 0), 0);
    EXPECT_IS(hf__proxy_counts(p).open, 1);
    hf__proxy_cut(p, action);
    n = recv(fd, bytes, sizeof bytes, 0);
    *ret_errno = errno;
    EXPECT_IS(hf__proxy_counts(p).connections, 1);
    EXPECT_IS(hf__proxy_counts(p).open, 0);
    close(fd);
    hf__proxy_free(p);
    return n;
}

TEST(a_cut_is_an_end_or_a_reset)
{
    int error;

    EXPECT_IS(look_at_cut(HF__CLOSE, &error), 0);
    EXPECT_IS(look_at_cut(HF__RESET, &error), -1);
    EXPECT_IS(error, ECONNRESET);
}

static void hold(enum hf__proxy_way way, int rows_meanwhile)
{
    struct scene s = scene_start();
    struct attempt attempt = {.db = scene_connect(&s, PATIENCE_S)};
    struct hf__test_thread *thread;

    hf__proxy_hold(s.proxy, way);
    thread = hf__test_start(try_insert, &attempt);
    hf__test_pause_ms(200);
    UNTIL(scene_rows(&s) == rows_meanwhile);
    EXPECT(!attempt.is_over);
    hf__proxy_heal(s.proxy);
    hf__test_join(thread);
    EXPECT_IS(attempt.error, 0);
    EXPECT_IS(scene_rows(&s), 1);
    mysql_close(attempt.db);
    scene_end(&s);
}

CASE(held_to_the_server_nothing_is_done_until_healed, hold(HF__TO_SERVER, 0));
CASE(held_to_the_client_it_is_done_and_told_when_healed,
     hold(HF__TO_CLIENT, 1));

static int64_t time_insert(const struct scene *s, struct attempt *attempt)
{
    try_insert(attempt);
    EXPECT_IS(attempt->error, 0);
    (void)s;
    return attempt->took_ms;
}

TEST(a_delay_adds_up_both_ways_and_ends)
{
    struct scene s = scene_start();
    struct attempt attempt = {.db = scene_connect(&s, PATIENCE_S)};

    hf__proxy_delay(s.proxy, HF__TO_SERVER, DELAY_MS);
    EXPECT_MORE(time_insert(&s, &attempt), DELAY_MS - 1);
    hf__proxy_delay(s.proxy, HF__TO_CLIENT, DELAY_MS);
    EXPECT_MORE(time_insert(&s, &attempt), 2 * DELAY_MS - 1);
    hf__proxy_heal(s.proxy);
    EXPECT_SOON(time_insert(&s, &attempt), DELAY_MS);
    EXPECT_IS(scene_rows(&s), 3);
    mysql_close(attempt.db);
    scene_end(&s);
}

TEST(accepted_silently_a_client_hears_nothing)
{
    struct scene s = scene_start();
    MYSQL *before = scene_connect(&s, PATIENCE_S);
    MYSQL *db;
    char byte;
    int fd;

    hf__proxy_accept_silently(s.proxy);
    fd = connect_plainly(s.proxy);
    EXPECT(fd >= 0);
    EXPECT(!has_input(fd, 200));
    db = scene_connect(&s, 1);
    EXPECT_NOT(mysql_errno(db), 0);
    mysql_close(db);
    EXPECT_IS(scene_insert(before), 0);
    hf__proxy_heal(s.proxy);
    EXPECT_IS(recv(fd, &byte, 1, 0), 0);
    close(fd);
    db = scene_connect(&s, PATIENCE_S);
    EXPECT_IS(mysql_errno(db), 0);
    mysql_close(db);
    mysql_close(before);
    scene_end(&s);
}

/* ---- statements and replies */

static void expect_counts(const struct scene *s, int statements)
{
    struct hf__proxy_counts c = hf__proxy_counts(s->proxy);

    EXPECT_IS(c.statements, statements);
    EXPECT_IS(c.replies, statements);
}

TEST(statements_and_replies_are_counted)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);

    EXPECT_IS(mysql_errno(db), 0);
    EXPECT_IS(hf__proxy_counts(s.proxy).handshakes, 1);
    expect_counts(&s, 0);
    EXPECT_IS(scene_insert(db), 0);
    expect_counts(&s, 1);
    EXPECT_IS(scene_query(db, "SELECT * FROM t"), 0);
    EXPECT_IS(scene_query(db, "SELECT * FROM t WHERE a = 9"), 0);
    EXPECT_IS(scene_query(db, "SELECT 1, 2, 3 UNION SELECT 4, 5, 6"), 0);
    EXPECT_IS(scene_query(db, "SELECT NULL"), 0);
    expect_counts(&s, 5);
    EXPECT_IS(scene_query(db, "nonsense"), ER_PARSE_ERROR);
    EXPECT_IS(mysql_ping(db), 0);
    EXPECT_IS(mysql_select_db(db, s.database), 0);
    EXPECT(mysql_stat(db));
    expect_counts(&s, 9);
    EXPECT_IS(mysql_change_user(db, HF__MARIADB_USER, HF__MARIADB_PASSWORD,
                                s.database),
              0);
    expect_counts(&s, 10);
    mysql_close(db);
    expect_counts(&s, 10);
    scene_end(&s);
}

TEST(a_reply_of_several_results_is_one)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);

    EXPECT_IS(scene_query(db, "SELECT 1; INSERT INTO t VALUES (1); SELECT 2"),
              0);
    expect_counts(&s, 1);
    EXPECT_IS(scene_query(db, "INSERT INTO t VALUES (1); SELECT * FROM t"), 0);
    EXPECT_IS(scene_query(db, "SELECT 1; nonsense"), ER_PARSE_ERROR);
    EXPECT_IS(scene_insert(db), 0);
    expect_counts(&s, 4);
    mysql_close(db);
    scene_end(&s);
}

/* However many bytes are asked for, one is kept back. */
TEST(inside_a_reply_of_many_packets_is_never_all_of_it)
{
    static const size_t bytes[] = {0, 1, 4, 5, 30, 60, 100000};
    struct scene s = scene_start();

    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        MYSQL *db = scene_connect(&s, PATIENCE_S);

        hf__proxy_rule(s.proxy, &(struct hf__proxy_rule){.what = HF__REPLY,
                                                         .where = HF__INSIDE,
                                                         .bytes = bytes[i]});
        EXPECT_IS(scene_query(db, "SELECT 1, 'two' UNION SELECT 3, 'four'"),
                  CR_SERVER_LOST);
        EXPECT_IS(hf__proxy_counts(s.proxy).hits, i + 1);
        EXPECT_IS(hf__proxy_counts(s.proxy).replies, 0);
        mysql_close(db);
    }
    scene_end(&s);
}
