/* SPDX-License-Identifier: MIT */
/*
 * One PostgreSQL for all tests of a program: started by the runner, used by
 * the tests, which it forks; each test has a database there, named after its
 * folder, for that is the same in all its processes. Tests run one after the
 * other, so whatever other database there is belongs to one that is over.
 */
#include "tests/lib/test.h"
#include "tests/servers/postgres_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By another process, before this one or beside it. */
#define EXISTS   "42P04"
#define MADE_NOW "23505"

static struct hf__postgres *shared;
static pid_t runner;

/* Tests are forked from the runner and end by exit() too. */
static void end_shared(void)
{
    if (getpid() == runner) {
        hf__postgres_free(shared);
        shared = NULL;
    }
}

void hf__postgres_share(void)
{
    if (!shared && hf__postgres_is_installed()) {
        runner = getpid();
        shared = hf__postgres_start(NULL);
        atexit(end_shared);
    }
}

void hf__postgres_share_node(struct hf__postgres *s)
{
    shared = s;
}

const struct hf__postgres *hf__postgres_shared(void)
{
    hf__postgres_need();
    if (!shared) {
        hf__servers_fail("no shared server: hf__postgres_share() was not "
                         "called before the first test");
    }
    return shared;
}

/* A client that was killed may still be there. */
static void forget_others(const char *name)
{
    char other[HF__POSTGRES_NAME];

    for (;;) {
        snprintf(other, sizeof other, "%s",
                 hf__postgres_value(shared, NULL,
                                    "SELECT datname FROM pg_database WHERE "
                                    "datname LIKE 'hf\\_test\\_%%' AND "
                                    "datname <> '%s' LIMIT 1",
                                    name));
        if (!other[0]) {
            return;
        }
        hf__postgres_sql(shared, NULL,
                         "DROP DATABASE IF EXISTS \"%s\" WITH (FORCE)", other);
    }
}

void hf__postgres_test_url(char *url, size_t size)
{
    static _Thread_local char name[HF__POSTGRES_NAME];

    hf__postgres_shared();
    if (!name[0]) {
        const char *r;

        snprintf(name, sizeof name, "hf_test_%s",
                 strrchr(hf__test_folder(), '-') + 1);
        r = hf__postgres_try(shared, NULL,
                             "CREATE DATABASE \"%s\" OWNER " HF__POSTGRES_USER,
                             name);
        if (!r[0]) {
            forget_others(name);
        } else if (strcmp(r, EXISTS) != 0 && strcmp(r, MADE_NOW) != 0) {
            hf__servers_fail("CREATE DATABASE %s: error %s", name, r);
        }
    }
    hf__postgres_url(shared, name, url, size);
}
