/* SPDX-License-Identifier: MIT */
/*
 * One ZooKeeper for all tests of a program: started by the runner, used by the
 * tests, which it forks; each test has a node there, named after its folder,
 * for that is the same in all its processes. Tests run one after the other, so
 * whatever else there is belongs to one that is over, or to a client of it that
 * is about to be.
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"
#include "tests/servers/zookeeper_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHROOT = 64, SESSION_MS = 20000 };
#define FOLDER "/tests"

static struct hf__zookeeper *shared;
static pid_t runner;

/* Tests are forked from the runner and end by exit() too. */
static void end_shared(void)
{
    if (getpid() == runner) {
        hf__zookeeper_free(shared);
        shared = NULL;
    }
}

void hf__zookeeper_share(void)
{
    if (!shared && hf__zookeeper_is_installed()) {
        runner = getpid();
        atexit(end_shared);
        shared = hf__zookeeper_start(NULL);
        hf__zookeeper_put(shared, FOLDER, "");
    }
}

/* ---- the node of a test */

static void forget_others(const char *own)
{
    char *names = strdup(hf__zookeeper_list(shared, FOLDER));
    char *rest = names;
    char *name;
    char path[2 * CHROOT];

    while ((name = strsep(&rest, "\n"))) {
        snprintf(path, sizeof path, FOLDER "/%s", name);
        if (name[0] && strcmp(path, own) != 0) {
            hf__zookeeper_remove(shared, path);
        }
    }
    free(names);
}

/* Who makes it is the first process of its test. */
static void claim(char chroot[CHROOT])
{
    struct hf__zookeeper_client *c =
        hf__zookeeper_dial(hf__zookeeper_port(shared), SESSION_MS);
    char name[CHROOT];
    int r;

    snprintf(name, sizeof name, FOLDER "/%s",
             strrchr(hf__test_folder(), '-') + 1);
    if (!c) {
        hf__servers_fail("the shared zookeeper does not serve");
    }
    r = hf__zookeeper_create(c, name, "", HF__ZOOKEEPER_PERSISTENT, NULL);
    hf__zookeeper_hang_up(c);
    if (r == 0) {
        forget_others(name);
    } else if (r != HF__ZOOKEEPER_NODE_EXISTS) {
        hf__servers_fail("the node of the test: error %d", r);
    }
    memcpy(chroot, name, sizeof name);
}

const char *hf__zookeeper_test_chroot(void)
{
    static _Thread_local char chroot[CHROOT];

    hf__zookeeper_need();
    if (!shared) {
        hf__servers_fail("no shared server: hf__zookeeper_share() was not "
                         "called before the first test");
    }
    if (!chroot[0]) {
        claim(chroot);
    }
    return chroot;
}

const struct hf__zookeeper *hf__zookeeper_shared(void)
{
    hf__zookeeper_test_chroot();
    return shared;
}

void hf__zookeeper_test_url(char *url, size_t size)
{
    const char *chroot = hf__zookeeper_test_chroot();

    hf__zookeeper_url(shared, chroot, url, size);
}
