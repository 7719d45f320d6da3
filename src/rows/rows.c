/* SPDX-License-Identifier: MIT */
/*
 * What the calls for rows have in common, whatever the client library.
 * Statements: a name is quoted by doubling its quotes. That is right only in
 * character sets where a byte above 127 is never followed by a quote that
 * belongs to it, so names with such bytes are taken in UTF-8 only. Arguments: a
 * struct of the caller's may come from an older header, or from a newer one if
 * its new fields are zero. An update by version reads, computes, writes if the
 * version is still the same, and else tries again: all of that is here but the
 * reading and the writing. And the condition by which a resource compares
 * fences. Thread: the caller's.
 */
#include "src/rows/rows.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/base/time.h"
#include "src/base/utf8.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *hf__sql_strstatus(int status)
{
    switch (status) {
#define HF_X(name, value, text)                                                \
    case name:                                                                 \
        return #name;
        HF_STATUS_MAP(HF_X)
        HF_ROW_STATUS_MAP(HF_X)
#undef HF_X
    default:
        return "an unknown status";
    }
}

#define FIRST_ROOM 512

char *hf__sql_room(struct hf__sql *t, size_t more)
{
    size_t wanted = t->length + more + 1;
    size_t room = t->room == 0 ? FIRST_ROOM : t->room;
    char *bytes;

    if (t->is_broken || wanted <= t->room) {
        return t->is_broken ? NULL : t->bytes + t->length;
    }
    while (room < wanted) {
        room *= 2;
    }
    bytes = hf__resize(t->bytes, room);
    if (bytes == NULL) {
        t->is_broken = true;
        return NULL;
    }
    t->bytes = bytes;
    t->room = room;
    return bytes + t->length;
}

void hf__sql_clear(struct hf__sql *t)
{
    t->length = 0;
    t->is_broken = false;
}

void hf__sql_fini(struct hf__sql *t)
{
    hf__free(t->bytes);
    *t = (struct hf__sql){0};
}

void hf__sql_addf(struct hf__sql *t, const char *format, ...)
{
    va_list args;
    char *to;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    to = length < 0 ? NULL : hf__sql_room(t, (size_t)length);
    if (to == NULL) {
        t->is_broken = true;
        return;
    }
    va_start(args, format);
    (void)vsnprintf(to, (size_t)length + 1, format, args);
    va_end(args);
    t->length += (size_t)length;
}

void hf__sql_quoted(struct hf__sql *t, char quote, const char *name)
{
    char *to = hf__sql_room(t, 2 * strlen(name) + 2);

    if (to == NULL) {
        return;
    }
    *to++ = quote;
    for (; *name != '\0'; name++) {
        if (*name == quote) {
            *to++ = quote;
        }
        *to++ = *name;
    }
    *to++ = quote;
    *to = '\0';
    t->length = (size_t)(to - t->bytes);
}

static size_t characters_of(const char *name)
{
    size_t count = 0;

    for (; *name != '\0'; name++) {
        count += ((unsigned char)*name & 0xC0) != 0x80;
    }
    return count;
}

static bool is_ascii(const char *name)
{
    for (; *name != '\0'; name++) {
        if ((unsigned char)*name > 127) {
            return false;
        }
    }
    return true;
}

/* `what` is for the error's text: "table". HF_OK, HF_EINVAL. */
static int sql_check_name(const char *what, const char *name,
                          const struct hf__names *n, hf_error *err)
{
    size_t longest = (size_t)n->longest;

    if (name == NULL || *name == '\0') {
        return hf__fail(err, HF_EINVAL, "the %s has no name", what);
    }
    if (n->is_in_bytes
            ? strlen(name) > longest
            : strlen(name) > longest * 4 || characters_of(name) > longest) {
        return hf__fail(err, HF_EINVAL,
                        "the name of the %s is longer than %zu %s", what,
                        longest, n->is_in_bytes ? "bytes" : "characters");
    }
    if (!is_ascii(name) &&
        (!n->is_utf8 || !hf__utf8_is_valid(name, strlen(name)))) {
        return hf__fail(err, HF_EINVAL,
                        "the name of the %s is not ASCII: it must be UTF-8, on "
                        "a connection whose %s",
                        what, n->encoding);
    }
    return HF_OK;
}

/* `name` is the name of the value's column. HF_OK, HF_EINVAL. */
static int sql_check_value(const char *name, const hf_row_value *value,
                           hf_error *err)
{
    switch (value->type) {
    case HF_ROW_NULL:
    case HF_ROW_INT:
        return HF_OK;
    case HF_ROW_TEXT:
    case HF_ROW_BYTES:
        if (value->bytes != NULL || value->length == 0) {
            return HF_OK;
        }
        return hf__fail(err, HF_EINVAL,
                        "the value of %s has a length, and bytes is NULL",
                        name);
    case HF_ROW_UNSET:
        break;
    }
    return hf__fail(err, HF_EINVAL, "the value of %s has no type of a value",
                    name);
}

static int check(const char *column, uint64_t fence,
                 const struct hf__names *names, hf_error *err)
{
    int r = sql_check_name("fence's column", column, names, err);

    if (r == HF_OK && fence == 0) {
        r = hf__fail(err, HF_EINVAL,
                     "the fence is 0, which no grant has: is the lock held?");
    }
    return r;
}

static int copy(const struct hf__sql *sql, char *buf, size_t size,
                hf_error *err)
{
    if (sql->is_broken || sql->bytes == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (sql->length >= size) {
        return hf__fail(err, HF_EINVAL,
                        "the condition needs %zu bytes, and there are %zu",
                        sql->length + 1, size);
    }
    memcpy(buf, sql->bytes, sql->length + 1);
    return HF_OK;
}

int hf__sql_guard(char *buf, size_t size, const char *column, uint64_t fence,
                  const struct hf__names *names, hf_error *err)
{
    struct hf__sql sql = {.bytes = NULL};
    int r;

    if (buf == NULL || size == 0) {
        return hf__fail(err, HF_EINVAL, "there is no room for the condition");
    }
    buf[0] = '\0';
    r = check(column, fence, names, err);
    if (r == HF_OK) {
        hf__sql_quoted(&sql, names->quote, column);
        hf__sql_addf(&sql, "<=%" PRIu64, fence);
        r = copy(&sql, buf, size, err);
    }
    hf__sql_fini(&sql);
    return r;
}

/* Copy the caller's options over the defaults; NULL keeps the defaults. */
static int call_options(void *ours, size_t size, const void *theirs,
                        hf_error *err)
{
    const unsigned char *bytes = theirs;
    size_t given = 0;

    if (theirs == NULL) {
        return HF_OK;
    }
    memcpy(&given, theirs, sizeof given);
    if (given < sizeof given) {
        return hf__fail(err, HF_EINVAL,
                        "a struct's size is %zu: begin with its INIT macro",
                        given);
    }
    for (size_t i = size; i < given; i++) {
        if (bytes[i] != 0) {
            return hf__fail(err, HF_EINVAL,
                            "a struct is of a newer version than this library "
                            "(" HF_VERSION ")");
        }
    }
    memcpy(ours, theirs, given < size ? given : size);
    memcpy(ours, &size, sizeof size);
    return HF_OK;
}

int hf__call_lock_opts(hf_row_lock_opts *o, const hf_row_lock_opts *theirs,
                       hf_error *err)
{
    int r = call_options(o, sizeof *o, theirs, err);

    if (r != HF_OK) {
        return r;
    }
    if (o->wait_ms != HF_FOREVER &&
        (o->wait_ms < 0 || o->wait_ms > HF_ROW_WAIT_MAX_MS)) {
        return hf__fail(err, HF_EINVAL,
                        "wait_ms is %" PRId64 ": 0 to %d, or HF_FOREVER",
                        o->wait_ms, HF_ROW_WAIT_MAX_MS);
    }
    if (o->skip_locked != 0 && o->wait_ms != 0) {
        return hf__fail(err, HF_EINVAL,
                        "skip_locked does not wait: set wait_ms to 0");
    }
    return HF_OK;
}

void hf__call_begin(struct hf__call *c, hf_row_info *ret_info,
                    hf_error *ret_err)
{
    *c = (struct hf__call){.own_err = HF_ERROR_INIT,
                           .ret_err = ret_err,
                           .ret_info = ret_info,
                           .row = HF_ROW_INIT,
                           .info = HF_ROW_INFO_INIT};
    c->err = &c->own_err;
}

static size_t size_of(const hf_row_info *info)
{
    size_t size;

    memcpy(&size, info, sizeof size);
    return size;
}

int hf__call_open(struct hf__call *c, const void *db, const hf_row *row)
{
    if (c->ret_info != NULL && (size_of(c->ret_info) < sizeof(size_t) ||
                                size_of(c->ret_info) > sizeof c->info)) {
        c->ret_info = NULL;
        return hf__fail(
            c->err, HF_EINVAL,
            "the info's size is not one of this library (" HF_VERSION
            "): begin with its INIT macro");
    }
    if (db == NULL || row == NULL) {
        return hf__fail(c->err, HF_EINVAL, "the %s is NULL",
                        db == NULL ? "connection" : "row");
    }
    return call_options(&c->row, sizeof c->row, row, c->err);
}

int hf__call_check_row(struct hf__call *c, const struct hf__names *names)
{
    const hf_row *row = &c->row;

    if (sql_check_name("table", row->table, names, c->err) != HF_OK ||
        (row->database != NULL &&
         sql_check_name("database", row->database, names, c->err) != HF_OK)) {
        return HF_EINVAL;
    }
    if (row->key == NULL || row->n_key < 1 || row->n_key > HF_ROW_KEY_MAX) {
        return hf__fail(c->err, HF_EINVAL, "the key has %d columns: 1 to %d",
                        row->key == NULL ? 0 : row->n_key, HF_ROW_KEY_MAX);
    }
    for (int i = 0; i < row->n_key; i++) {
        const hf_row_column *k = &row->key[i];

        if (sql_check_name("key's column", k->name, names, c->err) != HF_OK ||
            sql_check_value(k->name, &k->value, c->err) != HF_OK) {
            return HF_EINVAL;
        }
        if (k->value.type == HF_ROW_NULL) {
            return hf__fail(c->err, HF_EINVAL,
                            "the key's column %s is NULL, which is equal to "
                            "nothing: a unique index may have it many times",
                            k->name);
        }
    }
    return HF_OK;
}

int hf__call_end(struct hf__call *c, int r)
{
    size_t size;

    if (r != HF_OK) {
        hf__error_copy(c->ret_err, &c->own_err);
    }
    if (c->ret_info != NULL) {
        size = size_of(c->ret_info);
        memcpy(c->ret_info, &c->info, size);
        memcpy(c->ret_info, &size, sizeof size);
    }
    return r;
}

int hf__call_gone(struct hf__call *c, const char *how)
{
    return hf__fail(c->err, HF_ROW_GONE, "%s has no such row%s", c->row.table,
                    how);
}

int hf__call_outside(struct hf__call *c)
{
    return hf__fail(c->err, HF_EUNSAFE,
                    "there is no transaction, so the row would be unlocked at "
                    "once: BEGIN first");
}

enum { PAUSE_MS = 2, PAUSE_MAX_MS = 64 };

static int check_columns(const struct hf__change *w,
                         const struct hf__names *names)
{
    hf_error *err = w->call->err;

    for (int i = 0; i < w->u.n_columns; i++) {
        const char *name = w->u.columns[i];

        if (sql_check_name("column", name, names, err) != HF_OK) {
            return HF_EINVAL;
        }
        if (strcasecmp(name, w->u.version) == 0) {
            return hf__fail(err, HF_EINVAL,
                            "%s is the version column, which is written here: "
                            "leave it out of the columns",
                            name);
        }
    }
    return HF_OK;
}

static int check_limits(const hf_row_update *u, hf_error *err)
{
    if (u->change == NULL) {
        return hf__fail(err, HF_EINVAL, "the callback is NULL");
    }
    if (u->columns == NULL || u->n_columns < 1 ||
        u->n_columns > HF_ROW_COLUMNS_MAX) {
        return hf__fail(err, HF_EINVAL, "the update has %d columns: 1 to %d",
                        u->columns == NULL ? 0 : u->n_columns,
                        HF_ROW_COLUMNS_MAX);
    }
    if (u->retries < 0 || u->retries > HF_ROW_RETRIES_MAX) {
        return hf__fail(err, HF_EINVAL, "retries is %d: 0 to %d", u->retries,
                        HF_ROW_RETRIES_MAX);
    }
    if (u->limit_ms < 1 || u->limit_ms > HF_ROW_WAIT_MAX_MS) {
        return hf__fail(err, HF_EINVAL, "limit_ms is %" PRId64 ": 1 to %d",
                        u->limit_ms, HF_ROW_WAIT_MAX_MS);
    }
    return HF_OK;
}

int hf__change_open(struct hf__change *w, const hf_row_update *given,
                    const struct hf__names *names)
{
    hf_error *err = w->call->err;

    if (given == NULL) {
        return hf__fail(err, HF_EINVAL, "the update is NULL");
    }
    if (call_options(&w->u, sizeof w->u, given, err) != HF_OK ||
        sql_check_name("version column", w->u.version, names, err) != HF_OK ||
        (w->u.deleted != NULL && sql_check_name("deletion column", w->u.deleted,
                                                names, err) != HF_OK) ||
        check_limits(&w->u, err) != HF_OK) {
        return HF_EINVAL;
    }
    return check_columns(w, names);
}

int hf__change_ask(struct hf__change *w)
{
    for (int i = 0; i < w->u.n_columns; i++) {
        w->new[i] = (hf_row_value){.type = HF_ROW_UNSET};
    }
    if (w->u.change(w->u.arg, w->old, w->new) != 0) {
        return hf__fail(w->call->err, HF_ROW_DECLINED,
                        "the callback did not want the change; nothing was "
                        "written");
    }
    for (int i = 0; i < w->u.n_columns; i++) {
        if (w->new[i].type != HF_ROW_UNSET &&
            sql_check_value(w->u.columns[i], &w->new[i], w->call->err) !=
                HF_OK) {
            return HF_EINVAL;
        }
    }
    return HF_OK;
}

int hf__change_conflict(struct hf__change *w)
{
    return hf__fail(w->call->err, HF_CONFLICT,
                    "%s: others changed the row between its reading and its "
                    "writing, %d times; nothing was written",
                    w->call->row.table, w->call->info.tries);
}

/* Random, and longer each time, so that updates that collided do not collide
 * again. */
static void pause_before(int tries)
{
    int64_t most = tries < 5 ? (int64_t)PAUSE_MS << tries : PAUSE_MAX_MS;

    (void)poll(NULL, 0, (int)hf__random_between(1, most));
}

int hf__change_attempts(struct hf__change *w, bool is_once,
                        int (*attempt)(void *), void *arg)
{
    hf__time end = hf__after_ms(hf__now(), w->u.limit_ms);
    hf_row_info *info = &w->call->info;
    bool is_again = true;
    int tries = 0;
    int r = HF_CONFLICT;

    while (is_again) {
        info->tries = ++tries;
        r = attempt(arg);
        is_again = (r == HF_CONFLICT || r == HF_DEADLOCK) && !is_once &&
                   tries <= w->u.retries;
        if (is_again) {
            pause_before(tries);
            is_again = hf__before(hf__now(), end);
        }
    }
    return r;
}
