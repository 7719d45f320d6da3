/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the proxy before ZooKeeper have in common: the shared
 * server, a proxy before it, and clients through it, the small one and
 * libzookeeper.
 */
#ifndef HF_TESTS_SERVERS_SCENE_ZOOKEEPER_H
#define HF_TESTS_SERVERS_SCENE_ZOOKEEPER_H

#include "tests/servers/proxy.h"
#include "tests/servers/zookeeper_client.h"

#include <zookeeper/zookeeper.h>

struct hf__proxy *scene_proxy(void);
/* Through the proxy. NULL: no session came of it. */
struct hf__zookeeper_client *scene_dial(const struct hf__proxy *);
/* A path of the test: valid until the next call. */
const char *scene_path(const char *name);
/* How many nodes of the test there are, as the administrator sees it. */
int scene_nodes(void);

/* libzookeeper through the proxy, with a session that has come about. */
zhandle_t *scene_open(const struct hf__proxy *, int session_ms);

/* The answers to what was asked of it. */
struct scene_answers {
    _Atomic int n;      /* that have come */
    _Atomic int n_good; /* of them, well */
};
void scene_create(zhandle_t *, const char *name, struct scene_answers *);
bool scene_wait_answers(const struct scene_answers *, int n);

#endif
