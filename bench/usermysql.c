/* SPDX-License-Identifier: MIT */
/*
 * User locks: by hand, on a connection for each thread, and by the library,
 * without a database, where it has nothing to write either, and with one, where
 * each grant writes its row. Handing over is measured from the release in one
 * process to the grant in another that waits, in turns. Thread: main, and that
 * of each child.
 */
#include "bench/usermysql.h"

#include "bench/report.h"
#include "bench/sides.h"
#include "tests/servers/mariadb.h"

#include <errno.h>
#include <mysql.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME       "awaited"
#define ROUNDS_MAX 1000

/* ---- by hand */

static MYSQL *connect_raw(const struct servermysql *mysql)
{
    unsigned protocol = MYSQL_PROTOCOL_TCP;
    MYSQL *db = mysql_init(NULL);

    (void)mysql_options(db, MYSQL_OPT_PROTOCOL, &protocol);
    if (!mysql_real_connect(db, "127.0.0.1", HF__MARIADB_USER,
                            HF__MARIADB_PASSWORD, NULL,
                            (unsigned)servermysql_port(mysql), NULL, 0)) {
        bench_fail("%s", mysql_error(db));
    }
    return db;
}

/* The answer is 1. */
static bool ask(MYSQL *db, const char *format, const char *name)
{
    char sql[128];
    bool is_one;
    MYSQL_RES *rows;
    MYSQL_ROW row;

    /* The format is one of the two below. */
    (void)snprintf(sql, sizeof sql,
                   format[0] == 'G' ? "SELECT GET_LOCK('%s',30)"
                                    : "SELECT RELEASE_LOCK('%s')",
                   name);
    rows = mysql_query(db, sql) ? NULL : mysql_store_result(db);
    row = rows ? mysql_fetch_row(rows) : NULL;
    if (!row) {
        bench_fail("%s: %s", sql, mysql_error(db));
    }
    is_one = row[0] && row[0][0] == '1';
    mysql_free_result(rows);
    return is_one;
}

static void *open_raw(const void *of)
{
    return connect_raw(of);
}

static void close_raw(void *raw)
{
    mysql_close(raw);
}

static bool pair_raw(void *raw, const char *key)
{
    return ask(raw, "GET", key) && ask(raw, "RELEASE", key);
}

/* ---- own names */

static void own_names(const struct bench *b, const struct servermysql *mysql,
                      const char *label, double target)
{
    const struct sides_bout bouts[] = {
        {1, 1, false, 15, target},
        {8, 8, false, 15, target},
    };
    const struct sides s = {
        .b = b,
        .label = label,
        .raw = {"raw GET_LOCK", mysql, open_raw, close_raw, pair_raw, NULL},
    };

    sides_own_names(&s, bouts, sizeof bouts / sizeof bouts[0]);
}

/* ---- handing over */

struct stage {
    const struct bench *b;
    const struct servermysql *mysql;
    bool is_raw;
    int sockets[2]; /* of the parent, of the child */
    int rounds;
    atomic_llong asked_ns;
    atomic_llong granted_ns;
};

static void say(int fd)
{
    if (write(fd, "x", 1) != 1) {
        bench_fail("write: %s", strerror(errno));
    }
}

static void hear(int fd)
{
    char c;

    if (read(fd, &c, 1) != 1) {
        bench_fail("the other process has ended");
    }
}

/* Who holds it, by hand or by the library. */
struct holder {
    MYSQL *db;
    hf_client *client;
    hf_lock *lock;
};

static void begin(struct holder *h, const struct stage *stage)
{
    if (stage->is_raw) {
        h->db = connect_raw(stage->mysql);
    } else {
        h->client = bench_open_as(stage->b, stage->b->server->scheme, "");
    }
}

static void end(struct holder *h)
{
    if (h->db) {
        mysql_close(h->db);
    }
    hf_close(h->client);
}

static void take(struct holder *h)
{
    if (h->db) {
        (void)ask(h->db, "GET", NAME);
    } else {
        h->lock = bench_acquire(h->client, NAME);
    }
}

static void give(struct holder *h)
{
    if (h->db) {
        (void)ask(h->db, "RELEASE", NAME);
    } else {
        bench_release(h->lock);
    }
}

static void be_woken(void *arg)
{
    struct stage *stage = arg;
    struct holder h = {NULL, NULL, NULL};
    int i;

    begin(&h, stage);
    for (i = 0; i < stage->rounds; i++) {
        hear(stage->sockets[1]);
        atomic_store(&stage->asked_ns, bench_now_ns());
        take(&h);
        atomic_store(&stage->granted_ns, bench_now_ns());
        give(&h);
        say(stage->sockets[1]);
    }
    end(&h);
}

static double wake_once(struct stage *stage, struct holder *h)
{
    int64_t released_ns;

    take(h);
    atomic_store(&stage->asked_ns, 0);
    say(stage->sockets[0]);
    do {
        bench_pause_ms(5 + (int)(random() % 7));
    } while (atomic_load(&stage->asked_ns) == 0);
    released_ns = bench_now_ns();
    give(h);
    hear(stage->sockets[0]);
    return (double)(atomic_load(&stage->granted_ns) - released_ns) / 1000;
}

/* The two take turns, a hand-over each. */
static void hand_over(const struct bench *b, const struct servermysql *mysql,
                      const char *label, double target)
{
    static double us[2][ROUNDS_MAX];
    struct stage *stage[2];
    struct holder holder[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    pid_t pid[2];
    double p50[2] = {0, 0};
    struct report_figure f = {.unit = "x", .target = target};
    int rounds = b->is_quick ? 100 : 400;
    int i;
    int k;

    for (k = 0; k < 2; k++) {
        stage[k] = bench_shared(sizeof *stage[k]);
        stage[k]->b = b;
        stage[k]->mysql = mysql;
        stage[k]->is_raw = k == 0;
        stage[k]->rounds = rounds;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, stage[k]->sockets)) {
            bench_fail("socketpair: %s", strerror(errno));
        }
        pid[k] = bench_fork(be_woken, stage[k]);
    }
    for (k = 0; k < 2; k++) {
        begin(&holder[k], stage[k]);
    }
    for (i = 0; i < rounds; i++) {
        for (k = 0; k < 2; k++) {
            us[k][i] = wake_once(stage[k], &holder[k]);
        }
    }
    for (k = 0; k < 2; k++) {
        struct report_figure one = {.unit = "us"};

        bench_join(pid[k]);
        end(&holder[k]);
        (void)close(stage[k]->sockets[0]);
        (void)close(stage[k]->sockets[1]);
        p50[k] = bench_percentile(us[k], rounds, 0.5);
        (void)snprintf(one.name, sizeof one.name, "%s: hand-over, %s, p50",
                       label, k == 0 ? "raw GET_LOCK" : "library");
        one.value = p50[k];
        report_add(&one);
    }
    (void)snprintf(f.name, sizeof f.name, "%s: hand-over, library / raw",
                   label);
    f.value = p50[1] / p50[0];
    f.goal = target > 0 ? REPORT_BELOW : REPORT_NO_GOAL;
    report_add(&f);
}

/* ---- the part */

/* The server's with that scheme, with its database or without. */
static void write_url(const struct server *server, char *url, size_t size,
                      bool has_database)
{
    const char *slash = strrchr(server->url, '/');
    size_t length =
        has_database ? strlen(server->url) : (size_t)(slash - server->url);

    (void)snprintf(url, size, "%.*s?scheme=session&connections=2", (int)length,
                   server->url);
}

void usermysql_run(const struct bench *b, const struct servermysql *mysql)
{
    static const char *const labels[] = {"user locks", "with fences"};
    int i;

    for (i = 0; i < 2; i++) {
        struct bench with = *b;
        char url[HF__MARIADB_URL + 32];

        write_url(b->server, url, sizeof url, i == 1);
        with.url = url;
        own_names(&with, mysql, labels[i], i == 0 ? 0.9 : 0);
        hand_over(&with, mysql, labels[i], i == 0 ? 1.3 : 0);
    }
}
