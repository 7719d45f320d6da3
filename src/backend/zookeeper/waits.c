/* SPDX-License-Identifier: MIT */
/*
 * The list of a backend session's waits: the next call of wait() finds those of
 * the last, with their watches. If there are more waits than one call takes,
 * the core leaves out some each time: so a wait that was left out keeps its
 * watch for a while, and waiting goes on without new requests. Called by the
 * backend session's thread.
 */
#include "src/backend/zookeeper/waits.h"

#include "src/base/alloc.h"

#include <string.h>

/* A wait that so many calls left out is dropped. In so many calls all waits
 * that can be watched at once (watch.h) have their turn. */
#define KEPT_CALLS 32

struct hf__zk_waits *hf__zk_waits_of(struct hf__zk *s)
{
    struct hf__zk_waits *p = s->waits;

    if (p == NULL) {
        p = hf__alloc(sizeof *p);
        if (p != NULL && hf__map_init(&p->map) != HF_OK) {
            hf__free(p);
            p = NULL;
        }
        s->waits = p;
    }
    return p;
}

static void wait_free(struct hf__zk_waits *p, struct hf__zk_wait *w)
{
    hf__map_remove(&p->map, &w->in_map);
    hf__zk_watch_drop(w->watch);
    hf__zk_watch_drop(w->own_watch);
    hf__free(w);
}

static size_t put(char *to, size_t at, const void *bytes, size_t length)
{
    memcpy(to + at, bytes, length);
    return at + length;
}

/* Requests with the same id are one wait. A ticket alone is an id, for what its
 * waiter saw changes. */
static size_t write_id(char to[HF__ZK_REQUEST_ID_MAX],
                       const struct hf__watch *request)
{
    int lock_mode[2] = {(int)request->lock_mode.mode, request->lock_mode.slots};
    size_t at = put(to, 0, request->ticket.bytes, sizeof request->ticket.bytes);

    if (hf__token_is_zero(&request->ticket)) {
        at = put(to, at, request->token.bytes, sizeof request->token.bytes);
        at = put(to, at, &request->fence, sizeof request->fence);
        at = put(to, at, lock_mode, sizeof lock_mode);
    }
    return put(to, at, request->key.bytes, request->key.length);
}

static struct hf__zk_wait *find(const struct hf__zk_waits *p,
                                const struct hf__watch *request)
{
    char id[HF__ZK_REQUEST_ID_MAX];
    size_t length = write_id(id, request);
    struct hf__map_link *found = hf__map_find(&p->map, id, length);

    return found == NULL ? NULL
                         : HF__ELEMENT(found, struct hf__zk_wait, in_map);
}

/* HF_OK or HF_ENOMEM. */
static int grow(struct hf__zk_waits *p)
{
    int more = p->room == 0 ? 8 : 2 * p->room;
    struct hf__zk_wait **grown;

    if (p->n < p->room) {
        return HF_OK;
    }
    grown = hf__resize(p->list, (size_t)more * sizeof *grown);
    if (grown == NULL) {
        return HF_ENOMEM;
    }
    p->list = grown;
    p->room = more;
    return HF_OK;
}

static struct hf__zk_wait *add(struct hf__zk_waits *p,
                               const struct hf__watch *request)
{
    struct hf__zk_wait *w = hf__alloc(sizeof *w);

    if (w == NULL || grow(p) != HF_OK) {
        hf__free(w);
        return NULL;
    }
    w->request = *request;
    memcpy(w->bytes, request->key.bytes, request->key.length);
    w->request.key.bytes = w->bytes;
    w->look_at = HF__NEVER;
    hf__map_add(&p->map, &w->in_map, w->id, write_id(w->id, request));
    p->list[p->n++] = w;
    return w;
}

/* Put the wanted waits first, then the kept ones, and free the others. */
static void arrange(struct hf__zk_waits *p)
{
    int kept = 0;

    p->n_wanted = 0;
    for (int i = 0; i < p->n; i++) {
        struct hf__zk_wait *w = p->list[i];

        if (w->missed > KEPT_CALLS) {
            wait_free(p, w);
            continue;
        }
        p->list[kept++] = w;
        if (w->missed == 0) {
            p->list[kept - 1] = p->list[p->n_wanted];
            p->list[p->n_wanted++] = w;
        }
    }
    p->n = kept;
}

int hf__zk_waits_take(struct hf__zk *s, struct hf__watch *requests[], int n)
{
    struct hf__zk_waits *p = s->waits;
    int r = HF_OK;

    for (int i = 0; i < p->n; i++) {
        p->list[i]->missed++;
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        struct hf__zk_wait *w = find(p, requests[i]);

        w = w == NULL ? add(p, requests[i]) : w;
        if (w != NULL) {
            w->missed = 0;
            w->has_fired = false;
        }
        r = w != NULL ? (int)HF_OK : (int)HF_ENOMEM;
    }
    arrange(p);
    return r;
}

void hf__zk_wait_fini(struct hf__zk *s)
{
    struct hf__zk_waits *p = s->waits;

    if (p == NULL) {
        return;
    }
    for (int i = 0; i < p->n; i++) {
        wait_free(p, p->list[i]);
    }
    hf__map_fini(&p->map);
    hf__free(p->list);
    hf__free(p);
    s->waits = NULL;
}

void hf__zk_waits_tell(const struct hf__zk_waits *p,
                       struct hf__watch *requests[], int n)
{
    for (int i = 0; i < n; i++) {
        struct hf__zk_wait *w = find(p, requests[i]);

        requests[i]->has_fired = w != NULL && w->has_fired;
        /* A waiter that enters no longer needs the watch on its own claim. */
        if (requests[i]->has_fired) {
            hf__zk_watch_drop(w->own_watch);
            w->own_watch = NULL;
        }
    }
}

void hf__zk_pause(struct hf__zk *s, hf__time until)
{
    while (hf__before(hf__now(), until) && !hf__is_interrupted(&s->head)) {
        hf__park(&s->ref.parker, hf__parker_seen(&s->ref.parker), until);
    }
}
