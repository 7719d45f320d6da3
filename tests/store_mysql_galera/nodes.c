/* SPDX-License-Identifier: MIT */
/*
 * Several nodes, of which all are well: what one has been told counts at each,
 * though it has not come there yet. Which hosts are one system, and which of
 * its nodes is gone to.
 */
#include "tests/store_mysql_galera/site.h"

#include "include/holdfast-cell.h"

#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void share_a_cluster(void)
{
    hf__test_prepare(hf__galera_share);
}

/* ---- what one was told and another has not applied yet */

TEST(what_another_node_granted_is_not_lost_before_it_is_known_here)
{
    DOOR(there);
    DOOR(here);
    struct hf__token token = new_token();

    EXPECT_IS(enter(&there, url_of(0, 1, NULL)), HF_OK);
    EXPECT_IS(enter(&here, url_of(1, 1, NULL)), HF_OK);
    keep_busy();
    EXPECT_IS(do_by(&there, HF__OP_ACQUIRE, &token), HF_OK);
    EXPECT_IS(do_by(&here, HF__OP_RENEW, &token), HF_OK);
    keep_busy();
    EXPECT_IS(do_by(&there, HF__OP_RELEASE, &token), HF_OK);
    token = new_token();
    EXPECT_IS(do_by(&here, HF__OP_ACQUIRE, &token), HF_OK);
    EXPECT_IS(do_by(&here, HF__OP_RELEASE, &token), HF_OK);
}

/* Its own answer would be that nobody has it. */
TEST(what_a_node_has_not_heard_of_is_seen_by_those_who_look_there)
{
    AUTO_CLIENT *there = client_of(0, 1, NULL);
    AUTO_CLIENT *here = client_of(2, 1, NULL);
    AUTO_LOCK *lock = NULL;

    EXPECT_IS(presence(here, "job"), HF_FREE);
    keep_busy();
    lock = acquire(there, "job");
    EXPECT_IS(presence(here, "job"), HF_HELD_BY);
    keep_busy();
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(presence(here, "job"), HF_FREE);
}

/* ---- cells */

enum { THREADS = 6, EACH = 10 };

static int add_one(void *arg, char *value, size_t *length)
{
    long count = *length == HF_CELL_NONE ? 0 : strtol(value, NULL, 10);

    (void)arg;
    *length = (size_t)snprintf(value, HF_CELL_MAX, "%ld", count + 1);
    return HF_OK;
}

static void count_up(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        hf_error err = HF_ERROR_INIT;
        int r = hf_cell_update(arg, "count", add_one, NULL, NULL, &err);

        if (r != HF_OK) {
            printf("%s: %s\n", hf_strstatus(r), err.text);
        }
        EXPECT_IS(r, HF_OK);
    }
}

static void expect_count(hf_client *client, const char *count)
{
    hf_cell *cell = NULL;

    EXPECT_IS(hf_cell_get(client, "count", &cell, NULL), HF_OK);
    EXPECT_SAFE(hf_cell_value(cell) != NULL &&
                strcmp(hf_cell_value(cell), count) == 0);
    hf_cell_free(cell);
}

/* Of two that replace the same version on two nodes one is undone. */
TEST_WITHIN(120, changes_of_one_cell_at_all_nodes_are_all_made)
{
    struct hf__test_thread *threads[THREADS];
    hf_client *clients[3];
    AUTO_CLIENT *any = client_of(0, 3, NULL);

    for (int i = 0; i < 3; i++) {
        clients[i] = client_of(i, 1, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        threads[i] = hf__test_start(count_up, clients[i % 3]);
    }
    hf__test_join_all(threads, THREADS);
    for (int i = 0; i < 3; i++) {
        expect_count(clients[i], "60");
        hf_close(clients[i]);
    }
    expect_count(any, "60");
}

/* ---- which hosts are one system */

TEST_WITHIN(60, nodes_of_two_clusters_are_refused)
{
    struct hf__galera_opts single = {.is_single = true};
    struct hf__galera *other = hf__galera_start(&single);
    DOOR(d);
    char url[512];
    char both[600];

    hf__mariadb_sql(hf__galera_node(other, 0), "CREATE DATABASE %s",
                    database());
    hf__galera_url(other, 0, 1, database(), url, sizeof url);
    *strrchr(url, '/') = '\0';
    snprintf(both, sizeof both, "%s,127.0.0.1:%d/%s", url,
             hf__mariadb_port(node(0)), database());
    EXPECT_IS(enter(&d, both), HF_OK);
    hf__galera_kill(other, 0);
    expect_refused(both, HF_EUNSAFE, "is of another cluster");
    hf__galera_free(other);
}

TEST_WITHIN(60, a_server_beside_a_cluster_is_refused)
{
    struct hf__mariadb *alone = hf__mariadb_start(NULL);
    char hosts[512];

    hf__mariadb_sql(alone, "CREATE DATABASE %s", database());
    hf__mariadb_url(alone, database(), hosts, sizeof hosts);
    *strrchr(hosts, '/') = '\0';
    snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts),
             ",127.0.0.1:%d/%s", hf__mariadb_port(node(0)), database());
    expect_refused(hosts, HF_EUNSAFE, "no nodes of a Galera cluster");
    hf__mariadb_free(alone);
}

TEST(locks_of_a_connection_are_refused_at_each_node)
{
    expect_refused(url_of(1, 1, "scheme=session"), HF_EUNSAFE,
                   "a node of a Galera cluster");
    expect_refused(url_of(2, 1, "scheme=row"), HF_EUNSAFE,
                   "a node of a Galera cluster");
    expect_refused(url_of(0, 3, "scheme=session"), HF_EUNSAFE,
                   "a node of a Galera cluster");
}

/* ---- which node is gone to */

static bool is_at(int which)
{
    return strcmp(hf__mariadb_value(node(which),
                                    "SELECT COUNT(*)>0 FROM "
                                    "information_schema.processlist WHERE "
                                    "user='%s' AND db='%s'",
                                    HF__MARIADB_USER, database()),
                  "1") == 0;
}

static void set_desync(int which, const char *value)
{
    hf__mariadb_sql(node(which), "SET GLOBAL wsrep_desync=%s", value);
}

TEST_WITHIN(60, who_need_not_keep_up_is_passed_by_while_another_does)
{
    OWN_CLUSTER;
    DOOR(d);

    EXPECT_IS(enter(&d, url_of(0, 3, NULL)), HF_OK);
    EXPECT(is_at(0));
    shut(&d);
    set_desync(0, "ON");
    EXPECT_IS(enter(&d, url_of(0, 3, NULL)), HF_OK);
    EXPECT(is_at(1));
    shut(&d);
    set_desync(1, "ON");
    set_desync(2, "ON");
    UNTIL(!is_at(0) && !is_at(1));
    EXPECT_IS(enter(&d, url_of(0, 3, NULL)), HF_OK);
    EXPECT(is_at(0));
    shut(&d);
    EXPECT_IS(enter(&d, url_of(2, 1, NULL)), HF_OK);
    EXPECT(is_at(2));
    for (int i = 0; i < HF__GALERA_NODES; i++) {
        set_desync(i, "OFF");
    }
}

/* ---- check() */

TEST(check_says_which_node_of_how_many_it_is)
{
    DOOR(d);
    hf_verdict verdict = HF_UNFIT;
    const char *found;

    EXPECT_IS(enter(&d, url_of(1, 3, NULL)), HF_OK);
    EXPECT_IS(hf__conn_server_info(&d.conn).grade, 'C');
    EXPECT_TEXT(finding(&d, "galera", &verdict), "Synced, one of 3");
    EXPECT_IS(verdict, HF_WARN);
    found = finding(&d, "galera_node", NULL);
    EXPECT_HAS(found, "n2 of ");
    EXPECT_HAS(found, hf__mariadb_status(node(1), "wsrep_cluster_state_uuid"));
    EXPECT_TEXT(finding(&d, "galera_size", &verdict), "3");
    EXPECT_IS(verdict, HF_FINE);
    EXPECT_HAS(finding(&d, "waiting", NULL), "by polling");
}
