/* SPDX-License-Identifier: MIT */
/*
 * A primary with replicas and the Sentinels that watch it: servers as of
 * redis.c, of which some are told another configuration. Each Sentinel is told
 * of the others and of the replicas at once, so that nothing waits until they
 * have found each other. Called by the process that starts them.
 */
#include "tests/servers/redis_sentinel.h"
#include "tests/lib/test.h"
#include "tests/servers/redis_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTINELS = 3, SERVERS = 3, DOWN_MS = 500, FAILOVER_MS = 3000 };
enum { JOINS_MS = 20000, LOOKS_MS = 10 };

struct hf__redis_sentinels {
    struct hf__redis *servers[SERVERS];
    struct hf__redis *sentinels[SENTINELS];
    const char *user_password; /* of the Sentinels; NULL: none is needed */
};

/* Who is kept out is told apart: a test can keep out Sentinels and replicas,
 * and no client. */
static const char users[] =
    "user replica on >replicas +psync +replconf +ping\n"
    "user sentinel on >sentinels allchannels +multi +slaveof +ping +exec "
    "+subscribe +config|rewrite +role +publish +info +client|setname "
    "+client|kill +script|kill\n";

/* ---- configuration */

enum { LINES = 16, LINE = 160 };

struct lines {
    char text[LINES][LINE];
    const char *list[LINES + 1];
    int n;
};

__attribute__((format(printf, 2, 3))) static void add(struct lines *l,
                                                      const char *format, ...)
{
    va_list args;

    if (l->n == LINES) {
        hf__servers_fail("too many lines");
    }
    va_start(args, format);
    vsnprintf(l->text[l->n], LINE, format, args);
    va_end(args);
    l->list[l->n] = l->text[l->n];
    l->list[++l->n] = NULL;
}

static void add_server(struct lines *l, const struct hf__redis *primary,
                       const char *const *extra)
{
    add(l, "masteruser replica");
    add(l, "masterauth replicas");
    add(l, "repl-diskless-sync-delay 0");
    add(l, "repl-ping-replica-period 1");
    if (primary) {
        add(l, "replicaof 127.0.0.1 %d", hf__redis_port(primary));
    }
    for (int i = 0; extra && extra[i]; i++) {
        add(l, "%s", extra[i]);
    }
}

/* By which Sentinels tell each other apart. */
static void write_id(int number, char id[41])
{
    snprintf(id, 41, "%040d", number + 1);
}

static void add_sentinel(struct lines *l, const struct hf__redis_sentinels *g,
                         int number, const int ports[SENTINELS],
                         int64_t down_ms)
{
    static const char name[] = HF__REDIS_SERVICE;
    char id[41];

    write_id(number, id);
    add(l, "sentinel myid %s", id);
    add(l, "sentinel monitor %s 127.0.0.1 %d %d", name,
        hf__redis_port(g->servers[0]), SENTINELS / 2 + 1);
    add(l, "sentinel down-after-milliseconds %s %lld", name,
        (long long)down_ms);
    add(l, "sentinel failover-timeout %s %lld", name,
        (long long)hf__test_patience(FAILOVER_MS));
    add(l, "sentinel auth-user %s sentinel", name);
    add(l, "sentinel auth-pass %s sentinels", name);
    for (int i = 1; i < SERVERS; i++) {
        add(l, "sentinel known-replica %s 127.0.0.1 %d", name,
            hf__redis_port(g->servers[i]));
    }
    for (int i = 0; i < SENTINELS; i++) {
        if (i != number) {
            write_id(i, id);
            add(l, "sentinel known-sentinel %s 127.0.0.1 %d %s", name, ports[i],
                id);
        }
    }
    if (g->user_password) {
        add(l, "sentinel sentinel-user friend");
        add(l, "sentinel sentinel-pass friends");
    }
}

/* ---- starting */

static void await_replicas(const struct hf__redis_sentinels *g)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(JOINS_MS);

    for (int i = 1; i < SERVERS; i++) {
        while (strcmp(hf__redis_value(g->servers[i], "master_link_status",
                                      "INFO replication"),
                      "up") != 0) {
            if (hf__test_now_ms() > until) {
                hf__servers_fail("a replica does not find its primary");
            }
            hf__test_pause_ms(LOOKS_MS);
        }
    }
}

static bool is_joined(const struct hf__redis *sentinel)
{
    return strcmp(hf__redis_value(sentinel, "flags", "SENTINEL MASTER %s",
                                  HF__REDIS_SERVICE),
                  "master") == 0 &&
           hf__redis_try(sentinel, "SENTINEL CKQUORUM %s", HF__REDIS_SERVICE) ==
               NULL;
}

static void await_sentinels(const struct hf__redis_sentinels *g)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(JOINS_MS);

    for (int i = 0; i < SENTINELS; i++) {
        hf__redis_await(g->sentinels[i]);
        while (!is_joined(g->sentinels[i])) {
            if (hf__test_now_ms() > until) {
                hf__servers_fail("a Sentinel does not find the others");
            }
            hf__test_pause_ms(LOOKS_MS);
        }
    }
}

static void start_servers(struct hf__redis_sentinels *g,
                          const struct hf__redis_sentinels_opts *opts)
{
    char all[2 * LINE * 4];

    snprintf(all, sizeof all, "%s%s", users, opts->users ? opts->users : "");
    for (int i = 0; i < SERVERS; i++) {
        struct lines l = {.n = 0};

        add_server(&l, i ? g->servers[0] : NULL, opts->extra);
        g->servers[i] =
            hf__redis_new(&(struct hf__redis_opts){.extra = l.list,
                                                   .users = all,
                                                   .password = opts->password,
                                                   .has_aof = opts->has_aof});
        hf__redis_await(g->servers[i]);
    }
    await_replicas(g);
}

struct hf__redis_sentinels *
hf__redis_sentinels_start(const struct hf__redis_sentinels_opts *given)
{
    static const struct hf__redis_sentinels_opts none;
    const struct hf__redis_sentinels_opts *opts = given ? given : &none;
    struct hf__redis_sentinels *g = calloc(1, sizeof *g);
    int64_t down_ms = opts->down_ms ? opts->down_ms : DOWN_MS;
    int ports[SENTINELS];

    hf__redis_need();
    if (!g) {
        hf__servers_fail("out of memory");
    }
    g->user_password = opts->sentinel_password;
    start_servers(g, opts);
    for (int i = 0; i < SENTINELS; i++) {
        ports[i] = hf__servers_take_port();
    }
    for (int i = 0; i < SENTINELS; i++) {
        struct lines l = {.n = 0};

        add_sentinel(&l, g, i, ports, hf__test_patience(down_ms));
        g->sentinels[i] = hf__redis_new(&(struct hf__redis_opts){
            .extra = l.list,
            .users = "user friend on >friends ~* &* +@all\n",
            .password = opts->sentinel_password,
            .sentinel_port = ports[i]});
    }
    await_sentinels(g);
    return g;
}

void hf__redis_sentinels_free(struct hf__redis_sentinels *g)
{
    for (int i = 0; g && i < SENTINELS; i++) {
        hf__redis_free(g->sentinels[i]);
    }
    for (int i = 0; g && i < SERVERS; i++) {
        hf__redis_free(g->servers[i]);
    }
    free(g);
}

/* ---- which is which */

struct hf__redis *hf__redis_sentinel(const struct hf__redis_sentinels *g, int i)
{
    return g->sentinels[i];
}

struct hf__redis *hf__redis_watched(const struct hf__redis_sentinels *g, int i)
{
    return g->servers[i];
}

void hf__redis_sentinels_url(const struct hf__redis_sentinels *g, int database,
                             char *url, size_t size)
{
    const char *password = g->servers[0]->password;
    int n = snprintf(url, size, "redis+sentinel://%s%s%s",
                     password[0] ? ":" : "", password, password[0] ? "@" : "");

    for (int i = 0; i < SENTINELS; i++) {
        n += snprintf(url + n, size - (size_t)n, "%s127.0.0.1:%d", i ? "," : "",
                      hf__redis_port(g->sentinels[i]));
    }
    snprintf(url + n, size - (size_t)n, "/%s/%d", HF__REDIS_SERVICE, database);
}

/* ---- kept out */

void hf__redis_keep_out(const struct hf__redis *server, bool is_out)
{
    static const char *const names[] = {"replica", "sentinel"};

    for (int i = 0; i < 2; i++) {
        hf__redis_command(server, "ACL SETUSER %s %s", names[i],
                          is_out ? "off" : "on");
        if (is_out) {
            hf__redis_command(server, "CLIENT KILL USER %s", names[i]);
        }
    }
}
