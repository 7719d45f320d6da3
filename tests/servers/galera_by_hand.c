/* SPDX-License-Identifier: MIT */
/*
 * For tests that are no C: a Galera cluster of three, which does what it reads
 * until there is no more to read.
 *
 *     galera_by_hand [--usual]
 *
 * It writes "URL0 URL1 URL2", each all nodes in another order, and then a line
 * for each that it reads when that is done: kill N, restart N, relaunch N (and
 * waits for nothing), pause N, resume N, cut N, back N, desync N, sync N,
 * await N M (N sees M and is in step), alone N, ddl N (a statement that all
 * wait for). With --usual its nodes take as long to miss one as they do by
 * default. Exits with 2 where Galera is not installed.
 */
#include "tests/servers/by_hand.h"
#include "tests/servers/galera.h"

#include <stdio.h>
#include <string.h>

static struct hf__galera *g;

static void set_desync(int node, const char *value)
{
    hf__mariadb_sql(hf__galera_node(g, node), "SET GLOBAL wsrep_desync=%s",
                    value);
}

static bool do_to_members(const char *what, int node, int n)
{
    if (strcmp(what, "cut") == 0) {
        hf__galera_cut_off(g, node);
    } else if (strcmp(what, "back") == 0) {
        hf__galera_let_back(g, node);
    } else if (strcmp(what, "await") == 0) {
        hf__galera_await(g, node, n);
    } else if (strcmp(what, "alone") == 0) {
        hf__galera_await_alone(g, node);
    } else if (strcmp(what, "desync") == 0) {
        set_desync(node, "ON");
    } else if (strcmp(what, "sync") == 0) {
        set_desync(node, "OFF");
    } else {
        return false;
    }
    return true;
}

static bool do_to_servers(const char *what, int node)
{
    if (strcmp(what, "kill") == 0) {
        hf__galera_kill(g, node);
    } else if (strcmp(what, "restart") == 0) {
        hf__galera_restart(g, node);
    } else if (strcmp(what, "relaunch") == 0) {
        hf__galera_relaunch(g, node);
    } else if (strcmp(what, "pause") == 0) {
        hf__mariadb_pause(hf__galera_node(g, node));
    } else if (strcmp(what, "resume") == 0) {
        hf__mariadb_resume(hf__galera_node(g, node));
    } else if (strcmp(what, "ddl") == 0) {
        hf__mariadb_sql(hf__galera_node(g, node),
                        "ALTER TABLE hf_own.holdfast_lock FORCE");
    } else {
        return false;
    }
    return true;
}

static bool obey(const char *what, int node, int n)
{
    return do_to_servers(what, node) || do_to_members(what, node, n);
}

static void tell_urls(void)
{
    char url[512];

    for (int i = 0; i < HF__GALERA_NODES; i++) {
        hf__galera_url(g, i, HF__GALERA_NODES, "hf_own", url, sizeof url);
        printf("%s%s", i == 0 ? "" : " ", url);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct hf__galera_opts opts = {
        .has_usual_limits = argc > 1 && strcmp(argv[1], "--usual") == 0};

    if (!hf__galera_is_installed()) {
        return 2;
    }
    g = hf__galera_start(&opts);
    hf__mariadb_sql(hf__galera_node(g, 0), "CREATE DATABASE hf_own");
    tell_urls();
    hf__by_hand(HF__GALERA_NODES, obey);
    hf__galera_free(g);
    return 0;
}
