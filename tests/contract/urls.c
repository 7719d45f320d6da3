/* SPDX-License-Identifier: MIT */
/*
 * One row for each store: what comes after the colon. A store in memory is
 * fresh because each test is a process of its own; one in a file lies in the
 * folder of the test; one on a server is a database of the test, on a server,
 * or a group of them, that the program starts before its first test.
 */
#include "tests/contract/urls.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/redis.h"
#include "tests/servers/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void in_memory(char *rest, size_t size)
{
    snprintf(rest, size, "%s", "");
}

/* Long enough for machines that are watched by sanitizers. */
static void in_memory_of_sessions(char *rest, size_t size)
{
    snprintf(rest, size, "?session_timeout=%dms",
             getenv("HOLDFAST_TEST_SLOW") ? 15000 : 3000);
}

static void in_file(char *rest, size_t size)
{
    snprintf(rest, size, "%s/locks.db", hf__test_folder());
}

static void in_folder(char *rest, size_t size)
{
    snprintf(rest, size, "%s/locks", hf__test_folder());
}

static void on_mariadb(char *rest, size_t size)
{
    char url[HF__MARIADB_URL];

    hf__mariadb_test_url(url, sizeof url);
    snprintf(rest, size, "%s", strchr(url, ':') + 1);
}

static void on_redis(char *rest, size_t size)
{
    char url[HF__REDIS_URL];

    hf__redis_test_url(url, sizeof url);
    snprintf(rest, size, "%s", strchr(url, ':') + 1);
}

static void on_five_redis(char *rest, size_t size)
{
    char url[HF__REDIS_URL];

    hf__redlock_test_url(url, sizeof url);
    snprintf(rest, size, "%s", strchr(url, ':') + 1);
}

/* As long as those in memory. */
static void write_zookeeper(char *rest, size_t size, const char *recipe)
{
    char url[HF__ZOOKEEPER_URL];

    hf__zookeeper_test_url(url, sizeof url);
    snprintf(rest, size, "%s?session_timeout=%dms&recipe=%s",
             strchr(url, ':') + 1, getenv("HOLDFAST_TEST_SLOW") ? 15000 : 3000,
             recipe);
}

static void on_zookeeper(char *rest, size_t size)
{
    write_zookeeper(rest, size, "fair");
}

static void simply_on_zookeeper(char *rest, size_t size)
{
    write_zookeeper(rest, size, "simple");
}

/* A server takes empty containers away by itself, each minute; one of the
 * tests, each second. What a store cleans up is counted here, which it can't be
 * if the server comes first: this one does not. */
static void share_zookeeper(void)
{
    static const char *const java[] = {
        "-Dznode.container.checkIntervalMs=3600000", NULL};
    const struct hf__zookeeper_opts opts = {.java = java};

    hf__zookeeper_share_with(&opts);
}

static const struct {
    const char *store;
    void (*write_rest)(char *rest, size_t size);
    void (*prepare)(void); /* before the first test; or NULL */
} known[] = {
    {"memory", in_memory, NULL},
    {"memory:session", in_memory_of_sessions, NULL},
    {"sqlite", in_file, NULL},
    {"file", in_folder, NULL},
    {"mysql", on_mariadb, hf__mariadb_share},
    {"mariadb", on_mariadb, hf__mariadb_share},
    {"redis", on_redis, hf__redis_share},
    {"redlock", on_five_redis, hf__redis_share_group},
    {"zookeeper", on_zookeeper, share_zookeeper},
    {"zookeeper:simple", simply_on_zookeeper, share_zookeeper},
};
enum { KNOWN = sizeof known / sizeof known[0] };

int hf__store_url(const char *store, char *url, size_t size)
{
    int n;

    for (int i = 0; i < KNOWN; i++) {
        if (strcmp(store, known[i].store) == 0) {
            n = snprintf(url, size, "%.*s:", (int)strcspn(store, ":"), store);
            known[i].write_rest(url + n, size - (size_t)n);
            return 0;
        }
    }
    return -1;
}

/* The program's first argument is the store, perhaps as fault+X. */
static void prepare_store(void)
{
    const char *store = hf__test_args[0] ? hf__test_args[0] : "";
    const char *plus = strrchr(store, '+');

    for (int i = 0; i < KNOWN; i++) {
        if (strcmp(plus ? plus + 1 : store, known[i].store) == 0 &&
            known[i].prepare) {
            known[i].prepare();
        }
    }
}

__attribute__((constructor)) static void register_preparation(void)
{
    hf__test_prepare(prepare_store);
}
