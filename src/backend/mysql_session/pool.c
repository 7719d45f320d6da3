/* SPDX-License-Identifier: MIT */
/*
 * Who shares a pool, and how long it lives: as long as one of its sessions.
 * With it end its connections, and the server frees what they held; nobody
 * counts on that, for who listens is a session as long as there is a client.
 * Called by the sessions' threads.
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
    unsigned generation; /* of the process whose pools they are; 0: none yet */
} registry = {.mutex = HF__MUTEX_INIT};

/* A fork() would leave the registry locked in the child for ever. What the
 * parent has in it is the parent's. */
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

/* Of a pool that nobody has any more. */
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
        HF_ASSERT(is_free); /* nobody else is there */
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

/* A home without locks is of no use to others. */
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
