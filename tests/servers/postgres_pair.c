/* SPDX-License-Identifier: MIT */
/*
 * Starting, ending and parting a primary and its standby. Both begin with the
 * data of one template, so the standby needs no copy of the primary's. Which
 * one a server is, the file standby.signal in its data says; whom it would
 * follow stands in its settings always. Called by the process that starts
 * them, but for what asks a server.
 */
#include "tests/servers/postgres_pair.h"
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/postgres_private.h"
#include "tests/servers/proxy.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STEPS_MS = 60000, LOOKS_MS = 5, WORDS = 20, LSN = 32 };

struct hf__postgres_pair {
    struct hf__postgres *nodes[HF__POSTGRES_PAIR];
    struct hf__proxy *ways[HF__POSTGRES_PAIR]; /* by which that one is reached;
                                                * NULL: straight */
};

static int other_of(int which)
{
    return HF__POSTGRES_PAIR - 1 - which;
}

struct hf__postgres *hf__postgres_pair_node(const struct hf__postgres_pair *p,
                                            int which)
{
    return p->nodes[which];
}

/* ---- a server's data and settings */

static void write_in(const struct hf__postgres *s, const char *name)
{
    char path[HF__POSTGRES_ROOM + 32];

    snprintf(path, sizeof path, "%s/data/%s", s->folder, name);
    hf__postgres_write(path, "");
}

static int way_to(const struct hf__postgres_pair *p, int which)
{
    return p->ways[which] ? hf__proxy_port(p->ways[which])
                          : hf__postgres_port(p->nodes[which]);
}

/* Who was away for long finds what it missed. */
static void launch(struct hf__postgres_pair *p, int which)
{
    char from[HF__SERVERS_LINE];
    const char *const lines[] = {from, "wal_keep_size = 64MB",
                                 "wal_retrieve_retry_interval = 200ms", NULL};

    snprintf(from, sizeof from,
             "primary_conninfo = 'host=127.0.0.1 port=%d"
             " user=" HF__POSTGRES_LINK " application_name=standby'",
             way_to(p, other_of(which)));
    hf__postgres_launch(p->nodes[which], lines);
}

static void copy_other(const struct hf__postgres_pair *p, int which)
{
    char program[HF__SERVERS_PATH];
    char data[HF__POSTGRES_ROOM];
    char log[HF__POSTGRES_ROOM];
    char port[16];
    const char *argv[HF__POSTGRES_AS_USER + WORDS];
    const char *const words[] = {program,
                                 "--pgdata",
                                 data,
                                 "--host",
                                 "127.0.0.1",
                                 "--port",
                                 port,
                                 "--username",
                                 HF__POSTGRES_LINK,
                                 "--checkpoint=fast",
                                 "--no-sync",
                                 NULL};
    int n = hf__postgres_as_user(argv);

    memcpy(argv + n, words, sizeof words);
    hf__postgres_find("pg_basebackup", program);
    snprintf(data, sizeof data, "%s/data", p->nodes[which]->folder);
    snprintf(log, sizeof log, "%s/copy.log", p->nodes[which]->folder);
    snprintf(port, sizeof port, "%d", way_to(p, other_of(which)));
    hf__test_remove_tree(data);
    if (mkdir(data, 0700) < 0) {
        hf__servers_fail("mkdir %s: %s", data, strerror(errno));
    }
    hf__postgres_give(data);
    if (!hf__servers_run(argv, log)) {
        hf__servers_fail("pg_basebackup failed");
    }
}

/* ---- who has what */

static int64_t patience_from_now(void)
{
    return hf__test_now_ms() + hf__test_patience(STEPS_MS);
}

/* Until that is true there. */
static void await(const struct hf__postgres_pair *p, int which,
                  const char *condition, const char *what)
{
    int64_t until = patience_from_now();

    while (hf__postgres_value(p->nodes[which], NULL, "SELECT %s",
                              condition)[0] != 't') {
        if (hf__test_now_ms() > until) {
            hf__warden_print_log(p->nodes[which]->warden);
            hf__servers_fail("server %d %s", which + 1, what);
        }
        hf__test_pause_ms(LOOKS_MS);
    }
}

void hf__postgres_pair_await_caught_up(const struct hf__postgres_pair *p,
                                       int which)
{
    char condition[128];

    snprintf(condition, sizeof condition,
             "pg_last_wal_replay_lsn() >= '%s'::pg_lsn",
             hf__postgres_value(p->nodes[other_of(which)], NULL,
                                "SELECT pg_current_wal_lsn()"));
    await(p, which, condition, "lacks what the other has written");
}

void hf__postgres_pair_expect_well(const struct hf__postgres_pair *p, int which)
{
    await(p, which,
          "EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status ="
          " 'streaming')",
          "does not follow");
}

/* ---- who is what */

void hf__postgres_pair_set_synchronous(const struct hf__postgres_pair *p,
                                       int which, bool is_synchronous)
{
    const struct hf__postgres *s = p->nodes[which];

    hf__postgres_sql(s, NULL,
                     "ALTER SYSTEM SET synchronous_standby_names = '%s'",
                     is_synchronous ? "*" : "");
    hf__postgres_sql(s, NULL, "SELECT pg_reload_conf()");
    await(p, which,
          is_synchronous
              ? "current_setting('synchronous_standby_names') = '*' AND EXISTS"
                " (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')"
              : "current_setting('synchronous_standby_names') = ''",
          "does not take a setting");
}

void hf__postgres_pair_promote(const struct hf__postgres_pair *p, int which)
{
    if (strcmp(hf__postgres_value(p->nodes[which], NULL,
                                  "SELECT pg_promote(true, %d)",
                                  STEPS_MS / 1000),
               "t") != 0) {
        hf__servers_fail("server %d is not promoted", which + 1);
    }
}

/* Its own settings may be those of a primary. */
static void launch_standby(struct hf__postgres_pair *p, int which)
{
    write_in(p->nodes[which], "standby.signal");
    write_in(p->nodes[which], "postgresql.auto.conf");
    launch(p, which);
}

static void await_standby(struct hf__postgres_pair *p, int which)
{
    hf__postgres_await(p->nodes[which]);
    hf__postgres_pair_expect_well(p, which);
}

void hf__postgres_pair_follow(struct hf__postgres_pair *p, int which)
{
    hf__postgres_pair_kill(p, which);
    copy_other(p, which);
    launch_standby(p, which);
    await_standby(p, which);
}

/* A primary that ends in order has sent all before. */
void hf__postgres_pair_switch_over(struct hf__postgres_pair *p, int to)
{
    hf__postgres_stop(p->nodes[other_of(to)]);
    hf__postgres_pair_promote(p, to);
    launch_standby(p, other_of(to));
    await_standby(p, other_of(to));
}

/* ---- start and end */

struct hf__postgres_pair *
hf__postgres_pair_start(const struct hf__postgres_pair_opts *opts)
{
    static const struct hf__postgres_pair_opts none;
    struct hf__postgres_pair *p = calloc(1, sizeof *p);

    hf__postgres_need();
    if (!p) {
        hf__servers_fail("out of memory");
    }
    opts = opts ? opts : &none;
    for (int i = 0; i < HF__POSTGRES_PAIR; i++) {
        p->nodes[i] = hf__postgres_new(&opts->server, hf__postgres_fill);
        if (!opts->is_never_cut) {
            p->ways[i] = hf__proxy_start(hf__postgres_port(p->nodes[i]),
                                         &hf__framing_none);
        }
    }
    launch(p, 0);
    launch_standby(p, 1);
    hf__postgres_await(p->nodes[0]);
    await_standby(p, 1);
    if (opts->is_synchronous) {
        hf__postgres_pair_set_synchronous(p, 0, true);
    }
    return p;
}

void hf__postgres_pair_free(struct hf__postgres_pair *p)
{
    for (int i = 0; p && i < HF__POSTGRES_PAIR; i++) {
        hf__postgres_free(p->nodes[i]);
        hf__proxy_free(p->ways[i]);
    }
    free(p);
}

void hf__postgres_pair_kill(struct hf__postgres_pair *p, int which)
{
    hf__postgres_kill(p->nodes[which]);
}

void hf__postgres_pair_restart(struct hf__postgres_pair *p, int which)
{
    launch(p, which);
    hf__postgres_await(p->nodes[which]);
}

/* ---- the link */

void hf__postgres_pair_cut_link(const struct hf__postgres_pair *p)
{
    for (int i = 0; i < HF__POSTGRES_PAIR; i++) {
        hf__proxy_refuse(p->ways[i]);
        hf__proxy_cut(p->ways[i], HF__RESET);
    }
}

void hf__postgres_pair_heal_link(const struct hf__postgres_pair *p)
{
    for (int i = 0; i < HF__POSTGRES_PAIR; i++) {
        hf__proxy_heal(p->ways[i]);
    }
}

void hf__postgres_pair_url(const struct hf__postgres_pair *p, int first,
                           const char *database, char *url, size_t size)
{
    char other[HF__POSTGRES_URL];
    const char *rest;

    hf__postgres_url(p->nodes[first], database, other, sizeof other);
    rest = strrchr(other, '/');
    snprintf(url, size, "%.*s,127.0.0.1:%d%s", (int)(rest - other), other,
             hf__postgres_port(p->nodes[other_of(first)]), rest);
}
