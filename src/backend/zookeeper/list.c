/* SPDX-License-Identifier: MIT */
/*
 * list() and gc(): all names with a prefix, by one listing of its folder. A
 * folder with a name that we would not write is not ours, and is passed over.
 * Called by the backend session's thread.
 */
#include "src/backend/compatibility.h"
#include "src/backend/zookeeper/steps.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <stdlib.h>
#include <string.h>

struct keys {
    struct hf__key *list; /* sorted */
    size_t n;
    char *bytes; /* the bytes of all keys */
};

static void keys_fini(struct keys *keys)
{
    hf__free(keys->list);
    hf__free(keys->bytes);
    *keys = (struct keys){0};
}

static int by_key(const void *a, const void *b)
{
    return hf__key_compare(a, b);
}

/* Reads the key of a folder, written to `to`. False: it has not that prefix, or
 * the folder is not ours. */
static bool read_key(const struct hf__key *prefix, const char *folder, char *to,
                     struct hf__key *ret_key)
{
    char name[HF_NAME_MAX];
    size_t n = hf__zk_name_read(folder, name);
    size_t length = prefix->name_at + n;

    if (n == 0 || length < prefix->length) {
        return false;
    }
    memcpy(to, prefix->bytes, prefix->name_at);
    memcpy(to + prefix->name_at, name, n);
    *ret_key = (struct hf__key){to, (uint16_t)length, prefix->name_at};
    return memcmp(to, prefix->bytes, prefix->length) == 0;
}

static int take_names(struct keys *keys, const struct hf__key *prefix,
                      const struct hf__zk_names *names)
{
    size_t n = names->n > 0 ? (size_t)names->n : 1;

    keys->list = hf__alloc(n * sizeof *keys->list);
    keys->bytes = hf__alloc(n * HF__KEY_MAX);
    if (keys->list == NULL || keys->bytes == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < names->n; i++) {
        keys->n +=
            read_key(prefix, names->list[i],
                     keys->bytes + keys->n * HF__KEY_MAX, &keys->list[keys->n]);
    }
    qsort(keys->list, keys->n, sizeof *keys->list, by_key);
    return HF_OK;
}

/* Tells why the wait ended: a deadline passed, or the session is over. */
static int tell_late(hf_error *err, int r)
{
    return r == HF_BUSY
               ? hf__fail(err, HF_EUNAVAIL, "the server did not answer in time")
               : r;
}

static int read_keys(struct hf__zk *s, const struct hf__key *prefix,
                     struct keys *keys, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto) struct hf__zk_calls *calls = NULL;
    char path[HF__ZK_FOLDER_MAX];
    const struct hf__zk_answer *a;
    int r = hf__zk_ready(&s->ref, deadline, err);

    if (r != HF_OK) {
        return tell_late(err, r);
    }
    calls = hf__zk_calls_new(&s->ref, 2);
    if (calls == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a request");
    }
    (void)hf__zk_prefix_path(s->url.chroot, prefix, path);
    hf__zk_sync(calls, 1, path); /* for the server may be behind the others */
    hf__zk_children(calls, 0, path, NULL);
    r = hf__zk_await(calls, deadline, err);
    if (r != HF_OK) {
        return tell_late(err, r);
    }
    a = hf__zk_answer(calls, hf__zk_answer(calls, 1)->rc == ZOK ? 0 : 1);
    if (a->rc == ZNONODE) {
        return HF_OK;
    }
    if (a->rc != ZOK) {
        return hf__zk_fail(&s->ref, a, path, false, err);
    }
    r = take_names(keys, prefix, &a->names);
    return r == HF_OK ? r : hf__fail(err, r, "out of memory for the names");
}

/* ---- list()
 *
 * Every grant of names with a prefix, in the order of keys. The folders are
 * listed first, then each name is inspected, many at once; so what list() tells
 * of one name is of one moment, but names are of different moments. Names that
 * we may not read are left out, for they are other users'; only if we may read
 * none, it fails.
 */

/* So many names are inspected at once. */
#define INSPECTED 64

struct inspection {
    struct hf__op op;
    struct hf__participant_list participants;
    hf_error err;
};

struct listing {
    struct hf__zk *s;
    const struct hf__key *prefix;
    hf__list_fn fn;
    void *arg;
    bool is_over;     /* the caller wants no more */
    bool has_read;    /* some name was read */
    bool was_refused; /* some name was refused, … */
    hf_error refusal; /* … and the first error of these */
};

static void end_inspections(struct inspection **list)
{
    for (int i = 0; *list != NULL && i < INSPECTED; i++) {
        hf__free((*list)[i].participants.list);
    }
    hf__free(*list);
}

static void tell(struct listing *l, const struct inspection *one)
{
    const char *name = one->op.key.bytes + l->prefix->name_at;
    size_t length = (size_t)(one->op.key.length - l->prefix->name_at);

    for (int i = 0; i < one->participants.n && !l->is_over; i++) {
        const struct hf__participant_info *participant =
            &one->participants.list[i];

        l->is_over = !participant->is_waiting &&
                     l->fn(l->arg, name, length, &participant->record) != 0;
    }
}

/* Take one name. HF_OK, or the error that ends the list. */
static int take(struct listing *l, const struct inspection *one, hf_error *err)
{
    if (one->op.result == HF_OK) {
        l->has_read = true;
        tell(l, one);
    } else if (one->op.result != HF_EAUTH) {
        hf__error_copy(err, &one->err);
        return one->op.result;
    } else if (!l->was_refused) {
        l->was_refused = true;
        hf__error_copy(&l->refusal, &one->err);
    }
    return HF_OK;
}

/* Inspect the names from `at` on. Returns how many were told; negative: the
 * session is over, or one could not be read. */
static int inspect_some(struct listing *l, const struct keys *keys, size_t at,
                        hf__time deadline, hf_error *err)
{
    HF_AUTO(end_inspections)
    struct inspection *list = hf__alloc(INSPECTED * sizeof *list);
    struct hf__op *ops[INSPECTED];
    int n = 0;
    int r;

    if (list == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a list");
    }
    for (; n < INSPECTED && at + (size_t)n < keys->n; n++) {
        list[n].err = (hf_error)HF_ERROR_INIT;
        list[n].op = (struct hf__op){.kind = HF__OP_INSPECT,
                                     .result = HF_EUNAVAIL,
                                     .key = keys->list[at + (size_t)n],
                                     .slot = -1,
                                     .ret_participants = &list[n].participants,
                                     .err = &list[n].err};
        ops[n] = &list[n].op;
    }
    r = hf__zk_run(l->s, hf__zk_inspect, ops, n, deadline, err);
    if (r < 0) {
        hf__zk_leave_session(l->s);
    }
    for (int i = 0; r == HF_OK && i < n && !l->is_over; i++) {
        r = take(l, &list[i], err);
    }
    return r == HF_OK ? n : r;
}

int hf__zk_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err)
{
    HF_AUTO(keys_fini) struct keys keys = {0};
    struct listing l = {.s = state,
                        .prefix = prefix,
                        .fn = fn,
                        .arg = arg,
                        .refusal = HF_ERROR_INIT};
    int r = read_keys(l.s, prefix, &keys, deadline, err);
    size_t at = 0;

    while (r >= 0 && !l.is_over && at < keys.n) {
        r = inspect_some(&l, &keys, at, deadline, err);
        at += r > 0 ? (size_t)r : 0;
    }
    if (r >= 0 && l.was_refused && !l.has_read) {
        hf__error_copy(err, &l.refusal);
        return HF_EAUTH;
    }
    return r < 0 ? r : (int)HF_OK;
}

/* ---- gc()
 *
 * Delete the folders of names that nobody uses. The server deletes containers
 * by itself, a minute after their last child went; it leaves one that never had
 * a child, and all folders if it knows no containers. The server refuses to
 * delete a folder with a child, so a claim that comes meanwhile is safe; and
 * zxids rise whatever is deleted.
 *
 * For cells, it deletes the tombstones, each in one transaction with a write to
 * their folder. By that write a change or a cleaning that has looked before
 * knows that the cell is no longer as it was (cells.c). If somebody writes to
 * one of the cells meanwhile, its deletion fails, and those behind it are left
 * to the next cleaning.
 */

/* So many folders are looked at with one call of gc(). */
#define LOOKED_AT 512

struct cleaning {
    struct hf__zk *s;
    struct hf__gc *g;
    const struct hf__key *keys;
    int n;
    hf__time deadline;
    hf_error *err;
    char folder[HF__ZK_FOLDER_MAX]; /* the folder of all these names */
};

static void path_of(const struct cleaning *c, int i, char to[HF__ZK_FOLDER_MAX])
{
    (void)hf__zk_name_path(c->s->url.chroot, &c->keys[i], to);
}

/* HF_OK, or why not all requests are answered. */
static int await(const struct cleaning *c, struct hf__zk_calls *calls)
{
    int r = hf__zk_await(calls, c->deadline, c->err);

    return r == HF_BUSY ? hf__fail(c->err, HF_EUNAVAIL,
                                   "the server did not answer in time")
                        : r;
}

/* Was the node last written so long ago, by the server's wall clock? */
static bool is_old(const struct cleaning *c, const struct hf__zk_answer *a)
{
    int64_t since_us = hf__time_bounded(a->stat.mtime) * 1000;

    return a->rc == ZOK && hf__wall_us() - since_us >= c->g->idle_us;
}

/* Does nobody use the name now, nor did for so long? The server does not tell
 * when the folder's last child came or went, so the folder's own last write,
 * its making, counts. */
static bool is_idle(const struct cleaning *c, const struct hf__zk_answer *a)
{
    struct hf__cell_state cell;

    /* A folder with children can't be deleted. */
    return is_old(c, a) && a->stat.numChildren == 0 &&
           (!c->g->of_cells || (hf__zk_cell_read(a, &cell) && !cell.has_value));
}

static int delete_idle(const struct cleaning *c, struct hf__zk_calls *looks)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&c->s->ref, c->n);
    char path[HF__ZK_FOLDER_MAX];
    struct hf__zk_change change = {.folder = c->folder, .path = path};
    int n = 0;
    int r;

    if (calls == NULL) {
        return hf__fail(c->err, HF_ENOMEM, "out of memory for requests");
    }
    change.folder_version = hf__zk_answer(looks, c->n)->stat.version;
    for (int i = 0; i < c->n; i++) {
        const struct hf__zk_answer *a = hf__zk_answer(looks, i);

        if (!is_idle(c, a)) {
            continue;
        }
        path_of(c, i, path);
        if (c->g->of_cells) {
            change.version = a->stat.version;
            hf__zk_guarded(calls, n++, &change);
            change.folder_version++; /* this change raises it */
        } else {
            hf__zk_delete(calls, n++, path, -1);
        }
    }
    r = n == 0 ? (int)HF_OK : await(c, calls);
    for (int i = 0; i < n; i++) {
        c->g->count += hf__zk_answer(calls, i)->rc == ZOK;
    }
    return r;
}

/* Whether a cell is a tombstone is told by its data, which is read if it has a
 * tombstone's length. Before that the cells' folder is read, for its
 * version. */
static int look_closer(const struct cleaning *c, struct hf__zk_calls **looks)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *first = *looks;
    char path[HF__ZK_FOLDER_MAX];

    *looks = hf__zk_calls_new(&c->s->ref, c->n + 1);
    if (*looks == NULL) {
        return hf__fail(c->err, HF_ENOMEM, "out of memory for requests");
    }
    hf__zk_exists(*looks, c->n, c->folder, NULL);
    for (int i = 0; i < c->n; i++) {
        const struct hf__zk_answer *a = hf__zk_answer(first, i);

        if (is_old(c, a) && a->stat.dataLength == HF__ZK_TOMBSTONE) {
            path_of(c, i, path);
            hf__zk_get(*looks, i, path, NULL);
        }
    }
    return await(c, *looks);
}

static int clean(const struct cleaning *c)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *looks = hf__zk_calls_new(&c->s->ref, c->n + 1);
    char path[HF__ZK_FOLDER_MAX];
    int r;

    if (looks == NULL) {
        return hf__fail(c->err, HF_ENOMEM, "out of memory for requests");
    }
    for (int i = 0; i < c->n; i++) {
        path_of(c, i, path);
        hf__zk_exists(looks, i, path, NULL);
    }
    r = await(c, looks);
    r = r == HF_OK && c->g->of_cells ? look_closer(c, &looks) : r;
    return r == HF_OK ? delete_idle(c, looks) : r;
}

/* The index of the first key after the bookmark. */
static size_t resume(const struct hf__gc *g, const struct keys *keys)
{
    struct hf__key at = {g->at, (uint16_t)g->length, 0};
    size_t i = 0;

    while (g->length > 0 && i < keys->n &&
           hf__key_compare(&keys->list[i], &at) <= 0) {
        i++;
    }
    return i;
}

int hf__zk_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
              hf__time deadline, hf_error *err)
{
    HF_AUTO(keys_fini) struct keys keys = {0};
    struct cleaning c = {.s = state, .g = g, .deadline = deadline, .err = err};
    int r = read_keys(c.s, prefix, &keys, deadline, err);
    size_t at = resume(g, &keys);
    size_t left = keys.n - at;

    g->length = 0;
    if (r == HF_EAUTH && g->of_cells) {
        return HF_OK; /* the cells are another user's: ours has only locks */
    }
    if (r != HF_OK || left == 0) {
        return r;
    }
    (void)hf__zk_prefix_path(c.s->url.chroot, prefix, c.folder);
    c.keys = keys.list + at;
    c.n = left < LOOKED_AT ? (int)left : LOOKED_AT;
    r = clean(&c);
    if (r == HF_OK && left > LOOKED_AT) {
        const struct hf__key *last = &c.keys[c.n - 1];

        memcpy(g->at, last->bytes, last->length);
        g->length = last->length;
    }
    return r;
}
