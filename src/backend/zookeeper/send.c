/* SPDX-License-Identifier: MIT */
/*
 * Watches, and requests sent by the library's asynchronous functions, with
 * their answers. A request that the library has not surely refused counts as
 * sent: the library answers it at some time, or never. Called by the
 * reference's thread, and by the library's with answers and when a watch fires.
 */
/* The library's header declares zoo_remove_watches() only with this. */
#define THREADED

#include "src/backend/zookeeper/internal.h"
#include "src/backend/zookeeper/watch.h"
#include "src/base/alloc.h"

#include <string.h>

/* ---- watches
 *
 * A watch has two owners: the waiter, and the library, from the moment when the
 * request is sent until the watch fired, turned out not to be set, or was taken
 * away. The library also tells each watch the session's states; that does not
 * end the watch, and may come when it is gone. Its other calls come in the
 * order of events, so after one that ends the watch no other comes.
 *
 * Taking a watch away makes the library forget it, and no more: it is then not
 * set again after a lost connection. To tell the server, we would need a
 * request that takes away all watches of the session on a path (the one that
 * the library sends for a single watch, CheckWatches, changes nothing there).
 * The server has one watch for a path and session, which goes with the node or
 * its next change.
 */

/* Half of the largest request that a server takes by default. */
enum { ROOM = 512 * 1024 };
/* Before each path the request has its length. */
enum { LENGTH_SIZE = 4 };

enum stage { IDLE, SENT, SET };

/* The session's mutex guards all fields, except the path of a watch that is
 * SET. */
struct hf__zk_watch {
    struct hf__zk_session *session;
    struct hf__zk_ref *ref; /* NULL: nobody waits */
    struct hf__link in_session;
    int refs;
    enum stage stage;
    size_t size; /* of its path, while it is not IDLE */
    bool has_fired;
    bool is_list;
    char *path;
};

static void free_watch(struct hf__zk_watch *watch)
{
    hf__list_remove(&watch->in_session);
    hf__free(watch->path);
    hf__free(watch);
}

/* The session's mutex is held. */
static void unref(struct hf__zk_watch *watch)
{
    if (--watch->refs == 0) {
        free_watch(watch);
    }
}

/* The library no longer knows the watch. The session's mutex is held. */
static void release(struct hf__zk_watch *watch)
{
    if (watch->stage != IDLE) {
        watch->stage = IDLE;
        watch->session->watched -= watch->size;
        unref(watch);
    }
}

struct hf__zk_watch *hf__zk_watch_new(struct hf__zk_ref *f)
{
    struct hf__zk_watch *watch = hf__alloc(sizeof *watch);

    if (watch != NULL) {
        watch->session = f->session;
        watch->ref = f;
        watch->refs = 1;
        HF_SCOPED_LOCK(&f->session->mutex);
        hf__list_push(&f->session->watches, &watch->in_session);
    }
    return watch;
}

bool hf__zk_watch_has_fired(const struct hf__zk_watch *watch)
{
    HF_SCOPED_LOCK(&watch->session->mutex);
    return watch->has_fired;
}

bool hf__zk_watch_is_set(const struct hf__zk_watch *watch)
{
    HF_SCOPED_LOCK(&watch->session->mutex);
    return watch->stage != IDLE;
}

bool hf__zk_watch_is_on(const struct hf__zk_watch *watch, const char *path,
                        bool is_list)
{
    HF_SCOPED_LOCK(&watch->session->mutex);
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
    struct hf__mutex *mutex = &watch->session->mutex;
    atomic_uint *sleeper = NULL;

    hf__mutex_lock(mutex);
    watch->has_fired = true;
    if (watch->ref != NULL) {
        sleeper = hf__unpark_begin(&watch->ref->parker);
    }
    release(watch);
    hf__mutex_unlock(mutex);
    hf__unpark_end(sleeper); /* the woken thread wants the mutex */
}

size_t hf__zk_watch_size(const char *path)
{
    return strlen(path) + LENGTH_SIZE;
}

size_t hf__zk_watch_spare(struct hf__zk_ref *f)
{
    HF_SCOPED_LOCK(&f->session->mutex);
    return f->session->watched < ROOM / 2 ? ROOM / 2 - f->session->watched : 0;
}

/* The request that sets it is about to be sent. False: there is no room for it,
 * or no memory. */
static bool watch_sent(struct hf__zk_watch *watch, const char *path,
                       bool is_list)
{
    size_t size = strlen(path) + 1;
    char *copy = hf__alloc(size);

    if (copy != NULL) {
        memcpy(copy, path, size);
    }
    HF_SCOPED_LOCK(&watch->session->mutex);
    HF_ASSERT(watch->stage == IDLE);
    hf__free(watch->path);
    watch->path = copy;
    watch->is_list = is_list;
    watch->has_fired = false;
    watch->size = hf__zk_watch_size(path);
    if (copy == NULL || watch->session->watched + watch->size > ROOM) {
        return false;
    }
    watch->session->watched += watch->size;
    watch->stage = SENT;
    watch->refs++;
    return true;
}

/* Take away a watch that was SET. It does not block. If the library does not
 * know it any more, it has fired, and that call is under way. */
static void take_away(struct hf__zk_watch *watch)
{
    struct hf__zk_session *session = watch->session;
    ZooWatcherType type = watch->is_list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;

    if (zoo_remove_watches(session->handle, watch->path, type, fire, watch,
                           1) == ZOK) {
        HF_SCOPED_LOCK(&session->mutex);
        release(watch);
    }
}

void hf__zk_watch_drop(struct hf__zk_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    struct hf__zk_session *session = watch->session;
    hf__mutex_lock(&session->mutex);
    watch->ref = NULL;
    bool is_set = watch->stage == SET;
    hf__mutex_unlock(&session->mutex);
    if (is_set) {
        take_away(watch);
    }
    HF_SCOPED_LOCK(&session->mutex);
    unref(watch);
}

/* The request that sets the watch was answered: it is set now, or is not. */
static void watch_answered(struct hf__zk_watch *watch, bool is_set)
{
    struct hf__zk_session *session = watch->session;
    bool is_orphan = false;

    hf__mutex_lock(&session->mutex);
    if (is_set && watch->stage == SENT) {
        watch->stage = SET;
        is_orphan = watch->ref == NULL;
    } else if (!is_set) {
        release(watch);
    }
    hf__mutex_unlock(&session->mutex);
    /* It can't fire meanwhile, for only this thread would call it. */
    if (is_orphan) {
        take_away(watch);
    }
}

struct hf__zk_watch *hf__zk_watch_in(struct hf__link *in_session)
{
    return HF__ELEMENT(in_session, struct hf__zk_watch, in_session);
}

void hf__zk_watch_discard(struct hf__zk_watch *watch)
{
    HF_ASSERT(watch->ref == NULL);
    free_watch(watch);
}

/* ---- what comes back */

static void answer(const void *data, struct hf__zk_answer *found, bool has_set)
{
    struct hf__zk_slot *slot = hf__zk_mutable(data);

    found->was_sent = true;
    if (slot->watch != NULL) {
        watch_answered(slot->watch, has_set);
    }
    hf__zk_slot_answer(slot, found);
}

/* Always puts a NUL behind the text. False: out of memory. */
static bool copy_text(struct hf__zk_answer *to, const char *text, int length)
{
    to->length = length < 0 ? 0 : length;
    to->text = hf__alloc((size_t)to->length + 1);
    if (to->text != NULL && to->length > 0) {
        memcpy(to->text, text, (size_t)to->length);
    }
    return to->text != NULL;
}

static bool copy_names(struct hf__zk_names *to,
                       const struct String_vector *from)
{
    if (from->count <= 0) {
        return true;
    }
    to->list = hf__alloc((size_t)from->count * sizeof *to->list);
    for (int i = 0; to->list != NULL && i < from->count; i++) {
        size_t size = strlen(from->data[i]) + 1;

        to->list[i] = hf__alloc(size);
        if (to->list[i] == NULL) {
            return false;
        }
        memcpy(to->list[i], from->data[i], size);
        to->n++;
    }
    return to->list != NULL;
}

static void on_void(int rc, const void *data)
{
    struct hf__zk_answer found = {.rc = rc};

    answer(data, &found, false);
}

static void on_string(int rc, const char *path, const void *data)
{
    (void)path;
    on_void(rc, data);
}

/* An answer that there is no memory for says so, for its change may have been
 * applied. */
static void on_created(int rc, const char *path, const struct Stat *stat,
                       const void *data)
{
    struct hf__zk_answer found = {.rc = rc};

    if (rc == ZOK) {
        found.stat = *stat;
        if (!copy_text(&found, path, (int)strlen(path))) {
            found.rc = HF__ZK_NO_MEMORY;
        }
    }
    answer(data, &found, false);
}

static void on_data(int rc, const char *value, int length,
                    const struct Stat *stat, const void *data)
{
    struct hf__zk_answer found = {.rc = rc};

    if (rc == ZOK) {
        found.stat = *stat;
        if (!copy_text(&found, value, length)) {
            found.rc = HF__ZK_NO_MEMORY;
        }
    }
    answer(data, &found, rc == ZOK);
}

static void on_set(int rc, const struct Stat *stat, const void *data)
{
    struct hf__zk_answer found = {.rc = rc};

    if (rc == ZOK) {
        found.stat = *stat;
    }
    answer(data, &found, false);
}

static void on_exists(int rc, const struct Stat *stat, const void *data)
{
    struct hf__zk_answer found = {.rc = rc};

    if (rc == ZOK) {
        found.stat = *stat;
    }
    answer(data, &found, rc == ZOK || rc == ZNONODE);
}

static void on_children(int rc, const struct String_vector *names,
                        const struct Stat *stat, const void *data)
{
    struct hf__zk_answer found = {.rc = rc};

    if (rc == ZOK) {
        found.stat = *stat;
        if (!copy_names(&found.names, names)) {
            found.rc = HF__ZK_NO_MEMORY;
        }
    }
    answer(data, &found, rc == ZOK);
}

/* Results before the failed part say ZOK, those behind it that they were not
 * tried. */
static void on_together(int rc, const void *data)
{
    const struct hf__zk_slot *slot = data;
    struct hf__zk_answer found = {.rc = rc};

    if (rc == ZOK) {
        found.stat = slot->answer.stat; /* where the library has written it */
    }
    while (slot->results[found.part].err != rc &&
           found.part < HF__ZK_TOGETHER - 1) {
        found.part++;
    }
    answer(data, &found, false);
}

static bool is_open(const struct ACL_vector *acl)
{
    for (int i = 0; i < acl->count; i++) {
        if (strcmp(acl->data[i].id.scheme, "world") == 0 &&
            (acl->data[i].perms & ~ZOO_PERM_READ) != 0) {
            return true;
        }
    }
    return false;
}

/* cppcheck-suppress constParameter; the library's type */
static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat,
                   const void *data)
{
    struct hf__zk_answer found = {.rc = rc};

    if (rc == ZOK) {
        const char *word = is_open(acl) ? "open" : "";

        found.stat = *stat;
        if (!copy_text(&found, word, (int)strlen(word))) {
            found.rc = HF__ZK_NO_MEMORY;
        }
    }
    answer(data, &found, false);
}

/* ---- what is sent */

static void refuse(struct hf__zk_slot *slot, int rc)
{
    struct hf__zk_answer found = {.rc = rc};

    if (slot->watch != NULL) {
        watch_answered(slot->watch, false);
    }
    hf__zk_slot_answer(slot, &found);
}

/* A request that the library could not finish (ZMARSHALLINGERROR) may still be
 * in its list, and is then answered when the connection ends. */
static void sent(struct hf__zk_slot *slot, int rc)
{
    if (rc != ZOK && rc != ZMARSHALLINGERROR) {
        refuse(slot, rc);
    }
}

static zhandle_t *handle_of(const struct hf__zk_calls *calls)
{
    return calls->session->handle;
}

static struct hf__zk_slot *watching(struct hf__zk_calls *calls, int i,
                                    const char *path, struct hf__zk_watch *w,
                                    bool is_list)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);

    if (w != NULL && watch_sent(w, path, is_list)) {
        slot->watch = w;
    }
    return slot;
}

static watcher_fn watcher_of(const struct hf__zk_slot *slot)
{
    return slot->watch != NULL ? fire : NULL;
}

void hf__zk_create(struct hf__zk_calls *calls, int i, const char *path,
                   const char *data, int length, int mode)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);

    sent(slot,
         zoo_acreate2(handle_of(calls), path, data, length,
                      hf__zk_acl_of(calls->session), mode, on_created, slot));
}

static void send_together(struct hf__zk_slot *slot, int n, const zoo_op_t *ops)
{
    sent(slot, hf__zk_multi(handle_of(slot->calls), n, ops, slot->results,
                            on_together, slot));
}

void hf__zk_create_pair(struct hf__zk_calls *calls, int i,
                        const char *const paths[2], const char *data,
                        int length)
{
    zoo_op_t ops[2];

    zoo_create_op_init(&ops[0], paths[0], data, length,
                       hf__zk_acl_of(calls->session), ZOO_EPHEMERAL, NULL, 0);
    zoo_create_op_init(&ops[1], paths[1], "", 0, hf__zk_acl_of(calls->session),
                       ZOO_EPHEMERAL, NULL, 0);
    send_together(hf__zk_slot_sent(calls, i), 2, ops);
}

void hf__zk_delete_pair(struct hf__zk_calls *calls, int i,
                        const char *const paths[2])
{
    zoo_op_t ops[2];

    zoo_delete_op_init(&ops[0], paths[0], -1);
    zoo_delete_op_init(&ops[1], paths[1], -1);
    send_together(hf__zk_slot_sent(calls, i), 2, ops);
}

void hf__zk_guarded(struct hf__zk_calls *calls, int i,
                    const struct hf__zk_change *c)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);
    struct Stat *stat = &slot->answer.stat;
    zoo_op_t ops[HF__ZK_TOGETHER];
    int n = 0;

    if (c->data == NULL) {
        zoo_set_op_init(&ops[n++], c->folder, "", 0, c->folder_version, stat);
        zoo_delete_op_init(&ops[n++], c->path, c->version);
        send_together(slot, n, ops);
        return;
    }
    zoo_check_op_init(&ops[n++], c->folder, c->folder_version);
    /* The library does not tell the zxid of a new node, so the new node is
     * written to as well. */
    if (c->is_new) {
        zoo_create_op_init(&ops[n++], c->path, "", 0,
                           hf__zk_acl_of(calls->session), ZOO_PERSISTENT, NULL,
                           0);
    }
    zoo_set_op_init(&ops[n++], c->path, c->data, c->length,
                    c->is_new ? 0 : c->version, stat);
    send_together(slot, n, ops);
}

void hf__zk_delete(struct hf__zk_calls *calls, int i, const char *path,
                   int version)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);

    sent(slot, zoo_adelete(handle_of(calls), path, version, on_void, slot));
}

void hf__zk_children(struct hf__zk_calls *calls, int i, const char *path,
                     struct hf__zk_watch *watch)
{
    struct hf__zk_slot *slot = watching(calls, i, path, watch, true);

    sent(slot, zoo_awget_children2(handle_of(calls), path, watcher_of(slot),
                                   slot->watch, on_children, slot));
}

void hf__zk_get(struct hf__zk_calls *calls, int i, const char *path,
                struct hf__zk_watch *watch)
{
    struct hf__zk_slot *slot = watching(calls, i, path, watch, false);

    sent(slot, zoo_awget(handle_of(calls), path, watcher_of(slot), slot->watch,
                         on_data, slot));
}

void hf__zk_exists(struct hf__zk_calls *calls, int i, const char *path,
                   struct hf__zk_watch *watch)
{
    struct hf__zk_slot *slot = watching(calls, i, path, watch, false);

    sent(slot, zoo_awexists(handle_of(calls), path, watcher_of(slot),
                            slot->watch, on_exists, slot));
}

void hf__zk_set(struct hf__zk_calls *calls, int i, const char *path,
                const char *data, int length, int version)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);

    sent(slot,
         zoo_aset(handle_of(calls), path, data, length, version, on_set, slot));
}

void hf__zk_sync(struct hf__zk_calls *calls, int i, const char *path)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);

    sent(slot, zoo_async(handle_of(calls), path, on_string, slot));
}

void hf__zk_config(struct hf__zk_calls *calls, int i)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);

    sent(slot, zoo_agetconfig(handle_of(calls), 0, on_data, slot));
}

void hf__zk_acl(struct hf__zk_calls *calls, int i, const char *path)
{
    struct hf__zk_slot *slot = hf__zk_slot_sent(calls, i);

    sent(slot, zoo_aget_acl(handle_of(calls), path, on_acl, slot));
}
