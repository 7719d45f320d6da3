/* SPDX-License-Identifier: MIT */
/*
 * Does the proxy do to connections what it is told at once: cut, hold, delay,
 * accept silently, refuse, and heal?
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy.h"
#include "tests/servers/scene.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Has the server that connection? */
static bool knows(const struct scene *s, unsigned long id)
{
    const char *found = hf__mariadb_value(
        s->server,
        "SELECT id FROM information_schema.processlist WHERE id = %lu", id);

    return found[0] != '\0';
}

/* The server must see it too, and soon: it would keep a dead client's locks. */
TEST(the_server_sees_a_cut)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);
    unsigned long id = mysql_thread_id(db);
    int64_t until = hf__test_now_ms() + hf__servers_patience(5000);

    hf__proxy_cut(s.proxy, HF__CLOSE);
    while (knows(&s, id)) {
        EXPECT_LESS(hf__test_now_ms(), until);
        hf__test_pause_ms(5);
    }
    mysql_close(db);
    scene_end(&s);
}

static void hold(enum hf__proxy_way way, int rows_meanwhile)
{
    struct scene s = scene_start();
    struct attempt attempt = {.db = scene_connect(&s, PATIENCE_S)};
    struct hf__test_thread *thread;

    hf__proxy_hold(s.proxy, way);
    thread = hf__test_start(try_insert, &attempt);
    hf__test_pause_ms(200);
    EXPECT(scene_wait_rows(&s, rows_meanwhile));
    EXPECT(!attempt.is_over);
    hf__proxy_heal(s.proxy);
    hf__test_join(thread);
    EXPECT_IS(attempt.error, 0);
    EXPECT_IS(scene_rows(&s), 1);
    mysql_close(attempt.db);
    scene_end(&s);
}

TEST(held_to_the_server_nothing_is_done_until_healed)
{
    hold(HF__TO_SERVER, 0);
}

TEST(held_to_the_client_it_is_done_and_told_when_healed)
{
    hold(HF__TO_CLIENT, 1);
}

/* The end of a connection is held as well: the server still has its client. */
TEST(held_both_ways_the_server_does_not_see_the_client_go)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);
    unsigned long id = mysql_thread_id(db);

    hf__proxy_hold(s.proxy, HF__TO_SERVER);
    hf__proxy_hold(s.proxy, HF__TO_CLIENT);
    mysql_close(db);
    hf__test_pause_ms(200);
    EXPECT(knows(&s, id));
    hf__proxy_heal(s.proxy);
    while (knows(&s, id)) {
        hf__test_pause_ms(5);
    }
    scene_end(&s);
}

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

TEST(refused_no_connection_comes_about_but_old_ones_stay)
{
    struct scene s = scene_start();
    MYSQL *db = scene_connect(&s, PATIENCE_S);
    int fd;

    for (int i = 0; i < 3; i++) {
        hf__proxy_refuse(s.proxy);
        EXPECT_IS(connect_plainly(s.proxy), -1);
        EXPECT_IS(scene_insert(db), 0);
        hf__proxy_heal(s.proxy);
        fd = connect_plainly(s.proxy);
        EXPECT(has_input(fd, 5000));
        close(fd);
    }
    mysql_close(db);
    scene_end(&s);
}

TEST_WITHIN(60, a_server_that_is_gone_is_a_connection_that_ends)
{
    struct hf__mariadb *m = hf__mariadb_start(NULL);
    struct hf__proxy *p =
        hf__proxy_start(hf__mariadb_port(m), &hf__framing_mysql);
    char bytes[1000];
    int fd = connect_plainly(p);

    EXPECT_MORE(recv(fd, bytes, sizeof bytes, 0), 0);
    hf__mariadb_kill(m);
    while (recv(fd, bytes, sizeof bytes, 0) > 0) {
    }
    close(fd);
    fd = connect_plainly(p);
    EXPECT_LESS(recv(fd, bytes, sizeof bytes, 0), 1);
    close(fd);
    hf__mariadb_restart(m, NULL);
    fd = connect_plainly(p);
    EXPECT_MORE(recv(fd, bytes, sizeof bytes, 0), 0);
    close(fd);
    hf__proxy_free(p);
    hf__mariadb_free(m);
}

TEST(many_connections_at_once)
{
    enum { MANY = 60 };
    struct scene s = scene_start();
    MYSQL *db[MANY];

    for (int i = 0; i < MANY; i++) {
        db[i] = scene_connect(&s, PATIENCE_S);
        EXPECT_IS(mysql_errno(db[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(scene_insert(db[i]), 0);
    }
    EXPECT_IS(hf__proxy_counts(s.proxy).open, MANY);
    EXPECT_IS(hf__proxy_counts(s.proxy).replies, MANY);
    for (int i = 0; i < MANY; i++) {
        mysql_close(db[i]);
    }
    while (hf__proxy_counts(s.proxy).open) {
        hf__test_pause_ms(5);
    }
    EXPECT_IS(scene_rows(&s), MANY);
    scene_end(&s);
}

/* A test that fails does not free its proxy. */
TEST(a_proxy_goes_with_the_process_that_started_it)
{
    int port = 0;
    int ends[2];
    pid_t pid;

    EXPECT_IS(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        port = hf__proxy_port(start_plain());
        EXPECT_IS(write(ends[1], &port, sizeof port), sizeof port);
        pause();
    }
    EXPECT_IS(read(ends[0], &port, sizeof port), sizeof port);
    kill(pid, SIGKILL);
    EXPECT_IS(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]); /* the harness finds what is left */
}
