/* SPDX-License-Identifier: MIT */
/*
 * gc(): delete the folders of names that nobody uses. The server takes away
 * containers by itself, a minute after the last child of theirs went; one that
 * never had a child it leaves, and all folders where it knows no containers. A
 * folder with a child is refused by the server, so nobody who comes meanwhile
 * is hit; and zxids rise whatever is deleted.
 *
 * Of cells it deletes the tombstones, each together with a write to their
 * folder, by which whoever has looked before, be it to change a cell or to
 * clean up, knows that it is no longer as it was (cells.c). So if somebody
 * writes to one meanwhile, those behind it are left to the next cleaning.
 * Called by the session's thread.
 */
#include "src/backend/zookeeper/names.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* So many folders are looked at with one call. */
#define TOGETHER 512

struct cleaning {
    struct hf__zk *s;
    struct hf__gc *g;
    const struct hf__key *keys;
    int n;
    hf__time deadline;
    hf_error *err;
    char folder[HF__ZK_FOLDER_MAX]; /* of all of them */
};

static void path_of(const struct cleaning *c, int i, char to[HF__ZK_FOLDER_MAX])
{
    (void)hf__zk_name_path(c->s->place.chroot, &c->keys[i], to);
}

/* HF_OK, or why not all is answered. */
static int await(const struct cleaning *c, struct hf__zk_calls *calls)
{
    int r = hf__zk_await(calls, c->deadline, c->err);

    return r == HF_BUSY ? hf__fail(c->err, HF_EUNAVAIL,
                                   "the server did not answer in time")
                        : r;
}

/* The server's wall clock says when it was written. */
static bool is_old(const struct cleaning *c, const struct hf__zk_answer *a)
{
    int64_t since_us = hf__time_bounded(a->stat.mtime) * 1000;

    return a->rc == ZOK && hf__wall_us() - since_us >= c->g->idle_us;
}

/* Nobody is there, and nobody was for so long: when the folder's last child
 * came or went, as far as the server tells, which is when it was made. */
static bool is_idle(const struct cleaning *c, const struct hf__zk_answer *a)
{
    struct hf__cell_state cell;

    /* One with children, which are not ours, can't be deleted. */
    return is_old(c, a) && a->stat.numChildren == 0 &&
           (!c->g->of_cells || (hf__zk_cell_read(a, &cell) && !cell.has_value));
}

static int delete_idle(const struct cleaning *c, struct hf__zk_calls *looks)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&c->s->front, c->n);
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
            change.folder_version++; /* by this one */
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

/* Of a cell its data tells, which is read where it is as long as a tombstone's;
 * and before it their folder. */
static int look_closer(const struct cleaning *c, struct hf__zk_calls **looks)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *first = *looks;
    char path[HF__ZK_FOLDER_MAX];

    *looks = hf__zk_calls_new(&c->s->front, c->n + 1);
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
    struct hf__zk_calls *looks = hf__zk_calls_new(&c->s->front, c->n + 1);
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

/* The first behind the bookmark. */
static size_t resume(const struct hf__gc *g, const struct hf__zk_keys *keys)
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
    HF_AUTO(hf__zk_keys_fini) struct hf__zk_keys keys = {0};
    struct cleaning c = {.s = state, .g = g, .deadline = deadline, .err = err};
    int r = hf__zk_keys_read(c.s, prefix, &keys, deadline, err);
    size_t at = resume(g, &keys);
    size_t left = keys.n - at;

    g->length = 0;
    if (r == HF_EAUTH && g->of_cells) {
        return HF_OK; /* another user's: this one has locks alone */
    }
    if (r != HF_OK || left == 0) {
        return r;
    }
    (void)hf__zk_prefix_path(c.s->place.chroot, prefix, c.folder);
    c.keys = keys.list + at;
    c.n = left < TOGETHER ? (int)left : TOGETHER;
    r = clean(&c);
    if (r == HF_OK && left > TOGETHER) {
        const struct hf__key *last = &c.keys[c.n - 1];

        memcpy(g->at, last->bytes, last->length);
        g->length = last->length;
    }
    return r;
}
