/* SPDX-License-Identifier: MIT */
/*
 * The words of scene_zookeeper.h. The server is started before the first test
 * of the program that links this. libzookeeper calls back on its own thread.
 */
#include "tests/servers/scene_zookeeper.h"
#include "tests/lib/test.h"
#include "tests/servers/servers.h"
#include "tests/servers/zookeeper.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 20000, SESSION_MS = 20000, PATH = 256 };

__attribute__((constructor)) static void register_server(void)
{
    hf__test_prepare(hf__zookeeper_share);
}

struct hf__proxy *scene_proxy(void)
{
    return hf__proxy_start(hf__zookeeper_port(hf__zookeeper_shared()),
                           &hf__framing_zookeeper);
}

struct hf__zookeeper_client *scene_dial(const struct hf__proxy *p)
{
    return hf__zookeeper_dial(hf__proxy_port(p), SESSION_MS);
}

const char *scene_path(const char *name)
{
    static char path[PATH];

    snprintf(path, sizeof path, "%s/%s", hf__zookeeper_test_chroot(), name);
    return path;
}

int scene_nodes(void)
{
    return hf__zookeeper_count(hf__zookeeper_shared(),
                               hf__zookeeper_test_chroot());
}

zhandle_t *scene_open(const struct hf__proxy *p, int session_ms)
{
    int64_t until = hf__test_now_ms() + hf__servers_patience(PATIENCE_MS);
    char host[64];
    zhandle_t *z;

    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    snprintf(host, sizeof host, "127.0.0.1:%d", hf__proxy_port(p));
    z = zookeeper_init(host, NULL, session_ms, NULL, NULL, 0);
    EXPECT(z);
    while (zoo_state(z) != ZOO_CONNECTED_STATE && hf__test_now_ms() < until) {
        hf__test_pause_ms(5);
    }
    EXPECT_IS(zoo_state(z), ZOO_CONNECTED_STATE);
    return z;
}

static void count(int r, const char *path, const void *arg)
{
    union {
        const void *ours;
        struct scene_answers *theirs;
    } answers = {.ours = arg};

    (void)path;
    answers.theirs->n_good += r == ZOK;
    answers.theirs->n++;
}

void scene_create(zhandle_t *z, const char *name, struct scene_answers *answers)
{
    EXPECT_IS(zoo_acreate(z, scene_path(name), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0,
                          count, answers),
              ZOK);
}

bool scene_wait_answers(const struct scene_answers *answers, int n)
{
    int64_t until = hf__test_now_ms() + hf__servers_patience(PATIENCE_MS);

    while (answers->n < n && hf__test_now_ms() < until) {
        hf__test_pause_ms(2);
    }
    return answers->n == n;
}
