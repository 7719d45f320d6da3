/* SPDX-License-Identifier: MIT */
/*
 * Starting, ending and parting two servers that replicate each other. Who has
 * what, their GTIDs say: the state of a binary log names the last transaction
 * of each server that is in it, wherever that came from. A link that failed is
 * tried again each second. Called by the process that starts them, but for what
 * asks a server.
 */
#include "tests/servers/mariadb_pair.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb_private.h"
#include "tests/servers/proxy.h"
#include "tests/servers/servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK_USER     "neighbour"
#define LINK_PASSWORD "over-the-fence"
enum { STEPS_MS = 60000, LOOKS_MS = 5, MORE_MAX = 24, GTIDS = 512 };

struct hf__mariadb_pair {
    struct hf__mariadb *nodes[HF__MARIADB_PAIR];
    struct hf__proxy *ways[HF__MARIADB_PAIR]; /* by which that one is reached;
                                               * NULL: straight */
    bool is_semi_sync;
};

static int other_of(int which)
{
    return HF__MARIADB_PAIR - 1 - which;
}

struct hf__mariadb *hf__mariadb_pair_node(const struct hf__mariadb_pair *p,
                                          int which)
{
    return p->nodes[which];
}

/* ---- a server's command */

static int add(const char **list, int n, const char *const *words)
{
    for (int i = 0; words[i]; i++) {
        list[n++] = words[i];
    }
    list[n] = NULL;
    return n;
}

/* The options that make it one of two. */
static void launch(struct hf__mariadb_pair *p, int which, bool is_read_only)
{
    static const char *const fixed[] = {"--log-bin=changes",
                                        "--binlog-format=ROW",
                                        "--log-slave-updates=ON",
                                        "--relay-log=from-the-other",
                                        "--gtid-strict-mode=OFF",
                                        "--slave-net-timeout=2",
                                        "--max-binlog-size=4M",
                                        "--relay-log-recovery=ON",
                                        NULL};
    /* Where the other is gone nobody is waited for. */
    static const char *const semi_sync[] = {
        "--rpl-semi-sync-master-enabled=ON", "--rpl-semi-sync-slave-enabled=ON",
        "--rpl-semi-sync-master-timeout=10000",
        "--rpl-semi-sync-master-wait-no-slave=OFF", NULL};
    const char *list[MORE_MAX];
    char id[32];
    const char *own[] = {
        id, is_read_only ? "--read-only=ON" : "--read-only=OFF", NULL};
    int n = add(list, 0, own);

    snprintf(id, sizeof id, "--server-id=%d", which + 1);
    n = add(list, n, fixed);
    if (p->is_semi_sync) {
        add(list, n, semi_sync);
    }
    hf__mariadb_launch(p->nodes[which], list);
}

/* ---- who has what */

static void fail_for(const struct hf__mariadb_pair *p, int which,
                     const char *what)
{
    const struct hf__mariadb *m = p->nodes[which];
    char io[256];
    char sql[256];

    snprintf(io, sizeof io, "%s", hf__mariadb_replica(m, "Last_IO_Error"));
    snprintf(sql, sizeof sql, "%s", hf__mariadb_replica(m, "Last_SQL_Error"));
    hf__warden_print_log(m->warden);
    hf__servers_fail("server %d %s: %s %s", which + 1, what, io, sql);
}

/* Who has met a row that it did not expect is waited for in vain. */
static void look_later(const struct hf__mariadb_pair *p, int which,
                       const char *what, int64_t until)
{
    const char *met = hf__mariadb_replica(p->nodes[which], "Last_SQL_Errno");

    if (strtoul(met, NULL, 10) != 0 || hf__test_now_ms() > until) {
        fail_for(p, which, what);
    }
    hf__test_pause_ms(LOOKS_MS);
}

static int64_t patience_from_now(void)
{
    return hf__test_now_ms() + hf__test_patience(STEPS_MS);
}

static void read_state(const struct hf__mariadb *m, char state[GTIDS])
{
    snprintf(state, GTIDS, "%s",
             hf__mariadb_value(m, "SELECT @@GLOBAL.gtid_binlog_state"));
}

/* The last of that server in a state "domain-server-number,…"; 0: none. */
static uint64_t last_of(const char *state, unsigned server)
{
    const char *at = state;

    while (at && *at) {
        unsigned domain = 0;
        unsigned by = 0;
        uint64_t number = 0;

        if (sscanf(at, "%u-%u-%" SCNu64, &domain, &by, &number) == 3 &&
            by == server) {
            return number;
        }
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return 0;
}

static bool has_all(const char *state, const char *wanted)
{
    for (unsigned server = 1; server <= HF__MARIADB_PAIR; server++) {
        if (last_of(state, server) < last_of(wanted, server)) {
            return false;
        }
    }
    return true;
}

/* A binary log has what its tables may lack for a moment yet; this is counted
 * when they have it. */
void hf__mariadb_pair_await_applied(const struct hf__mariadb_pair *p, int which)
{
    int64_t until = patience_from_now();
    const struct hf__mariadb *m = p->nodes[which];
    char got[GTIDS];

    for (;;) {
        snprintf(got, sizeof got, "%s", hf__mariadb_replica(m, "Gtid_IO_Pos"));
        if (strcmp(hf__mariadb_value(m, "SELECT @@GLOBAL.gtid_slave_pos"),
                   got) == 0) {
            return;
        }
        look_later(p, which, "has not applied what it got", until);
    }
}

void hf__mariadb_pair_await_caught_up(const struct hf__mariadb_pair *p,
                                      int which)
{
    int64_t until = patience_from_now();
    char wanted[GTIDS];
    char state[GTIDS];

    read_state(p->nodes[other_of(which)], wanted);
    for (;;) {
        read_state(p->nodes[which], state);
        if (has_all(state, wanted)) {
            break;
        }
        look_later(p, which, "lacks what the other has written", until);
    }
    hf__mariadb_pair_await_applied(p, which);
}

void hf__mariadb_pair_expect_well(const struct hf__mariadb_pair *p, int which)
{
    int64_t until = patience_from_now();
    const struct hf__mariadb *m = p->nodes[which];

    while (strcmp(hf__mariadb_replica(m, "Slave_IO_Running"), "Yes") != 0 ||
           strcmp(hf__mariadb_replica(m, "Slave_SQL_Running"), "Yes") != 0) {
        look_later(p, which, "does not replicate", until);
    }
}

/* ---- who may write */

void hf__mariadb_pair_set_read_only(const struct hf__mariadb_pair *p, int which,
                                    bool is_read_only)
{
    hf__mariadb_sql(p->nodes[which], "SET GLOBAL read_only=%d", is_read_only);
}

void hf__mariadb_pair_switch_over(const struct hf__mariadb_pair *p, int to)
{
    hf__mariadb_pair_set_read_only(p, other_of(to), true);
    hf__mariadb_pair_await_caught_up(p, to);
    hf__mariadb_pair_set_read_only(p, to, false);
}

/* ---- start and end */

/* Before either replicates, and nothing of it is written to a binary log: one
 * would make what the other has. */
static void prepare(const struct hf__mariadb *m)
{
    hf__mariadb_sql(m, "CREATE USER '" LINK_USER "'@'127.0.0.1'"
                       " IDENTIFIED BY '" LINK_PASSWORD "'");
    hf__mariadb_sql(m, "GRANT REPLICATION SLAVE ON *.* TO"
                       " '" LINK_USER "'@'127.0.0.1'");
    hf__mariadb_sql(m, "RESET MASTER");
}

static void follow_the_other(const struct hf__mariadb_pair *p, int which)
{
    const struct hf__mariadb *m = p->nodes[which];
    const struct hf__proxy *way = p->ways[other_of(which)];

    hf__mariadb_sql(m,
                    "CHANGE MASTER TO MASTER_HOST='127.0.0.1',MASTER_PORT=%d,"
                    "MASTER_USER='" LINK_USER "',"
                    "MASTER_PASSWORD='" LINK_PASSWORD "',"
                    "MASTER_CONNECT_RETRY=1,MASTER_USE_GTID=slave_pos",
                    way ? hf__proxy_port(way)
                        : hf__mariadb_port(p->nodes[other_of(which)]));
    hf__mariadb_sql(m, "START SLAVE");
}

struct hf__mariadb_pair *
hf__mariadb_pair_start(const struct hf__mariadb_pair_opts *opts)
{
    struct hf__mariadb_pair *p = calloc(1, sizeof *p);

    hf__mariadb_need();
    if (!p) {
        hf__servers_fail("out of memory");
    }
    p->is_semi_sync = opts && opts->is_semi_sync;
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        p->nodes[i] = hf__mariadb_new(NULL, hf__mariadb_fill);
        launch(p, i, i > 0);
    }
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        hf__mariadb_await(p->nodes[i]);
        if (!opts || !opts->is_never_cut) {
            p->ways[i] = hf__proxy_start(hf__mariadb_port(p->nodes[i]),
                                         &hf__framing_none);
        }
        prepare(p->nodes[i]);
    }
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        follow_the_other(p, i);
    }
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        hf__mariadb_pair_expect_well(p, i);
    }
    return p;
}

void hf__mariadb_pair_free(struct hf__mariadb_pair *p)
{
    for (int i = 0; p && i < HF__MARIADB_PAIR; i++) {
        hf__mariadb_free(p->nodes[i]);
        hf__proxy_free(p->ways[i]);
    }
    free(p);
}

void hf__mariadb_pair_kill(struct hf__mariadb_pair *p, int which)
{
    hf__mariadb_kill(p->nodes[which]);
}

void hf__mariadb_pair_relaunch(struct hf__mariadb_pair *p, int which,
                               bool is_read_only)
{
    launch(p, which, is_read_only);
}

void hf__mariadb_pair_restart(struct hf__mariadb_pair *p, int which,
                              bool is_read_only)
{
    launch(p, which, is_read_only);
    hf__mariadb_await(p->nodes[which]);
}

/* ---- the link */

void hf__mariadb_pair_cut_link(const struct hf__mariadb_pair *p)
{
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        hf__proxy_refuse(p->ways[i]);
        hf__proxy_cut(p->ways[i], HF__RESET);
    }
}

void hf__mariadb_pair_heal_link(const struct hf__mariadb_pair *p)
{
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        hf__proxy_heal(p->ways[i]);
    }
}

void hf__mariadb_pair_url(const struct hf__mariadb_pair *p, int first,
                          const char *database, char *url, size_t size)
{
    snprintf(url, size,
             "mysql://" HF__MARIADB_USER ":" HF__MARIADB_PASSWORD
             "@127.0.0.1:%d,127.0.0.1:%d/%s",
             hf__mariadb_port(p->nodes[first]),
             hf__mariadb_port(p->nodes[other_of(first)]), database);
}
