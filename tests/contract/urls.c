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
#include "tests/servers/galera.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_pair.h"
#include "tests/servers/postgres.h"
#include "tests/servers/redis.h"
#include "tests/servers/redis_sentinel.h"
#include "tests/servers/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void in_file(char *url, size_t size)
{
    snprintf(url, size, ":%s/locks.db", hf__test_folder());
}

static void in_folder(char *url, size_t size)
{
    snprintf(url, size, ":%s/locks", hf__test_folder());
}

static const struct row {
    const char *store;
    void (*write_url)(char *url, size_t size); /* NULL: it has no place */
    void (*prepare)(void); /* before the first test; or NULL */
} known[] = {
    {"memory", NULL, NULL},
    {"memory:session", NULL, NULL},
    {"sqlite", in_file, NULL},
    {"file", in_folder, NULL},
    {"mysql", hf__mariadb_test_url, hf__mariadb_share},
    {"mariadb", hf__mariadb_test_url, hf__mariadb_share},
    {"mysql:session", hf__mariadb_test_url, hf__mariadb_share},
    {"mysql:alone", hf__mariadb_test_url, hf__mariadb_share},
    {"mysql:row", hf__mariadb_test_url, hf__mariadb_share},
    {"mysql:galera", hf__galera_test_url, hf__galera_share},
    {"mysql:pair", hf__mariadb_pair_test_url, hf__mariadb_pair_share},
    {"postgres", hf__postgres_test_url, hf__postgres_share},
    {"redis", hf__redis_test_url, hf__redis_share},
    {"redis:sentinel", hf__redis_sentinels_test_url, hf__redis_share_sentinels},
    {"redlock", hf__redlock_test_url, hf__redis_share_group},
    {"zookeeper", hf__zookeeper_test_url, hf__zookeeper_share},
    {"zookeeper:simple", hf__zookeeper_test_url, hf__zookeeper_share},
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
    hf__store_scheme(store, url, size);
    n = strlen(url);
    n += (size_t)snprintf(url + n, size - n, ":");
    if (row->write_url) {
        char other[HF__ZOOKEEPER_URL];

        row->write_url(other, sizeof other);
        snprintf(url + n, size - n, "%s", strchr(other, ':') + 1);
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
