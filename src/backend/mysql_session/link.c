/* SPDX-License-Identifier: MIT */
/*
 * Who shares a link, and how long it lives: as long as one of its fronts. With
 * it end its lines, and the server frees what they held; nobody counts on that,
 * for who listens is a front as long as there is a client. Called by the
 * fronts' threads.
 */
#include "src/backend/mysql_session/session.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <string.h>

/* The links of this process. */
static struct {
    struct hf__mutex mutex;
    struct hf__link links;
    unsigned generation; /* of the process whose links they are; 0: none yet */
} registry = {.mutex = HF__MUTEX_INIT};

/* A fork() would leave the registry locked in the child for ever. What the
 * parent has in it is the parent's. */
static void registry_lock(void)
{
    hf__fork_forbid();
    hf__mutex_lock(&registry.mutex);
    if (registry.generation != hf__fork_generation()) {
        registry.generation = hf__fork_generation();
        hf__list_init(&registry.links);
    }
}

static void registry_unlock(void)
{
    hf__mutex_unlock(&registry.mutex);
    hf__fork_allow();
}

static void free_link(struct hf__ul_link *link)
{
    hf__free(link->lost);
    hf__map_fini(&link->tokens);
    hf__map_fini(&link->keys);
    hf__mutex_fini(&link->mutex);
    hf__url_free(link->url);
    hf__free(link->allow);
    hf__free(link);
}

static struct hf__ul_link *new_link(uint64_t client, const struct hf__url *url,
                                    const char *allow)
{
    struct hf__ul_link *link = hf__alloc(sizeof *link);
    size_t size = strlen(allow) + 1;

    if (link == NULL) {
        return NULL;
    }
    hf__mutex_init(&link->mutex);
    hf__list_init(&link->in_registry);
    hf__list_init(&link->fronts);
    hf__list_init(&link->lines);
    link->client = client;
    link->has_database = url->path[0] == '/' && url->path[1] != '\0';
    link->allow = hf__alloc(size);
    if (link->allow == NULL || hf__url_copy(url, &link->url) != HF_OK ||
        hf__map_init(&link->tokens) != HF_OK ||
        hf__map_init(&link->keys) != HF_OK) {
        free_link(link);
        return NULL;
    }
    memcpy(link->allow, allow, size);
    return link;
}

static struct hf__ul_link *find_link(uint64_t client)
{
    HF__LIST_EACH (it, &registry.links) {
        struct hf__ul_link *link =
            HF__ELEMENT(it, struct hf__ul_link, in_registry);

        if (client != 0 && link->client == client) {
            return link;
        }
    }
    return NULL;
}

/* Of a link that nobody has any more. */
static void end_link(struct hf__ul_front *f, struct hf__ul_link *link)
{
    f->link = link;
    while (!hf__list_is_empty(&link->lines)) {
        struct hf__ul_line *line =
            HF__ELEMENT(link->lines.next, struct hf__ul_line, in_link);
        bool is_free;

        hf__mutex_lock(&link->mutex);
        line->is_cut = true;
        is_free = hf__ul_line_try(f, line);
        hf__mutex_unlock(&link->mutex);
        HF_ASSERT(is_free); /* nobody else is there */
        hf__ul_line_give(f, line);
    }
    f->link = NULL;
    free_link(link);
}

int hf__ul_join(struct hf__ul_front *f, const struct hf__url *url,
                const char *allow, int lease_s, int most)
{
    struct hf__ul_link *link;

    registry_lock();
    link = find_link(f->mysql.t.head.client);
    if (link == NULL) {
        link = new_link(f->mysql.t.head.client, url, allow);
        if (link != NULL) {
            link->lease_s = lease_s;
            link->most = f->scheme->is_apart ? 1 : most;
            link->apart_most = most;
            hf__list_push(&registry.links, &link->in_registry);
        }
    }
    if (link != NULL) {
        link->n_fronts++;
    }
    registry_unlock();
    f->link = link;
    if (link == NULL) {
        return hf__fail(f->mysql.t.err, HF_ENOMEM,
                        "out of memory for a session");
    }
    HF_SCOPED_LOCK(&link->mutex);
    hf__list_push(&link->fronts, &f->in_link);
    return HF_OK;
}

/* A home without locks is of no use to others. */
static void leave_lines(struct hf__ul_front *f)
{
    struct hf__ul_link *link = f->link;

    hf__mutex_lock(&link->mutex);
    if (f->home != NULL && f->home->n_locks == 0 &&
        hf__ul_line_try(f, f->home)) {
        struct hf__ul_line *line = f->home;

        line->is_cut = true;
        hf__mutex_unlock(&link->mutex);
        hf__ul_line_give(f, line);
        hf__mutex_lock(&link->mutex);
    }
    if (f->home != NULL) {
        f->home->owner = NULL;
        f->home = NULL;
    }
    if (link->listener == f) {
        link->listener = NULL;
    }
    hf__list_remove(&f->in_link);
    hf__mutex_unlock(&link->mutex);
}

void hf__ul_leave(struct hf__ul_front *f)
{
    struct hf__ul_link *link = f->link;
    bool is_over;

    if (link == NULL) {
        return;
    }
    leave_lines(f);
    registry_lock();
    is_over = --link->n_fronts == 0;
    if (is_over) {
        hf__list_remove(&link->in_registry);
    }
    registry_unlock();
    if (is_over) {
        end_link(f, link);
    }
    f->link = NULL;
}
