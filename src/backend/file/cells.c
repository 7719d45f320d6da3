/* SPDX-License-Identifier: MIT */
/*
 * Cells, one file for each. A cell's file is never written again once it has
 * its name. A change is a new file that replaces the old one, made by a session
 * that has the old one locked and has checked that it is still in its place;
 * the first file takes the name if no other has it. So readers need no lock. As
 * with the files of locks, nothing is synced. Called by the session's thread.
 */
#include "src/backend/cell.h"

#include "src/backend/file/file.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The dot keeps cells apart from locks, the rest from unfinished files. */
#define LEAD   ".cell-"
#define FORMAT 1
/* How long to wait for a process that may be stopped with the file locked. */
#define LOCK_MS 50

/* In the machine's byte order. */
struct record {
    char magic[8];
    uint64_t checksum; /* of everything after it */
    uint32_t format;
    uint32_t size;
    uint64_t key_length;
    char key[HF__KEY_MAX];
    uint64_t version;
    struct hf__token writer;
    uint64_t has_value; /* 0: it was deleted */
    uint64_t length;
};

struct contents {
    struct record head;
    unsigned char value[HF__CELL_MAX]; /* zero-padded to a multiple of 8 */
};

static const char magic[8] = {'H', 'F', 'l', 'k', 'c', 'e', 'l', 'l'};

_Static_assert(sizeof(struct record) % 8 == 0, "as hf__file_sum() has it");
_Static_assert(offsetof(struct record, length) + 8 == sizeof(struct record),
               "no padding behind");

static void free_contents(struct contents **contents)
{
    hf__free(*contents);
}

/* ---- the contents of a file */

static size_t size_of(const struct contents *c)
{
    return sizeof c->head + ((size_t)c->head.length + 7) / 8 * 8;
}

static uint64_t checksum(const struct contents *c)
{
    size_t from = offsetof(struct record, format);

    return hf__file_sum((const unsigned char *)c + from, size_of(c) - from);
}

/* `length` bytes of a file of `size` bytes were read. */
static bool is_whole(const struct contents *c, size_t length, int64_t size)
{
    const struct record *r = &c->head;

    return length >= sizeof *r && memcmp(r->magic, magic, sizeof magic) == 0 &&
           r->format == FORMAT && r->size == sizeof *r && r->key_length > 0 &&
           r->key_length <= HF__KEY_MAX && r->version > 0 &&
           r->version < HF__FENCE_END && r->has_value <= 1 &&
           r->length <= (r->has_value ? HF__CELL_MAX : 0) &&
           length == size_of(c) && size == (int64_t)length &&
           r->checksum == checksum(c);
}

/* key NULL: accept any key. */
static int read_file(const struct hf__lockfile *file, const struct hf__key *key,
                     struct contents *c, hf_error *err)
{
    const struct hf__dir *dir = &file->s->file_dir.dir;
    const struct record *r = &c->head;
    ssize_t length = pread(file->fd, c, sizeof *c, 0);

    if (length < 0) {
        return hf__dir_fail(dir, "read", file->name, err);
    }
    if (is_whole(c, (size_t)length, file->size) &&
        (key == NULL || (r->key_length == key->length &&
                         memcmp(r->key, key->bytes, key->length) == 0))) {
        return HF_OK;
    }
    return hf__fail(err, HF_EPROTO,
                    "%s/%s is damaged, a copy of another cell's file, or "
                    "another version's of Holdfast; it was left as it is: move "
                    "it away when nobody uses the cell, which then begins anew",
                    dir->store, file->name);
}

static struct hf__cell_state state_of(const struct contents *c)
{
    return (struct hf__cell_state){.version = c->head.version,
                                   .writer = c->head.writer,
                                   .has_value = c->head.has_value != 0,
                                   .length = (size_t)c->head.length};
}

static void fill(struct contents *c, const struct hf__cell_op *op)
{
    struct record *r = &c->head;

    memset(c, 0, sizeof *c);
    memcpy(r->magic, magic, sizeof magic);
    r->format = FORMAT;
    r->size = sizeof *r;
    r->key_length = op->key.length;
    memcpy(r->key, op->key.bytes, op->key.length);
    r->version = op->state.version;
    r->writer = op->state.writer;
    r->has_value = op->state.has_value;
    r->length = op->state.length;
    if (r->length > 0) {
        memcpy(c->value, op->value, op->state.length);
    }
    r->checksum = checksum(c);
}

/* ---- reading and changing */

static int open_cell(struct hf__file *s, const struct hf__key *key,
                     struct hf__lockfile *file, hf_error *err)
{
    char name[HF__FILE_NAME_SIZE];
    char whole[HF__FILE_NAME_SIZE + sizeof LEAD];

    hf__file_name(key, name);
    (void)snprintf(whole, sizeof whole, LEAD "%s", name);
    return hf__lockfile_open_name(s, whole, file, err);
}

static int get(struct hf__file *s, struct hf__cell_op *op, struct contents *c)
{
    HF_AUTO(hf__lockfile_close) struct hf__lockfile file;
    int r = open_cell(s, &op->key, &file, op->err);

    if (r == HF_OK && file.fd >= 0) {
        r = read_file(&file, &op->key, c, op->err);
        if (r == HF_OK) {
            op->state = state_of(c);
            memcpy(op->value, c->value, op->state.length);
        }
    }
    return r;
}

/* From here on the change may be in force. */
static int put_in_place(const struct hf__lockfile *file,
                        const char name[HF__ASIDE_SIZE], struct hf__cell_op *op)
{
    const struct hf__dir *dir = &file->s->file_dir.dir;
    int r = HF_OK;

    op->result = HF_EUNKNOWN;
    if (file->fd >= 0) {
        if (renameat(dir->fd, name, dir->fd, file->name) == 0) {
            return HF_OK;
        }
        r = hf__dir_fail(dir, "replace", file->name, op->err);
    } else if (linkat(dir->fd, name, dir->fd, file->name, 0)) {
        r = errno == EEXIST ? HF__RACED
                            : hf__dir_fail(dir, "make", file->name, op->err);
    }
    (void)unlinkat(dir->fd, name, 0);
    return r;
}

/* Nobody else replaces a file that is locked here and is still in its place. */
static int lock_and_read(struct hf__lockfile *file, const struct hf__key *key,
                         struct contents *c, hf_error *err)
{
    if (!hf__lockfile_lock(file,
                           hf__earlier(file->s->local.engine_session.deadline,
                                       hf__after_ms(hf__now(), LOCK_MS)))) {
        return hf__fail(err, HF__AGAIN, "%s/%s is locked by somebody else",
                        file->s->file_dir.dir.store, file->name);
    }
    return hf__lockfile_is_in_place(file) ? read_file(file, key, c, err)
                                          : HF__RACED;
}

static int change(struct hf__file *s, struct hf__cell_op *op,
                  struct contents *c)
{
    HF_AUTO(hf__lockfile_close) struct hf__lockfile file;
    struct hf__cell_state now = {0};
    char name[HF__ASIDE_SIZE];
    bool writes = false;
    int r = open_cell(s, &op->key, &file, op->err);

    if (r == HF_OK && file.fd >= 0) {
        r = lock_and_read(&file, &op->key, c, op->err);
        now = r == HF_OK ? state_of(c) : now;
    }
    if (r == HF_OK) {
        r = hf__cell_decide(op, &now, hf__wall_us(), &writes);
    }
    if (!writes) {
        return r;
    }
    fill(c, op);
    r = hf__lockfile_aside(&file, c, size_of(c), name, op->err);
    if (r < 0) {
        return r;
    }
    hf__fd_close(r);
    return put_in_place(&file, name, op);
}

int hf__file_cell(struct hf__file *s, struct hf__cell_op *op)
{
    HF_AUTO(free_contents) struct contents *c = hf__alloc(sizeof *c);
    int r = HF__RACED;

    if (c == NULL) {
        return hf__fail(op->err, HF_ENOMEM, "out of memory for a cell");
    }
    if (op->what == HF__CELL_GET) {
        return get(s, op, c);
    }
    while (r == HF__RACED && !hf__local_is_over(&s->local)) {
        r = change(s, op, c);
    }
    return r == HF__RACED ? hf__fail(op->err, HF__AGAIN,
                                     "others changed the cell meanwhile")
                          : r;
}

/* ---- cleaning */

struct cleaning {
    struct contents *contents;
    struct hf__gc *gc;
};

/* Damaged and locked files are left alone. */
static int clean_one(struct hf__file *s, const char *name,
                     const struct hf__scan *scan)
{
    const struct cleaning *cleaning = scan->arg;
    struct contents *c = cleaning->contents;
    HF_AUTO(hf__lockfile_close) struct hf__lockfile file;
    struct hf__cell_state now;

    if (hf__lockfile_open_name(s, name, &file, NULL) != HF_OK || file.fd < 0 ||
        file.size != (int64_t)sizeof c->head || /* has a value, or is damaged */
        read_file(&file, NULL, c, NULL) != HF_OK ||
        !hf__file_is_named(
            &(struct hf__key){c->head.key, (uint16_t)c->head.key_length, 0},
            name + strlen(LEAD), scan->prefix)) {
        return HF_OK;
    }
    now = state_of(c);
    if (hf__cell_is_idle(&now, hf__wall_us(), cleaning->gc->idle_us) &&
        hf__lockfile_lock(&file, (hf__time){0}) &&
        hf__lockfile_is_in_place(&file) &&
        unlinkat(s->file_dir.dir.fd, name, 0) == 0) {
        cleaning->gc->count++;
    }
    return HF_OK;
}

int hf__file_clean_cells(struct hf__file *s, const struct hf__key *prefix,
                         struct hf__gc *g, hf_error *err)
{
    HF_AUTO(free_contents) struct contents *c = hf__alloc(sizeof *c);
    struct cleaning cleaning = {c, g};
    struct hf__scan scan = {.prefix = prefix,
                            .is_to_clean = true,
                            .length = g->length,
                            .arg = &cleaning};
    int r;

    if (c == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for cleaning");
    }
    memcpy(scan.at, g->at, g->length);
    r = hf__file_walk(s, &scan, LEAD, clean_one, err);
    memcpy(g->at, scan.at, scan.length);
    g->length = scan.length;
    return r;
}
