/* SPDX-License-Identifier: MIT */
/*
 * One cluster for all tests of a program: started by the runner, used by the
 * tests, which it forks. Their databases are mariadb_shared.c's, made by the
 * first node. Whoever asks for a URL is given the nodes in another order, so
 * that the clients of a test are on different ones.
 */
#include "tests/lib/test.h"
#include "tests/servers/galera.h"
#include "tests/servers/mariadb_private.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

static struct hf__galera *shared;
static pid_t runner;

static void end_shared(void)
{
    if (getpid() == runner) {
        hf__galera_free(shared);
        shared = NULL;
    }
}

void hf__galera_share(void)
{
    if (!shared && hf__galera_is_installed()) {
        runner = getpid();
        shared = hf__galera_start(NULL);
        hf__mariadb_share_node(hf__galera_node(shared, 0));
        atexit(end_shared);
    }
}

struct hf__galera *hf__galera_shared(void)
{
    hf__galera_need();
    if (!shared) {
        hf__servers_fail("no shared cluster: hf__galera_share() was not "
                         "called before the first test");
    }
    return shared;
}

/* Who connects to another node is told at once that there is none, if its
 * making has not come there yet. */
static void await_database(const char *name)
{
    int64_t until = hf__test_now_ms() + hf__test_patience(PATIENCE_MS);

    for (int i = 1; i < HF__GALERA_NODES; i++) {
        while (strcmp(hf__mariadb_value(hf__galera_node(shared, i),
                                        "SHOW DATABASES LIKE '%s'", name),
                      name) != 0) {
            if (hf__test_now_ms() > until) {
                hf__servers_fail("node %d has no database %s", i, name);
            }
            hf__test_pause_ms(2);
        }
    }
}

void hf__galera_test_url(char *url, size_t size)
{
    static atomic_uint calls;
    char first[HF__MARIADB_URL];
    const char *name;

    hf__galera_shared();
    hf__mariadb_test_url(first, sizeof first);
    name = strrchr(first, '/') + 1;
    await_database(name);
    hf__galera_url(shared,
                   (int)(((unsigned)getpid() + atomic_fetch_add(&calls, 1)) %
                         HF__GALERA_NODES),
                   HF__GALERA_NODES, name, url, size);
}
