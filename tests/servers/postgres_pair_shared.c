/* SPDX-License-Identifier: MIT */
/*
 * One pair for all tests of a program: started by the runner, used by the
 * tests, which it forks. Their databases are postgres_shared.c's, made by the
 * primary. Whoever asks for a URL is given the hosts in another order, so that
 * the clients of a test have tried another first.
 */
#include "tests/lib/test.h"
#include "tests/servers/postgres_pair.h"
#include "tests/servers/postgres_private.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct hf__postgres_pair *shared;
static pid_t runner;

static void end_shared(void)
{
    if (getpid() == runner) {
        hf__postgres_pair_free(shared);
        shared = NULL;
    }
}

void hf__postgres_pair_share(void)
{
    static const struct hf__postgres_pair_opts opts = {.is_never_cut = true};

    if (!shared && hf__postgres_is_installed()) {
        runner = getpid();
        shared = hf__postgres_pair_start(&opts);
        hf__postgres_share_node(hf__postgres_pair_node(shared, 0));
        atexit(end_shared);
    }
}

struct hf__postgres_pair *hf__postgres_pair_shared(void)
{
    hf__postgres_need();
    if (!shared) {
        hf__servers_fail("no shared pair: hf__postgres_pair_share() was not "
                         "called before the first test");
    }
    return shared;
}

/* Who connects to the standby is told at once that there is no database, if
 * its making has not come there yet. */
static void await_database(const char *name)
{
    const struct hf__postgres *second = hf__postgres_pair_node(shared, 1);

    if (hf__postgres_value(second, NULL,
                           "SELECT 1 FROM pg_database WHERE datname = '%s'",
                           name)[0] != '1') {
        hf__postgres_pair_await_caught_up(shared, 1);
    }
}

void hf__postgres_pair_test_url(char *url, size_t size)
{
    static atomic_uint calls;
    char first[HF__POSTGRES_URL];
    const char *name;

    hf__postgres_pair_shared();
    hf__postgres_test_url(first, sizeof first);
    name = strrchr(first, '/') + 1;
    await_database(name);
    hf__postgres_pair_url(
        shared,
        (int)(((unsigned)getpid() + atomic_fetch_add(&calls, 1)) %
              HF__POSTGRES_PAIR),
        name, url, size);
}
