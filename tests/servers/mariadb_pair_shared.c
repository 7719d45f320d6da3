/* SPDX-License-Identifier: MIT */
/*
 * One pair for all tests of a program: started by the runner, used by the
 * tests, which it forks. Their databases are mariadb_shared.c's, made by the
 * one that is writable. Whoever asks for a URL is given the hosts in another
 * order, so that the clients of a test have tried another first.
 */
#include "tests/lib/test.h"
#include "tests/servers/mariadb_pair.h"
#include "tests/servers/mariadb_private.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct hf__mariadb_pair *shared;
static pid_t runner;

static void end_shared(void)
{
    if (getpid() == runner) {
        hf__mariadb_pair_free(shared);
        shared = NULL;
    }
}

void hf__mariadb_pair_share(void)
{
    static const struct hf__mariadb_pair_opts opts = {.is_never_cut = true};

    if (!shared && hf__mariadb_is_installed()) {
        runner = getpid();
        shared = hf__mariadb_pair_start(&opts);
        hf__mariadb_share_node(hf__mariadb_pair_node(shared, 0));
        atexit(end_shared);
    }
}

struct hf__mariadb_pair *hf__mariadb_pair_shared(void)
{
    hf__mariadb_need();
    if (!shared) {
        hf__servers_fail("no shared pair: hf__mariadb_pair_share() was not "
                         "called before the first test");
    }
    return shared;
}

/* Who connects to the other is told at once that there is no database, if its
 * making has not come there yet. */
static void await_database(const char *name)
{
    const struct hf__mariadb *second = hf__mariadb_pair_node(shared, 1);

    if (strcmp(hf__mariadb_value(second, "SHOW DATABASES LIKE '%s'", name),
               name) != 0) {
        hf__mariadb_pair_await_caught_up(shared, 1);
    }
}

void hf__mariadb_pair_test_url(char *url, size_t size)
{
    static atomic_uint calls;
    char first[HF__MARIADB_URL];
    const char *name;

    hf__mariadb_pair_shared();
    hf__mariadb_test_url(first, sizeof first);
    name = strrchr(first, '/') + 1;
    await_database(name);
    hf__mariadb_pair_url(
        shared,
        (int)(((unsigned)getpid() + atomic_fetch_add(&calls, 1)) %
              HF__MARIADB_PAIR),
        name, url, size);
}
