/* SPDX-License-Identifier: MIT */
/*
 * Several private Redis servers, started side by side: all are launched, then
 * all are waited for. What one is, redis.c decides. Called by the process that
 * starts them.
 */
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"

#include <stdio.h>
#include <stdlib.h>

struct hf__redis_group {
    struct hf__redis *members[HF__REDIS_MEMBERS];
    int n;
};

struct hf__redis_group *hf__redis_group_start(int n,
                                              const struct hf__redis_opts *opts)
{
    struct hf__redis_group *g = calloc(1, sizeof *g);

    hf__redis_need();
    if (!g || n < 0 || n > HF__REDIS_MEMBERS) {
        hf__servers_fail("a group of %d can't be made", n);
    }
    g->n = n ? n : HF__REDIS_GROUP;
    for (int i = 0; i < g->n; i++) {
        g->members[i] = hf__redis_new(opts);
    }
    for (int i = 0; i < g->n; i++) {
        hf__redis_await(g->members[i]);
    }
    return g;
}

void hf__redis_group_free(struct hf__redis_group *g)
{
    for (int i = 0; g && i < g->n; i++) {
        hf__redis_free(g->members[i]);
    }
    free(g);
}

int hf__redis_group_size(const struct hf__redis_group *g)
{
    return g->n;
}

struct hf__redis *hf__redis_member(const struct hf__redis_group *g, int i)
{
    return g->members[i];
}

void hf__redis_mark(const struct hf__redis *member)
{
    (void)hf__redis_command(member, "HSETNX holdfast;member since 0");
}

void hf__redis_group_url(const struct hf__redis_group *g, int database,
                         char *url, size_t size)
{
    const char *password = g->members[0]->password;
    int n = snprintf(url, size, "redlock://%s%s%s", password[0] ? ":" : "",
                     password, password[0] ? "@" : "");

    for (int i = 0; i < g->n; i++) {
        n += snprintf(url + n, size - (size_t)n, "%s127.0.0.1:%d", i ? "," : "",
                      g->members[i]->port);
    }
    snprintf(url + n, size - (size_t)n, "/%d", database);
}
