/* SPDX-License-Identifier: MIT */
/*
 * Galera. Each node certifies each write against all before it, so of two
 * writes that change the same row one is refused, whatever nodes they were sent
 * to; and every grant writes its name's row. But a statement sees only what its
 * node has applied, and the node may lag: a row that is not there yet is
 * neither lost nor free. So each of our statements, or the first in a
 * transaction, waits until its node has applied what was committed anywhere
 * before (wsrep_sync_wait). Called by the session's thread.
 */
#include "src/backend/mysql/galera.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/backend/report.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/map.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* wsrep_sync_wait is the sum of 1 (SELECT, BEGIN), 2 (UPDATE, DELETE) and 4
 * (INSERT). */
#define SYNC_WAIT "7"
#define SYNCED    "4"
/* The error of a server that has no compound statements: MySQL. */
#define SYNTAX 1064
/* The node serves as before, but need not keep up: it is a joiner's donor, or
 * is being backed up. */
#define DESYNCED "2"

/* The node's status. */
struct node {
    char ready[8];
    char status[24]; /* of the node's component of the cluster */
    char state[8];
    char cluster[64];
    char name[64];
    char size[8];        /* of the cluster */
    char step[64];       /* the state in words */
    char dirty_reads[8]; /* "" if the server does not have it */
    bool has_compounds;
};

/* ---- one cluster for each URL */

/* The clusters that this process has connected to, as hashes; 0: none. */
#define KNOWN 32
static struct {
    _Atomic uint64_t url;
    _Atomic uint64_t cluster;
} known[KNOWN];

static uint64_t hash(const char *text)
{
    return hf__hash(text, strlen(text)) | 1;
}

/* Is it the same cluster that the URL led to before, as far as known? */
static bool is_the_same(const struct hf__url *url, const char *cluster)
{
    uint64_t key = hash(url->redacted);
    uint64_t mine = hash(cluster);

    for (unsigned i = 0; i < KNOWN; i++) {
        unsigned at = (unsigned)(key + i) % KNOWN;
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(&known[at].url, &found, key) ||
            found == key) {
            uint64_t first = 0;

            return atomic_compare_exchange_strong(&known[at].cluster, &first,
                                                  mine) ||
                   first == mine;
        }
    }
    return true;
}

/* ---- asking */

static void note(struct hf__mysql *s, struct node *n)
{
    const struct {
        const char *name;
        char *to;
        size_t size;
    } all[] = {{"wsrep_ready", n->ready, sizeof n->ready},
               {"wsrep_cluster_status", n->status, sizeof n->status},
               {"wsrep_local_state", n->state, sizeof n->state},
               {"wsrep_cluster_state_uuid", n->cluster, sizeof n->cluster},
               {"wsrep_node_name", n->name, sizeof n->name},
               {"wsrep_cluster_size", n->size, sizeof n->size},
               {"wsrep_local_state_comment", n->step, sizeof n->step},
               {"wsrep_dirty_reads", n->dirty_reads, sizeof n->dirty_reads}};
    MYSQL_ROW row;

    while ((row = hf__wire_row(s)) != NULL) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (row[1] != NULL && strcasecmp(row[0], all[i].name) == 0) {
                (void)snprintf(all[i].to, all[i].size, "%s", row[1]);
            }
        }
    }
}

static int refuse(struct hf__mysql *s)
{
    return hf__mysql_fail(s, s->t.err);
}

/* Read the status before the session's reads wait: on a node without its
 * cluster they would wait in vain. */
static int ask(struct hf__mysql *s, struct node *n)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql,
                 "SHOW GLOBAL STATUS WHERE Variable_name IN('wsrep_ready',"
                 "'wsrep_cluster_status','wsrep_local_state',"
                 "'wsrep_local_state_comment','wsrep_cluster_state_uuid',"
                 "'wsrep_cluster_size');"
                 "SHOW SESSION VARIABLES WHERE Variable_name IN("
                 "'wsrep_dirty_reads','wsrep_node_name');"
                 "SET SESSION wsrep_sync_wait=" SYNC_WAIT ";"
                 "BEGIN NOT ATOMIC END");
    r = hf__wire_send(s);
    while (r == HF_OK && s->reply.error == 0) {
        note(s, n);
        if (s->reply.is_last) {
            n->has_compounds = true;
            return HF_OK;
        }
        r = hf__wire_next(s);
    }
    return r != HF_OK || s->reply.error == SYNTAX ? r : refuse(s);
}

/* Dirty reads, which a node answers without its cluster, would not wait for
 * others. */
static int read_clean(struct hf__mysql *s, const struct node *n)
{
    if (n->dirty_reads[0] == '\0' || strcasecmp(n->dirty_reads, "OFF") == 0) {
        return HF_OK;
    }
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "SET SESSION wsrep_dirty_reads=OFF");
    return hf__mysql_run(s);
}

/* ---- judging */

static int judge(struct hf__mysql *s, const struct hf__url *url,
                 const char *allow, const struct node *n)
{
    bool has_others = url->n_hosts > 1;

    if (!n->has_compounds && !hf__is_allowed(allow, "galera")) {
        return hf__fail(
            s->t.err, HF_EUNSAFE,
            "this Galera node is not MariaDB: it may not report every "
            "transaction that was rolled back; allow=galera overrides");
    }

    if (strcasecmp(n->ready, "ON") != 0 ||
        strcasecmp(n->status, "Primary") != 0) {
        return hf__fail(s->t.err, HF_EUNAVAIL,
                        "this node is not in the primary component of its "
                        "cluster (wsrep_cluster_status %s, wsrep_ready %s)",
                        n->status, n->ready);
    }
    if (has_others && !is_the_same(url, n->cluster)) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "url: one of its hosts is of another cluster (%s) than "
                        "the host before, and grants what that has granted: "
                        "name nodes of one; if the cluster was created again, "
                        "restart this program",
                        n->cluster);
    }
    if (strcmp(n->state, SYNCED) == 0 ||
        (strcmp(n->state, DESYNCED) == 0 &&
         (!has_others || s->server.takes_desynced))) {
        return HF_OK;
    }
    s->server.has_desynced |= strcmp(n->state, DESYNCED) == 0;
    return hf__fail(s->t.err, HF_EUNAVAIL,
                    "this node is not synced with its cluster "
                    "(wsrep_local_state %s): it is a donor or a joiner",
                    n->state);
}

int hf__galera_ready(struct hf__mysql *s, const struct hf__url *url,
                     const char *allow)
{
    struct node n = {.ready = "OFF"};
    int r;

    if (!s->server.is_galera) {
        return HF_OK;
    }
    r = ask(s, &n);
    s->server.has_compounds = n.has_compounds;
    r = r == HF_OK ? judge(s, url, allow, &n) : r;
    return r == HF_OK ? read_clean(s, &n) : r;
}

int hf__galera_check(struct hf__mysql *s, struct hf__report *to)
{
    struct node n = {.ready = "OFF"};
    char value[160];
    int r;

    if (!s->server.is_galera) {
        hf__report_tell(to, "galera", "off", HF_FINE, NULL);
        return HF_OK;
    }
    r = ask(s, &n);
    (void)snprintf(value, sizeof value, "%s, one of %s", n.step, n.size);
    hf__report_tell(
        to, "galera", value, HF_WARN,
        "grade C: nodes that crash together may forget grants; name the same "
        "node first everywhere, with leases of 20 s or more: when one is gone "
        "the others write nothing for 5 s (evs.suspect_timeout)");
    (void)snprintf(value, sizeof value, "%s of %s", n.name, n.cluster);
    hf__report_tell(to, "galera_node", value, HF_FINE, NULL);
    hf__report_tell(to, "galera_size", n.size,
                    strtoul(n.size, NULL, 10) > 2 ? HF_FINE : HF_WARN,
                    "with one more node gone there may be no primary "
                    "component: use three nodes, or two and a garbd");
    return r;
}
