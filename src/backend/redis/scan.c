/* SPDX-License-Identifier: MIT */
/*
 * SCAN and the names that it finds. The server returns a key that stays at
 * least once, one that comes or goes meanwhile perhaps, and any of them perhaps
 * twice; so all names are collected before anything is asked about them. The
 * values are not looked at here. Called by the session's thread.
 */
#include "src/backend/redis/scan.h"

#include "src/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* How many of its keys the server examines for one page, however few of them
 * are ours: a fraction of a millisecond. */
#define COUNT "500"

/* ---- the pattern */

static void add_literally(struct hf__scan *scan, const char *bytes,
                          size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr("*?[]\\", bytes[i]) != NULL && bytes[i] != '\0') {
            scan->pattern[scan->pattern_length++] = '\\';
        }
        scan->pattern[scan->pattern_length++] = bytes[i];
    }
}

static void add_raw(struct hf__scan *scan, const char *text)
{
    size_t length = strlen(text);

    memcpy(scan->pattern + scan->pattern_length, text, length);
    scan->pattern_length += length;
}

/* Matches prefix:{name…} */
void hf__scan_begin(struct hf__scan *scan, const struct hf__key *prefix)
{
    *scan = (struct hf__scan){.prefix = prefix, .cursor = "0"};
    add_literally(scan, prefix->bytes, prefix->name_at);
    add_raw(scan, "{");
    add_literally(scan, prefix->bytes + prefix->name_at,
                  (size_t)(prefix->length - prefix->name_at));
    add_raw(scan, "*}");
}

static bool set_cursor(struct hf__scan *scan, const char *cursor, size_t length)
{
    if (length == 0 || length >= sizeof scan->cursor) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (cursor[i] < '0' || cursor[i] > '9') {
            return false;
        }
    }
    memcpy(scan->cursor, cursor, length);
    scan->cursor[length] = '\0';
    return true;
}

bool hf__scan_resume(struct hf__scan *scan, const char *cursor, size_t length)
{
    return set_cursor(scan, cursor, length);
}

void hf__scan_add(struct hf__bytes *out, const struct hf__scan *scan)
{
    struct hf__args args;

    hf__args_begin(&args, "SCAN");
    hf__args_word(&args, scan->cursor);
    hf__args_word(&args, "MATCH");
    hf__args_bytes(&args, scan->pattern, scan->pattern_length);
    hf__args_word(&args, "COUNT");
    hf__args_word(&args, COUNT);
    hf__bytes_add(out, &args);
}

/* ---- names */

void hf__names_clear(struct hf__names *names)
{
    names->n = 0;
    names->used = 0;
}

void hf__names_fini(struct hf__names *names)
{
    hf__free(names->keys);
    hf__free(names->bytes);
    *names = (struct hf__names){0};
}

static int make_room(struct hf__names *names)
{
    if (names->n == names->room) {
        size_t room = names->room == 0 ? 64 : 2 * names->room;
        struct hf__key *keys = hf__resize(names->keys, room * sizeof *keys);

        if (keys == NULL) {
            return HF_ENOMEM;
        }
        names->keys = keys;
        names->room = room;
    }
    if (names->size - names->used < HF__KEY_MAX) {
        size_t size = 2 * names->size + 8 * (size_t)HF__KEY_MAX;
        char *bytes = hf__resize(names->bytes, size);

        if (bytes == NULL) {
            return HF_ENOMEM;
        }
        names->bytes = bytes;
        names->size = size;
    }
    return HF_OK;
}

static void append(struct hf__names *names, const char *bytes, size_t length)
{
    memcpy(names->bytes + names->used, bytes, length);
    names->used += length;
}

/* Add a key "prefix:{name}" without its braces. Other keys are skipped, also
 * the further keys of a name, which have an ending. */
static int add_found(struct hf__names *names, const struct hf__key *prefix,
                     const redisReply *found)
{
    size_t name_at = prefix->name_at;
    size_t rest = (size_t)(prefix->length - prefix->name_at);
    size_t length = found->type == REDIS_REPLY_STRING ? (size_t)found->len : 0;
    int r;

    if (length < name_at + rest + 2 || length - 2 > HF__KEY_MAX ||
        length == name_at + 2 ||
        memcmp(found->str, prefix->bytes, name_at) != 0 ||
        found->str[name_at] != '{' || found->str[length - 1] != '}' ||
        memcmp(found->str + name_at + 1, prefix->bytes + name_at, rest) != 0) {
        return HF_OK;
    }
    r = make_room(names);
    if (r == HF_OK) {
        names->keys[names->n++] =
            (struct hf__key){NULL, (uint16_t)(length - 2), (uint16_t)name_at};
        append(names, found->str, name_at);
        append(names, found->str + name_at + 1, length - name_at - 2);
    }
    return r;
}

int hf__scan_take(struct hf__scan *scan, const redisReply *reply,
                  struct hf__names *names)
{
    const redisReply *page;
    int r = HF_OK;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_STRING ||
        reply->element[1]->type != REDIS_REPLY_ARRAY ||
        !set_cursor(scan, reply->element[0]->str,
                    (size_t)reply->element[0]->len)) {
        return HF_EPROTO;
    }
    scan->is_over = strcmp(scan->cursor, "0") == 0;
    page = reply->element[1];
    for (size_t i = 0; i < page->elements && r == HF_OK; i++) {
        r = add_found(names, scan->prefix, page->element[i]);
    }
    return r;
}

static int compare(const void *a, const void *b)
{
    return hf__key_compare(a, b);
}

void hf__names_sort(struct hf__names *names)
{
    const char *at = names->bytes;
    size_t kept = 0;

    for (size_t i = 0; i < names->n; i++) {
        names->keys[i].bytes = at;
        at += names->keys[i].length;
    }
    if (names->n == 0) {
        return;
    }
    qsort(names->keys, names->n, sizeof *names->keys, compare);
    for (size_t i = 1; i < names->n; i++) {
        if (compare(&names->keys[kept], &names->keys[i]) != 0) {
            names->keys[++kept] = names->keys[i];
        }
    }
    names->n = kept + 1;
}
