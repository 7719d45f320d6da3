/* SPDX-License-Identifier: MIT */
/*
 * What the words of site.h do. Thread: each door is used by one at a time.
 */
#include "tests/store_mysql_pair/site.h"

#include "tests/contract/urls.h"
#include "tests/servers/servers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_MS = 2000, URL = 1024 };

static struct hf__mariadb_pair *own;

struct hf__mariadb_pair *pair(void)
{
    return own ? own : hf__mariadb_pair_shared();
}

struct own_pair begin_own_pair(void)
{
    own = hf__mariadb_pair_start(NULL);
    hf__mariadb_sql(node(0), "CREATE DATABASE hf_own");
    hf__mariadb_pair_await_caught_up(own, 1);
    return (struct own_pair){own};
}

void end_own_pair(struct own_pair *o)
{
    hf__mariadb_pair_free(o->its);
    own = NULL;
}

struct hf__mariadb *node(int which)
{
    return hf__mariadb_pair_node(pair(), which);
}

const char *database(void)
{
    static _Thread_local char name[HF__MARIADB_NAME];
    char url[URL];

    if (own) {
        return "hf_own";
    }
    hf__mariadb_pair_test_url(url, sizeof url);
    snprintf(name, sizeof name, "%s", strrchr(url, '/') + 1);
    return name;
}

/* ---- URLs and clients */

int64_t longest_ms(void)
{
    return patience(LONGEST_MS);
}

int64_t grant_ms(void)
{
    return patience(20000);
}

const char *url_with(int first, const char *options)
{
    static _Thread_local char url[URL];
    size_t length;

    hf__mariadb_pair_url(pair(), first, database(), url, sizeof url);
    length = strlen(url);
    snprintf(url + length, sizeof url - length, "?%s", options);
    return url;
}

const char *usual_options(void)
{
    static _Thread_local char options[64];

    snprintf(options, sizeof options, "longest_lease=%" PRId64 "ms",
             longest_ms());
    return options;
}

const char *url_of(int first)
{
    return url_with(first, usual_options());
}

const char *url_reaching(int which)
{
    static _Thread_local char url[URL];
    static int nobody;

    if (!nobody) {
        nobody = hf__servers_take_port();
    }
    snprintf(url, sizeof url,
             "mysql://" HF__MARIADB_USER ":" HF__MARIADB_PASSWORD
             "@127.0.0.1:%d,127.0.0.1:%d/%s?%s",
             hf__mariadb_port(node(which)), nobody, database(),
             usual_options());
    return url;
}

int hf__store_url(const char *store, char *url, size_t size)
{
    (void)store;
    snprintf(url, size, "%s", url_of(0));
    return 0;
}

hf_client *client_of(const char *url)
{
    hf_error err = HF_ERROR_INIT;
    hf_client *client = NULL;

    if (hf_open(url, NULL, &client, &err) != HF_OK) {
        printf("%s\n", err.text);
    }
    EXPECT(client);
    return client;
}

hf_acquire_opts longest(int64_t wait_ms)
{
    return wanting(wait_ms, longest_ms());
}

int attempt_longest(hf_client *client, const char *name, int64_t wait_ms)
{
    hf_acquire_opts opts = longest(wait_ms);

    return attempt_with(client, name, &opts);
}

/* ---- what an operator does */

int primary_at(int which)
{
    return (int)strtol(hf__mariadb_value(node(which),
                                         "SELECT server_id FROM "
                                         "%s.holdfast_server ORDER BY epoch "
                                         "DESC LIMIT 1",
                                         database()),
                       NULL, 10);
}

int64_t told_by(int which, const char *column)
{
    return strtoll(hf__mariadb_value(node(which),
                                     "SELECT %s FROM %s.holdfast_server "
                                     "WHERE server_id=%d",
                                     column, database(), which + 1),
                   NULL, 10);
}

void lose_the_first(void)
{
    hf__mariadb_pair_kill(pair(), 0);
    hf__mariadb_pair_await_applied(pair(), 1);
    hf__mariadb_pair_set_read_only(pair(), 1, false);
}

void expect_both_well(void)
{
    for (int i = 0; i < HF__MARIADB_PAIR; i++) {
        hf__mariadb_pair_await_caught_up(pair(), i);
        hf__mariadb_pair_expect_well(pair(), i);
    }
}
