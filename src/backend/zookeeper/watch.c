/* SPDX-License-Identifier: MIT */
/*
 * A watch has two owners: who waits, and the library, from the moment when it
 * is sent until it fired, turned out not to be set, or was taken away. The
 * library tells each watch of the session's states, too, which does not end it,
 * and may come when it is gone. Its other calls come in the order of what
 * happened, so after one that ends it there is no other.
 *
 * Who takes it away has the library forget it, and that is all: then it is not
 * set again after a lost connection. The server would have to be told by a
 * request that takes all of the session's watches of a path away (what the
 * library sends for one of them, CheckWatches, changes nothing there); it has
 * one a path and session, which goes with the node or its next change.
 * Called by the front's thread, and by the library's when it fires.
 */
/* The library's header has zoo_remove_watches() only then. */
#define THREADED

#include "src/backend/zookeeper/watch.h"

#include "src/backend/zookeeper/parts.h"
#include "src/base/alloc.h"

#include <string.h>

/* Half of what a server takes in one request, if it was not told another. */
enum { ROOM = 512 * 1024 };
/* Before each path there is its length. */
enum { LENGTH_SIZE = 4 };

enum stage { IDLE, SENT, SET };

/* All is guarded by the link's mutex, but the path of one that is SET. */
struct hf__zk_watch {
    struct hf__zk_link *link;
    struct hf__zk_front *front; /* NULL: nobody waits */
    struct hf__link in_link;
    int refs;
    enum stage stage;
    size_t size; /* of its path, while it is not IDLE */
    bool has_fired;
    bool is_list;
    char *path;
};

static void free_watch(struct hf__zk_watch *watch)
{
    hf__list_remove(&watch->in_link);
    hf__free(watch->path);
    hf__free(watch);
}

/* The link's mutex is held. */
static void unref(struct hf__zk_watch *watch)
{
    if (--watch->refs == 0) {
        free_watch(watch);
    }
}

/* The library has no more interest. The link's mutex is held. */
static void release(struct hf__zk_watch *watch)
{
    if (watch->stage != IDLE) {
        watch->stage = IDLE;
        watch->link->watched -= watch->size;
        unref(watch);
    }
}

struct hf__zk_watch *hf__zk_watch_new(struct hf__zk_front *f)
{
    struct hf__zk_watch *watch = hf__alloc(sizeof *watch);

    if (watch != NULL) {
        watch->link = f->link;
        watch->front = f;
        watch->refs = 1;
        HF_SCOPED_LOCK(&f->link->mutex);
        hf__list_push(&f->link->watches, &watch->in_link);
    }
    return watch;
}

bool hf__zk_watch_has_fired(const struct hf__zk_watch *watch)
{
    HF_SCOPED_LOCK(&watch->link->mutex);
    return watch->has_fired;
}

bool hf__zk_watch_is_set(const struct hf__zk_watch *watch)
{
    HF_SCOPED_LOCK(&watch->link->mutex);
    return watch->stage != IDLE;
}

bool hf__zk_watch_is_on(const struct hf__zk_watch *watch, const char *path,
                        bool is_list)
{
    HF_SCOPED_LOCK(&watch->link->mutex);
    return watch->stage == SET && watch->is_list == is_list &&
           strcmp(watch->path, path) == 0;
}

static void fire(zhandle_t *handle, int type, int state, const char *path,
                 void *arg)
{
    struct hf__zk_watch *watch = arg;

    (void)handle;
    (void)state;
    (void)path;
    if (type == ZOO_SESSION_EVENT) {
        return;
    }
    struct hf__mutex *mutex = &watch->link->mutex;
    atomic_uint *sleeper = NULL;

    hf__mutex_lock(mutex);
    watch->has_fired = true;
    if (watch->front != NULL) {
        sleeper = hf__unpark_begin(&watch->front->parker);
    }
    release(watch);
    hf__mutex_unlock(mutex);
    hf__unpark_end(sleeper); /* who wakes wants the mutex */
}

watcher_fn hf__zk_watch_fn(void)
{
    return fire;
}

size_t hf__zk_watch_size(const char *path)
{
    return strlen(path) + LENGTH_SIZE;
}

size_t hf__zk_watch_spare(struct hf__zk_front *f)
{
    HF_SCOPED_LOCK(&f->link->mutex);
    return f->link->watched < ROOM / 2 ? ROOM / 2 - f->link->watched : 0;
}

bool hf__zk_watch_sent(struct hf__zk_watch *watch, const char *path,
                       bool is_list)
{
    size_t size = strlen(path) + 1;
    char *copy = hf__alloc(size);

    if (copy != NULL) {
        memcpy(copy, path, size);
    }
    HF_SCOPED_LOCK(&watch->link->mutex);
    HF_ASSERT(watch->stage == IDLE);
    hf__free(watch->path);
    watch->path = copy;
    watch->is_list = is_list;
    watch->has_fired = false;
    watch->size = hf__zk_watch_size(path);
    if (copy == NULL || watch->link->watched + watch->size > ROOM) {
        return false;
    }
    watch->link->watched += watch->size;
    watch->stage = SENT;
    watch->refs++;
    return true;
}

/* Of one that was SET. It does not wait for anything. If the library does not
 * know it any more, it has fired, which is being told. */
static void take_away(struct hf__zk_watch *watch)
{
    struct hf__zk_link *link = watch->link;
    ZooWatcherType type = watch->is_list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;

    if (zoo_remove_watches(link->handle, watch->path, type, fire, watch, 1) ==
        ZOK) {
        HF_SCOPED_LOCK(&link->mutex);
        release(watch);
    }
}

void hf__zk_watch_drop(struct hf__zk_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    struct hf__zk_link *link = watch->link;
    hf__mutex_lock(&link->mutex);
    watch->front = NULL;
    bool is_set = watch->stage == SET;
    hf__mutex_unlock(&link->mutex);
    if (is_set) {
        take_away(watch);
    }
    HF_SCOPED_LOCK(&link->mutex);
    unref(watch);
}

void hf__zk_watch_answered(struct hf__zk_watch *watch, bool is_set)
{
    struct hf__zk_link *link = watch->link;
    bool is_orphan = false;

    hf__mutex_lock(&link->mutex);
    if (is_set && watch->stage == SENT) {
        watch->stage = SET;
        is_orphan = watch->front == NULL;
    } else if (!is_set) {
        release(watch);
    }
    hf__mutex_unlock(&link->mutex);
    /* Nobody else ends it meanwhile: this is the thread that would. */
    if (is_orphan) {
        take_away(watch);
    }
}

struct hf__zk_watch *hf__zk_watch_in(struct hf__link *in_link)
{
    return HF__ELEMENT(in_link, struct hf__zk_watch, in_link);
}

void hf__zk_watch_bury(struct hf__zk_watch *watch)
{
    HF_ASSERT(watch->front == NULL);
    free_watch(watch);
}
