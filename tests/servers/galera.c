/* SPDX-License-Identifier: MIT */
/*
 * Starting, ending and dividing a Galera cluster. Its nodes begin with the same
 * data, of which a cluster of one was made before, so that none needs a copy of
 * another's: what a node lacks it is sent as changes. For that, too, the server
 * runs a script; ours only says which changes. Called by the process that
 * starts them, but for what asks a node.
 */
#include "tests/servers/galera.h"
#include "tests/lib/runner.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb_private.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROVIDER  "/usr/lib/galera/libgalera_smm.so"
#define BY_OPTION "--wsrep-provider=/usr/lib/galera/libgalera_smm.so"
enum { LAYOUT = 1, STEPS_MS = 60000, LOOKS_MS = 10 };
enum { ROOM = 1024, MORE_MAX = 16 };

struct node {
    struct hf__mariadb *server;
    int group_port;
    int changes_port; /* for those that it lacks */
};

struct hf__galera {
    struct node nodes[HF__GALERA_NODES];
    int n;
    bool has_usual_limits;
};

bool hf__galera_is_installed(void)
{
    return hf__mariadb_is_installed() && access(PROVIDER, R_OK) == 0;
}

void hf__galera_need(void)
{
    if (!hf__galera_is_installed()) {
        hf__servers_missing("galera-4");
    }
}

/* ---- a node's command */

/* The joiner's folder is its address. */
static const char script[] =
    "#!/bin/sh\n"
    "set -eu\n"
    "while [ $# -gt 0 ]; do\n"
    "    case $1 in\n"
    "    --role) role=$2 ;;\n"
    "    --address) address=$2 ;;\n"
    "    --datadir) data=$2 ;;\n"
    "    --gtid) position=$2 ;;\n"
    "    --bypass) bypass=1 ;;\n"
    "    esac\n"
    "    shift\n"
    "done\n"
    "if [ $role = joiner ]; then\n"
    "    rm -f \"$data/position\"\n"
    "    echo \"ready $data\"\n"
    "    while ! [ -e \"$data/position\" ]; do sleep 0.02; done\n"
    "    cat \"$data/position\"\n"
    "else\n"
    "    : \"${bypass:?the changes are not there any more}\"\n"
    "    echo continue\n"
    "    echo \"$position\" >\"$address/position.new\"\n"
    "    mv \"$address/position.new\" \"$address/position\"\n"
    "    echo \"done $position\"\n"
    "fi\n";

static void write_script(const char *folder)
{
    char path[ROOM];
    FILE *f;

    snprintf(path, sizeof path, "%s/wsrep_sst_changes", folder);
    f = fopen(path, "we");
    if (!f || fputs(script, f) < 0 || fclose(f) != 0 || chmod(path, 0700) < 0) {
        hf__servers_fail("write %s: %s", path, strerror(errno));
    }
}

static const char quick[] =
    ";evs.suspect_timeout=PT0.5S;evs.inactive_timeout=PT1.5S"
    ";evs.inactive_check_period=PT0.05S;evs.keepalive_period=PT0.1S"
    ";evs.join_retrans_period=PT0.1S;evs.install_timeout=PT1.5S"
    ";pc.announce_timeout=PT0.3S;gmcast.peer_timeout=PT1S"
    ";gmcast.time_wait=PT0.3S";

/* The options that make it a node of these. */
struct words {
    char cluster[ROOM];
    char provider[ROOM];
    char name[32];
    const char *list[MORE_MAX];
};

static void write_words(struct words *w, const struct hf__galera *g, int which,
                        const char *last)
{
    static const char *const fixed[] = {"--wsrep-on=ON",
                                        BY_OPTION,
                                        "--wsrep-node-address=127.0.0.1",
                                        "--wsrep-sst-method=changes",
                                        "--binlog-format=ROW",
                                        "--innodb-autoinc-lock-mode=2"};
    const struct node *node = &g->nodes[which];
    int length = snprintf(w->cluster, ROOM, "--wsrep-cluster-address=gcomm://");
    int n = 0;

    for (int i = 0; i < g->n; i++) {
        length +=
            snprintf(w->cluster + length, ROOM - (size_t)length,
                     "%s127.0.0.1:%d", i ? "," : "", g->nodes[i].group_port);
    }
    snprintf(w->provider, ROOM,
             "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:%d"
             ";ist.recv_addr=127.0.0.1:%d;gcache.size=8M;gcache.page_size=1M%s",
             node->group_port, node->changes_port,
             g->has_usual_limits ? "" : quick);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        w->list[n++] = fixed[i];
    }
    snprintf(w->name, sizeof w->name, "--wsrep-node-name=n%d", which + 1);
    w->list[n++] = w->name;
    w->list[n++] = w->cluster;
    w->list[n++] = w->provider;
    w->list[n++] = last;
    w->list[n] = NULL;
}

static void launch(struct hf__galera *g, int which, const char *last)
{
    struct words words;

    write_words(&words, g, which, last);
    hf__mariadb_launch(g->nodes[which].server, words.list);
}

/* ---- its data */

static void put_data(const char *data);

static void add_node(struct hf__galera *g, void (*fill)(const char *data))
{
    struct node *node = &g->nodes[g->n++];

    node->server = hf__mariadb_new(NULL, fill);
    node->group_port = hf__servers_take_port();
    node->changes_port = hf__servers_take_port();
    write_script(node->server->folder);
}

/* A cluster of one, which is stopped then; it may begin one again. */
static void make_data(const char *path)
{
    struct hf__galera first = {.has_usual_limits = true};
    char data[ROOM];
    char file[ROOM + 16];

    add_node(&first, hf__mariadb_fill);
    launch(&first, 0, "--wsrep-new-cluster");
    hf__mariadb_await(first.nodes[0].server);
    hf__galera_await(&first, 0, 1);
    hf__mariadb_stop(first.nodes[0].server);
    snprintf(data, sizeof data, "%s/data", first.nodes[0].server->folder);
    snprintf(file, sizeof file, "%s/galera.cache", data);
    unlink(file);
    hf__servers_copy(data, path);
    hf__mariadb_free(first.nodes[0].server);
}

static void put_data(const char *data)
{
    char program[HF__SERVERS_PATH];
    char path[HF__TEMPLATE_PATH];
    const struct hf__template template = {.kind = "galera",
                                          .layout = LAYOUT,
                                          .of = {program, PROVIDER},
                                          .make = make_data};

    hf__servers_find("mariadbd", program, sizeof program);
    if (hf__servers_template(&template, path)) {
        hf__servers_copy(path, data);
    } else {
        hf__servers_fail("no place for a template of a cluster");
    }
}

/* ---- start and end */

struct hf__galera *hf__galera_start(const struct hf__galera_opts *opts)
{
    struct hf__galera *g = calloc(1, sizeof *g);
    bool is_single = opts && opts->is_single;

    hf__galera_need();
    if (!g) {
        hf__servers_fail("out of memory");
    }
    g->has_usual_limits = opts && opts->has_usual_limits;
    for (int i = 0; i < (is_single ? 1 : HF__GALERA_NODES); i++) {
        add_node(g, is_single ? hf__mariadb_fill : put_data);
    }
    for (int i = 0; i < g->n; i++) {
        launch(g, i, i == 0 ? "--wsrep-new-cluster" : NULL);
    }
    for (int i = 0; i < g->n; i++) {
        hf__mariadb_await(g->nodes[i].server);
        hf__galera_await(g, i, g->n);
    }
    return g;
}

void hf__galera_free(struct hf__galera *g)
{
    for (int i = 0; g && i < g->n; i++) {
        hf__mariadb_free(g->nodes[i].server);
    }
    free(g);
}

struct hf__mariadb *hf__galera_node(const struct hf__galera *g, int which)
{
    return g->nodes[which].server;
}

void hf__galera_kill(struct hf__galera *g, int which)
{
    hf__mariadb_kill(g->nodes[which].server);
}

/* One that was killed does not know how far it was until it is asked. */
void hf__galera_relaunch(struct hf__galera *g, int which)
{
    static const char said[] = "Recovered position: ";
    char line[ROOM] = "";
    char position[ROOM] = "";
    char log[ROOM];
    FILE *f;

    launch(g, which, "--wsrep-recover");
    hf__warden_wait(g->nodes[which].server->warden,
                    hf__test_patience(STEPS_MS));
    snprintf(log, sizeof log, "%s/log", g->nodes[which].server->folder);
    f = fopen(log, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, said);

        if (at) {
            snprintf(position, sizeof position, "--wsrep-start-position=%.*s",
                     (int)strcspn(at + strlen(said), "\n"), at + strlen(said));
        }
    }
    if (f) {
        fclose(f);
    }
    launch(g, which, position);
}

void hf__galera_restart(struct hf__galera *g, int which)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(STEPS_MS);
    const struct hf__mariadb *m = g->nodes[which].server;

    hf__galera_relaunch(g, which);
    while (strcmp(hf__mariadb_status(m, "wsrep_local_state"), "4") != 0) {
        if (hf__mariadb_has_ended(g->nodes[which].server) ||
            hf__test_now_ms() > until) {
            hf__warden_print_log(m->warden);
            hf__servers_fail("node %d does not come back", which);
        }
        hf__test_pause_ms(LOOKS_MS);
    }
}

/* ---- who meets whom */

void hf__galera_cut_off(const struct hf__galera *g, int which)
{
    hf__mariadb_sql(g->nodes[which].server,
                    "SET GLOBAL wsrep_provider_options='gmcast.isolate=1'");
}

void hf__galera_let_back(const struct hf__galera *g, int which)
{
    hf__mariadb_sql(g->nodes[which].server,
                    "SET GLOBAL wsrep_provider_options='gmcast.isolate=0'");
}

static void await(const struct hf__galera *g, int which, const char *name,
                  const char *value)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(STEPS_MS);
    const struct hf__mariadb *m = g->nodes[which].server;

    while (strcmp(hf__mariadb_status(m, name), value) != 0) {
        if (hf__test_now_ms() > until) {
            hf__warden_print_log(m->warden);
            hf__servers_fail("node %d: %s is %s, not %s", which, name,
                             hf__mariadb_status(m, name), value);
        }
        hf__test_pause_ms(LOOKS_MS);
    }
}

void hf__galera_await(const struct hf__galera *g, int node, int n)
{
    char size[16];

    snprintf(size, sizeof size, "%d", n);
    await(g, node, "wsrep_cluster_size", size);
    await(g, node, "wsrep_ready", "ON");
    await(g, node, "wsrep_local_state", "4");
}

void hf__galera_await_alone(const struct hf__galera *g, int node)
{
    await(g, node, "wsrep_ready", "OFF");
}

void hf__galera_url(const struct hf__galera *g, int first, int n,
                    const char *database, char *url, size_t size)
{
    int length = snprintf(
        url, size, "mysql://" HF__MARIADB_USER ":" HF__MARIADB_PASSWORD "@");

    for (int i = 0; i < n; i++) {
        const struct node *node = &g->nodes[(first + i) % g->n];

        length += snprintf(url + length, size - (size_t)length,
                           "%s127.0.0.1:%d", i ? "," : "", node->server->port);
    }
    snprintf(url + length, size - (size_t)length, "/%s", database);
}
