/* SPDX-License-Identifier: MIT */
/*
 * Several private ZooKeeper servers that are one store: each has the ports of
 * all in its configuration, or those of proxies before them, all are started,
 * then all are waited for. What one is, zookeeper.c decides. Called by the
 * process that starts them.
 */
#include "tests/lib/test.h"
#include "tests/servers/proxy.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELECTION_MS = 60000, LOOKS_MS = 10 };

struct hf__zookeeper_ensemble {
    struct hf__zookeeper *members[HF__ZOOKEEPER_MEMBERS];
    int n;
    bool is_divisible;
    /* By who comes and who is called; NULL: they meet without. */
    struct hf__proxy *between[HF__ZOOKEEPER_MEMBERS][HF__ZOOKEEPER_MEMBERS];
};

/* ---- who meets whom */

static void open_way(struct hf__zookeeper_ensemble *e, int from, int to)
{
    hf__proxy_free(e->between[from][to]);
    e->between[from][to] = NULL;
    if (e->is_divisible && from != to) {
        e->between[from][to] =
            hf__proxy_start(e->members[to]->quorum_port, &hf__framing_none);
    }
}

/* Writes the lines of zoo.cfg by which one knows all: itself by its own ports,
 * which it listens on. */
static void write_members(struct hf__zookeeper_ensemble *e, int of)
{
    char *lines = e->members[of]->members;
    size_t room = sizeof e->members[of]->members;
    int n = 0;

    for (int i = 0; i < e->n; i++) {
        const struct hf__zookeeper *s = e->members[i];

        open_way(e, of, i);
        n += snprintf(lines + n, room - (size_t)n,
                      "server.%d=127.0.0.1:%d:%d\n", i + 1,
                      e->between[of][i] ? hf__proxy_port(e->between[of][i])
                                        : s->quorum_port,
                      s->election_port);
    }
    e->members[of]->number = of + 1;
}

static void introduce(struct hf__zookeeper_ensemble *e)
{
    for (int i = 0; i < e->n; i++) {
        write_members(e, i);
    }
}

static struct hf__proxy *way(const struct hf__zookeeper_ensemble *e, int from,
                             int to)
{
    if (!e->between[from][to]) {
        hf__servers_fail("the ensemble is not divisible");
    }
    return e->between[from][to];
}

static void close_way(struct hf__proxy *p)
{
    hf__proxy_hold(p, HF__TO_SERVER);
    hf__proxy_hold(p, HF__TO_CLIENT);
    hf__proxy_accept_silently(p);
}

void hf__zookeeper_divide(struct hf__zookeeper_ensemble *e, int i, int k)
{
    close_way(way(e, i, k));
    close_way(way(e, k, i));
}

void hf__zookeeper_unite(struct hf__zookeeper_ensemble *e)
{
    for (int i = 0; i < e->n; i++) {
        for (int k = 0; k < e->n; k++) {
            if (i != k) {
                hf__proxy_heal(way(e, i, k));
            }
        }
    }
}

/* ---- start and end */

struct hf__zookeeper_ensemble *
hf__zookeeper_ensemble_start(int n, const struct hf__zookeeper_opts *opts)
{
    struct hf__zookeeper_ensemble *e = calloc(1, sizeof *e);

    hf__zookeeper_need();
    if (!e || n < 0 || n == 1 || n > HF__ZOOKEEPER_MEMBERS) {
        hf__servers_fail("an ensemble of %d can't be made", n);
    }
    e->n = n ? n : HF__ZOOKEEPER_ENSEMBLE;
    e->is_divisible = opts && opts->is_divisible;
    if (hf__zookeeper_take(opts, e->n, e->members)) {
        return e;
    }
    hf__zookeeper_prepare();
    for (int i = 0; i < e->n; i++) {
        e->members[i] = hf__zookeeper_new(opts);
    }
    introduce(e);
    for (int i = 0; i < e->n; i++) {
        hf__zookeeper_launch(e->members[i], NULL);
    }
    for (int i = 0; i < e->n; i++) {
        hf__zookeeper_await(e->members[i]);
    }
    return e;
}

void hf__zookeeper_ensemble_free(struct hf__zookeeper_ensemble *e)
{
    if (e) {
        for (int i = 0; i < e->n * e->n; i++) {
            hf__proxy_free(e->between[i / e->n][i % e->n]);
        }
        hf__zookeeper_give(e->n, e->members);
        free(e);
    }
}

struct hf__zookeeper *
hf__zookeeper_member(const struct hf__zookeeper_ensemble *e, int i)
{
    return e->members[i];
}

/* Who is paused may think so still, and would keep us waiting. */
int hf__zookeeper_leader(const struct hf__zookeeper_ensemble *e)
{
    for (int i = 0; i < e->n; i++) {
        if (!e->members[i]->is_paused &&
            strcmp(hf__zookeeper_mode(e->members[i]), "leader") == 0) {
            return i;
        }
    }
    return -1;
}

int hf__zookeeper_await_leader(const struct hf__zookeeper_ensemble *e,
                               int other)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(ELECTION_MS);
    int leader;

    while ((leader = hf__zookeeper_leader(e)) < 0 || leader == other) {
        if (hf__test_now_ms() > until) {
            hf__servers_fail("the ensemble has no leader");
        }
        hf__test_pause_ms(LOOKS_MS);
    }
    return leader;
}

void hf__zookeeper_ensemble_url(const struct hf__zookeeper_ensemble *e,
                                const char *chroot, char *url, size_t size)
{
    int n = snprintf(url, size, HF__ZOOKEEPER_SCHEME);

    for (int i = 0; i < e->n; i++) {
        n += snprintf(url + n, size - (size_t)n, "%s127.0.0.1:%d", i ? "," : "",
                      e->members[i]->port);
    }
    snprintf(url + n, size - (size_t)n, "%s", chroot);
}
