/* SPDX-License-Identifier: MIT */
/*
 * Building statements. A name is quoted by doubling its quotes, which is right
 * in every character set whose bytes above 127 are never followed by a quote
 * that belongs to them: so such bytes are taken in UTF-8 alone.
 */
#include "src/rows/sql.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int hf__sql_check_name(const char *what, const char *name,
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

int hf__sql_check_value(const char *name, const hf_row_value *value,
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
