/* SPDX-License-Identifier: MIT */
/*
 * One row for each store: its place, which is what comes after the colon. A
 * store in memory is fresh because each test is a process of its own; one in a
 * file lies in the folder of the test; one on a server is a database of the
 * test, on a server, or a group of them, that the program starts before its
 * first test.
 */
#include "tests/contract/urls.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/redis.h"
#include "tests/servers/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void in_file(char *place, size_t size)
{
    snprintf(place, size, "%s/locks.db", hf__test_folder());
}

static void in_folder(char *place, size_t size)
{
    snprintf(place, size, "%s/locks", hf__test_folder());
}

static void on_mariadb(char *place, size_t size)
{
    char url[HF__MARIADB_URL];

    hf__mariadb_test_url(url, sizeof url);
    snprintf(place, size, "%s", strchr(url, ':') + 1);
}

static void on_redis(char *place, size_t size)
{
    char url[HF__REDIS_URL];

    hf__redis_test_url(url, sizeof url);
    snprintf(place, size, "%s", strchr(url, ':') + 1);
}

static void on_five_redis(char *place, size_t size)
{
    char url[HF__REDIS_URL];

    hf__redlock_test_url(url, sizeof url);
    snprintf(place, size, "%s", strchr(url, ':') + 1);
}

static void on_zookeeper(char *place, size_t size)
{
    char url[HF__ZOOKEEPER_URL];

    hf__zookeeper_test_url(url, sizeof url);
    snprintf(place, size, "%s", strchr(url, ':') + 1);
}

static const struct row {
    const char *store;
    void (*write_place)(char *place, size_t size); /* NULL: it has none */
    void (*prepare)(void); /* before the first test; or NULL */
} known[] = {
    {"memory", NULL, NULL},
    {"memory:session", NULL, NULL},
    {"sqlite", in_file, NULL},
    {"file", in_folder, NULL},
    {"mysql", on_mariadb, hf__mariadb_share},
    {"mariadb", on_mariadb, hf__mariadb_share},
    {"redis", on_redis, hf__redis_share},
    {"redlock", on_five_redis, hf__redis_share_group},
    {"zookeeper", on_zookeeper, hf__zookeeper_share},
    {"zookeeper:simple", on_zookeeper, hf__zookeeper_share},
};

static const struct row *find(const char *store)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(hf__store_plain(store), known[i].store) == 0) {
            return &known[i];
        }
    }
    return NULL;
}

int hf__store_url(const char *store, char *url, size_t size)
{
    const struct row *row = find(store);
    struct hf__url kind = hf__store_kind(store, "");
    size_t n;

    if (!row) {
        return -1;
    }
    n = (size_t)snprintf(url, size, "%.*s:", (int)strcspn(store, ":"), store);
    if (row->write_place) {
        row->write_place(url + n, size - n);
    }
    for (size_t i = 0; i < kind.n_options; i++) {
        n = strlen(url);
        snprintf(url + n, size - n, "%c%s=%s", i == 0 ? '?' : '&',
                 kind.options[i].name, kind.options[i].value);
    }
    return 0;
}

/* The program's first argument is the store, perhaps as fault+X. */
static void prepare_store(void)
{
    const char *store = hf__test_args[0] ? hf__test_args[0] : "";
    const struct row *row = find(store);

    if (row && row->prepare) {
        row->prepare();
    }
}

__attribute__((constructor)) static void register_preparation(void)
{
    hf__test_prepare(prepare_store);
}
