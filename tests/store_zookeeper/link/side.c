/* SPDX-License-Identifier: MIT */
/*
 * What the words of side.h do. Thread: each side is used by one at a time.
 */
#include "tests/store_zookeeper/link/side.h"

#include "src/base/alloc.h"

#include <stdio.h>
#include <string.h>

__attribute__((constructor)) static void share_a_server(void)
{
    hf__zookeeper_share();
}

void part(struct side *s)
{
    hf__zk_ref_close(&s->ref);
}

void end_server(struct hf__zookeeper **s)
{
    hf__zookeeper_free(*s);
}

int meet_at(struct side *s, const struct hf__zk_target *target, uint64_t client,
            int64_t within_ms)
{
    struct hf__zk_target usual = *target;

    if (usual.io_timeout_ms == 0) {
        usual.io_timeout_ms = 10000;
    }
    hf__zk_ref_close(&s->ref);
    s->error = (hf_error)HF_ERROR_INIT;
    s->head.client = client;
    s->head.generation = 1;
    return hf__zk_ref_open(&s->ref, &s->head, &usual,
                           hf__after_ms(hf__now(), within_ms), &s->error);
}

const char *hosts_of(const struct hf__zookeeper *to)
{
    static _Thread_local char hosts[64];

    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", hf__zookeeper_port(to));
    return hosts;
}

int meet(struct side *s, const struct hf__zookeeper *to, uint64_t client)
{
    struct hf__zk_target target = {.hosts = hosts_of(to),
                                   .timeout_ms = LIFE_MS};

    return meet_at(s, &target, client, 10000);
}

void stop(struct side *s)
{
    atomic_store(&s->head.interrupted, s->head.generation);
    hf__zk_ref_wake(&s->ref);
}

struct hf__zk_calls *calls_of(struct side *s, int n)
{
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->ref, n);

    EXPECT(calls != NULL);
    return calls;
}

void await(struct hf__zk_calls *calls)
{
    hf_error err = HF_ERROR_INIT;
    int r = hf__zk_await(calls, hf__after_ms(hf__now(), 10000), &err);

    if (r != HF_OK) {
        printf("# %s\n", err.text);
    }
    EXPECT_IS(r, HF_OK);
}

int rc_of(struct hf__zk_calls *calls, int i)
{
    return hf__zk_answer(calls, i)->rc;
}

int create(struct side *s, const char *path, int mode)
{
    CALLS(calls) = calls_of(s, 1);

    hf__zk_create(calls, 0, path, "", 0, mode);
    await(calls);
    return rc_of(calls, 0);
}

int look(struct side *s, const char *path)
{
    CALLS(calls) = calls_of(s, 1);

    hf__zk_exists(calls, 0, path, NULL);
    await(calls);
    return rc_of(calls, 0);
}

struct owned {
    struct hf__map_link link;
    char path[256];
};

static void drop(struct hf__map_link *link)
{
    hf__free(HF__ELEMENT(link, struct owned, link));
}

void own(struct side *s, const char *path)
{
    struct hf__zk_common *common = hf__zk_common(&s->ref);
    struct owned *owned = hf__alloc(sizeof *owned);

    EXPECT_IS(create(s, path, ZOO_EPHEMERAL), ZOK);
    EXPECT(owned != NULL);
    snprintf(owned->path, sizeof owned->path, "%s", path);
    common->drop = drop;
    common->n_granted++;
    hf__map_add(&common->nodes, &owned->link, owned->path, strlen(owned->path));
}

const char *under(const char *name)
{
    static _Thread_local char paths[4][256];
    static _Thread_local unsigned turn;
    char *to = paths[turn++ % 4];

    snprintf(to, 256, "%s/%s", hf__zookeeper_test_chroot(), name);
    return to;
}
