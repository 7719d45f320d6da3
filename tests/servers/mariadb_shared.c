/* SPDX-License-Identifier: MIT */
/*
 * One MariaDB for all tests of a program: started by the runner, used by the
 * tests, which it forks; each test has a database there, named after its
 * folder, for that is the same in all its processes. Tests run one after the
 * other, so whatever other database there is belongs to one that is over.
 */
#include "tests/lib/test.h"
#include "tests/servers/mariadb.h"
#include "tests/servers/mariadb_private.h"
#include "tests/servers/servers.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

static struct hf__mariadb *shared;
static pid_t runner;

/* Tests are forked from the runner and end by exit() too. */
static void end_shared(void)
{
    if (getpid() == runner) {
        hf__mariadb_free(shared);
        shared = NULL;
    }
}

void hf__mariadb_share(void)
{
    if (!shared && hf__mariadb_is_installed()) {
        runner = getpid();
        shared = hf__mariadb_start(NULL);
        atexit(end_shared);
    }
}

void hf__mariadb_share_node(struct hf__mariadb *m)
{
    shared = m;
}

const struct hf__mariadb *hf__mariadb_shared(void)
{
    hf__mariadb_need();
    if (!shared) {
        hf__servers_fail("no shared server: hf__mariadb_share() was not "
                         "called before the first test");
    }
    return shared;
}

/* A client that was killed may still have locks on what shall go. */
static void end_others(const char *name)
{
    char id[HF__MARIADB_NAME];
    int64_t until = hf__test_now_ms() + hf__test_patience(PATIENCE_MS);

    for (;;) {
        snprintf(id, sizeof id, "%s",
                 hf__mariadb_value(shared,
                                   "SELECT id FROM "
                                   "information_schema.processlist WHERE "
                                   "db LIKE 'hf\\_test\\_%%' AND "
                                   "BINARY db <> '%s' LIMIT 1",
                                   name));
        if (!id[0] || hf__test_now_ms() > until) {
            return;
        }
        hf__mariadb_try(shared, "KILL %s", id);
    }
}

static void forget_others(const char *name)
{
    char other[HF__MARIADB_NAME];

    end_others(name);
    for (;;) {
        snprintf(other, sizeof other, "%s",
                 hf__mariadb_value(shared,
                                   "SELECT schema_name FROM "
                                   "information_schema.schemata WHERE "
                                   "schema_name LIKE 'hf\\_test\\_%%' AND "
                                   "BINARY schema_name <> '%s' LIMIT 1",
                                   name));
        if (!other[0]) {
            return;
        }
        hf__mariadb_sql(shared, "DROP DATABASE IF EXISTS %s", other);
    }
}

void hf__mariadb_test_url(char *url, size_t size)
{
    static _Thread_local char name[HF__MARIADB_NAME];

    hf__mariadb_shared();
    if (!name[0]) {
        unsigned r;

        snprintf(name, sizeof name, "hf_test_%s",
                 strrchr(hf__test_folder(), '-') + 1);
        r = hf__mariadb_try(shared, "CREATE DATABASE %s", name);
        if (r == 0) {
            forget_others(name);
        } else if (r != ER_DB_CREATE_EXISTS) {
            hf__servers_fail("CREATE DATABASE %s: error %u", name, r);
        }
    }
    hf__mariadb_url(shared, name, url, size);
}
