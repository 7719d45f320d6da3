/* SPDX-License-Identifier: MIT */
/*
 * One row for each scheme: what comes after the colon. A store in memory is
 * fresh because each test is a process of its own; one in a file lies in the
 * folder of the test; one on a server is a database of the test, on a server,
 * or a group of them, that the program starts before its first test.
 */
#include "tests/contract/urls.h"
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/redis.h"

#include <stdio.h>
#include <string.h>

static void in_memory(char *rest, size_t size)
{
    snprintf(rest, size, "%s", "");
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

static const struct {
    const char *scheme;
    void (*write_rest)(char *rest, size_t size);
    void (*prepare)(void); /* before the first test; or NULL */
} known[] = {
    {"memory", in_memory, NULL},
    {"sqlite", in_file, NULL},
    {"file", in_folder, NULL},
    {"mysql", on_mariadb, hf__mariadb_share},
    {"mariadb", on_mariadb, hf__mariadb_share},
    {"redis", on_redis, hf__redis_share},
    {"redlock", on_five_redis, hf__redis_share_group},
};
enum { KNOWN = sizeof known / sizeof known[0] };

int hf__store_url(const char *scheme, char *url, size_t size)
{
    int n;

    for (int i = 0; i < KNOWN; i++) {
        if (strcmp(scheme, known[i].scheme) == 0) {
            n = snprintf(url, size, "%s:", scheme);
            known[i].write_rest(url + n, size - (size_t)n);
            return 0;
        }
    }
    return -1;
}

/* The program's first argument is the scheme, perhaps as fault+X. */
static void prepare_store(void)
{
    const char *scheme = hf__test_args[0] ? hf__test_args[0] : "";
    const char *plus = strrchr(scheme, '+');

    for (int i = 0; i < KNOWN; i++) {
        if (strcmp(plus ? plus + 1 : scheme, known[i].scheme) == 0 &&
            known[i].prepare) {
            known[i].prepare();
        }
    }
}

__attribute__((constructor)) static void register_preparation(void)
{
    hf__test_prepare(prepare_store);
}
