/* SPDX-License-Identifier: MIT */
/*
 * What the words of site.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_mysql_galera/site.h"

#include "src/base/rand.h"
#include "tests/contract/urls.h"

#include <string.h>

enum { LEASE_MS = 30000 };

static struct hf__galera *own;

struct hf__galera *cluster(void)
{
    return own ? own : hf__galera_shared();
}

struct own_cluster begin_own_cluster(void)
{
    own = hf__galera_start(NULL);
    hf__mariadb_sql(node(0), "CREATE DATABASE hf_own");
    for (int i = 1; i < HF__GALERA_NODES; i++) {
        UNTIL(strcmp(hf__mariadb_value(node(i), "SHOW DATABASES LIKE 'hf_own'"),
                     "hf_own") == 0);
    }
    return (struct own_cluster){own};
}

void end_own_cluster(struct own_cluster *o)
{
    hf__galera_free(o->its);
    own = NULL;
}

struct hf__mariadb *node(int which)
{
    return hf__galera_node(cluster(), which);
}

const char *database(void)
{
    static _Thread_local char name[HF__MARIADB_NAME];
    char url[512];

    if (own) {
        return "hf_own";
    }
    hf__galera_test_url(url, sizeof url);
    snprintf(name, sizeof name, "%s", strrchr(url, '/') + 1);
    return name;
}

const char *url_of(int first, int n, const char *options)
{
    static _Thread_local char url[1024];
    size_t length;

    hf__galera_url(cluster(), first, n, database(), url, sizeof url);
    length = strlen(url);
    if (options) {
        snprintf(url + length, sizeof url - length, "?%s", options);
    }
    return url;
}

int hf__store_url(const char *store, char *url, size_t size)
{
    (void)store;
    snprintf(url, size, "%s", url_of(0, HF__GALERA_NODES, NULL));
    return 0;
}

hf_client *client_of(int first, int n, const char *options)
{
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;

    EXPECT_IS(hf_open(url_of(first, n, options), NULL, &client, &err), HF_OK);
    return client;
}

struct hf__token new_token(void)
{
    struct hf__token token;

    hf__random(&token, sizeof token);
    return token;
}

int do_by(struct door *d, enum hf__op_kind kind, const struct hf__token *token)
{
    static const struct hf__owner owner = {.label = "test", .pid = 1};
    static const char key[] = "holdfast:job";
    struct hf__op op = {.kind = kind,
                        .key = {key, sizeof key - 1, 9},
                        .token = *token,
                        .lease_us = LEASE_MS * INT64_C(1000),
                        .owner = &owner,
                        .err = &d->error};
    struct hf__op *ops[] = {&op};

    EXPECT_IS(hf__conn_execute(&d->conn, ops, 1, hf__after_ms(hf__now(), 10000),
                               &d->error),
              HF_OK);
    return op.result;
}

void keep_busy(void)
{
    hf__mariadb_sql(node(0),
                    "CREATE TABLE IF NOT EXISTS %s.much(a INT PRIMARY KEY)",
                    database());
    hf__mariadb_sql(node(0), "DELETE FROM %s.much", database());
    hf__mariadb_sql(node(0),
                    "INSERT INTO %s.much SELECT seq FROM %s.seq_1_to_60000",
                    database(), database());
}
