/* SPDX-License-Identifier: MIT */
/*
 * Sharing a pool: it lives as long as one of its sessions. When it ends its
 * connections end, too, and the server frees their locks; no caller relies on
 * that, since the listening session exists as long as the client. Called by the
 * sessions' threads.
 */
#include "src/backend/mysql_session/session.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <string.h>

/* The pools of this process. */
static struct {
    struct hf__mutex mutex;
    struct hf__link pools;
    unsigned generation; /* the process's when they were made; 0: no pools
                            yet */
} registry = {.mutex = HF__MUTEX_INIT};

/* A fork() would leave the registry locked in the child for ever, so it is
 * forbidden. Pools in the registry from before a fork are the parent's, so the
 * list starts empty. */
static void registry_lock(void)
{
    hf__fork_forbid();
    hf__mutex_lock(&registry.mutex);
    if (registry.generation != hf__fork_generation()) {
        registry.generation = hf__fork_generation();
        hf__list_init(&registry.pools);
    }
}

static void registry_unlock(void)
{
    hf__mutex_unlock(&registry.mutex);
    hf__fork_allow();
}

static void free_pool(struct hf__ul_pool *pool)
{
    hf__free(pool->lost);
    hf__map_fini(&pool->tokens);
    hf__map_fini(&pool->keys);
    hf__mutex_fini(&pool->mutex);
    hf__url_free(pool->url);
    hf__free(pool->allow);
    hf__free(pool);
}

static struct hf__ul_pool *new_pool(uint64_t client, const struct hf__url *url,
                                    const char *allow)
{
    struct hf__ul_pool *pool = hf__alloc(sizeof *pool);
    size_t size = strlen(allow) + 1;

    if (pool == NULL) {
        return NULL;
    }
    hf__mutex_init(&pool->mutex);
    hf__list_init(&pool->in_registry);
    hf__list_init(&pool->sessions);
    hf__list_init(&pool->conns);
    pool->client = client;
    pool->has_database = url->path[0] == '/' && url->path[1] != '\0';
    pool->allow = hf__alloc(size);
    if (pool->allow == NULL || hf__url_copy(url, &pool->url) != HF_OK ||
        hf__map_init(&pool->tokens) != HF_OK ||
        hf__map_init(&pool->keys) != HF_OK) {
        free_pool(pool);
        return NULL;
    }
    memcpy(pool->allow, allow, size);
    return pool;
}

static struct hf__ul_pool *find_pool(uint64_t client)
{
    HF__LIST_EACH (it, &registry.pools) {
        struct hf__ul_pool *pool =
            HF__ELEMENT(it, struct hf__ul_pool, in_registry);

        if (client != 0 && pool->client == client) {
            return pool;
        }
    }
    return NULL;
}

/* End a pool that no session has any more. */
static void end_pool(struct hf__ul_session *f, struct hf__ul_pool *pool)
{
    f->pool = pool;
    while (!hf__list_is_empty(&pool->conns)) {
        struct hf__ul_conn *conn =
            HF__ELEMENT(pool->conns.next, struct hf__ul_conn, in_pool);
        bool is_free;

        hf__mutex_lock(&pool->mutex);
        conn->is_cut = true;
        is_free = hf__ul_conn_try(f, conn);
        hf__mutex_unlock(&pool->mutex);
        HF_ASSERT(is_free); /* no other session is left */
        hf__ul_conn_give(f, conn);
    }
    f->pool = NULL;
    free_pool(pool);
}

int hf__ul_join(struct hf__ul_session *f, const struct hf__url *url,
                const char *allow, int lease_s, int most)
{
    struct hf__ul_pool *pool;

    registry_lock();
    pool = find_pool(f->mysql.t.head.client);
    if (pool == NULL) {
        pool = new_pool(f->mysql.t.head.client, url, allow);
        if (pool != NULL) {
            pool->lease_s = lease_s;
            pool->most = f->scheme->is_dedicated ? 1 : most;
            pool->dedicated_most = most;
            hf__list_push(&registry.pools, &pool->in_registry);
        }
    }
    if (pool != NULL) {
        pool->n_sessions++;
    }
    registry_unlock();
    f->pool = pool;
    if (pool == NULL) {
        return hf__fail(f->mysql.t.err, HF_ENOMEM,
                        "out of memory for a session");
    }
    HF_SCOPED_LOCK(&pool->mutex);
    hf__list_push(&pool->sessions, &f->in_pool);
    return HF_OK;
}

/* A home without locks is useless to other sessions, so it ends. */
static void leave_conns(struct hf__ul_session *f)
{
    struct hf__ul_pool *pool = f->pool;

    hf__mutex_lock(&pool->mutex);
    if (f->home != NULL && f->home->n_locks == 0 &&
        hf__ul_conn_try(f, f->home)) {
        struct hf__ul_conn *conn = f->home;

        conn->is_cut = true;
        hf__mutex_unlock(&pool->mutex);
        hf__ul_conn_give(f, conn);
        hf__mutex_lock(&pool->mutex);
    }
    if (f->home != NULL) {
        f->home->owner = NULL;
        f->home = NULL;
    }
    if (pool->listener == f) {
        pool->listener = NULL;
    }
    hf__list_remove(&f->in_pool);
    hf__mutex_unlock(&pool->mutex);
}

void hf__ul_leave(struct hf__ul_session *f)
{
    struct hf__ul_pool *pool = f->pool;
    bool is_over;

    if (pool == NULL) {
        return;
    }
    leave_conns(f);
    registry_lock();
    is_over = --pool->n_sessions == 0;
    if (is_over) {
        hf__list_remove(&pool->in_registry);
    }
    registry_unlock();
    if (is_over) {
        end_pool(f, pool);
    }
    f->pool = NULL;
}
