/* SPDX-License-Identifier: MIT */
/*
 * Building statements. A name is quoted by doubling its backquotes, which is
 * right in every character set whose bytes above 127 are never followed by a
 * backquote that belongs to them: so such bytes are taken in UTF-8 alone. A
 * value is written in hexadecimal, where nothing can end it.
 */
#include "src/rows/sql.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROOM 512
#define NAME_MAX   64 /* characters, the server's limit */

/* Room for `more` bytes and a NUL. */
static bool has_room(struct hf__sql *t, size_t more)
{
    size_t wanted = t->length + more + 1;
    size_t room = t->room == 0 ? FIRST_ROOM : t->room;
    char *bytes;

    if (t->is_broken || wanted <= t->room) {
        return !t->is_broken;
    }
    while (room < wanted) {
        room *= 2;
    }
    bytes = hf__resize(t->bytes, room);
    if (bytes == NULL) {
        t->is_broken = true;
        return false;
    }
    t->bytes = bytes;
    t->room = room;
    return true;
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
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !has_room(t, (size_t)length)) {
        t->is_broken = true;
        return;
    }
    va_start(args, format);
    (void)vsnprintf(t->bytes + t->length, (size_t)length + 1, format, args);
    va_end(args);
    t->length += (size_t)length;
}

void hf__sql_name(struct hf__sql *t, const char *name)
{
    char *to;

    if (!has_room(t, 2 * strlen(name) + 2)) {
        return;
    }
    to = t->bytes + t->length;
    *to++ = '`';
    for (; *name != '\0'; name++) {
        if (*name == '`') {
            *to++ = '`';
        }
        *to++ = *name;
    }
    *to++ = '`';
    *to = '\0';
    t->length = (size_t)(to - t->bytes);
}

static void add_hex(struct hf__sql *t, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    char *to;

    if (!has_room(t, 2 * length + 3)) {
        return;
    }
    to = t->bytes + t->length;
    *to++ = 'x';
    *to++ = '\'';
    for (size_t i = 0; i < length; i++) {
        *to++ = digits[from[i] >> 4];
        *to++ = digits[from[i] & 15];
    }
    *to++ = '\'';
    *to = '\0';
    t->length += 2 * length + 3;
}

void hf__sql_value(struct hf__sql *t, const hf_mysql_value *value,
                   const char *charset)
{
    if (value->type == HF_MYSQL_NULL) {
        hf__sql_addf(t, "NULL");
    } else if (value->type == HF_MYSQL_INT) {
        hf__sql_addf(t, "%" PRId64, value->number);
    } else {
        if (value->type == HF_MYSQL_TEXT) {
            hf__sql_addf(t, "_%s ", charset);
        }
        add_hex(t, value->bytes, value->length);
    }
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

int hf__sql_check_name(const char *what, const char *name, bool is_utf8,
                       hf_error *err)
{
    if (name == NULL || *name == '\0') {
        return hf__fail(err, HF_EINVAL, "the %s has no name", what);
    }
    if (strlen(name) > (size_t)NAME_MAX * 4 || characters_of(name) > NAME_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "the name of the %s is longer than %d characters", what,
                        NAME_MAX);
    }
    if (!is_ascii(name) &&
        (!is_utf8 || !hf__utf8_is_valid(name, strlen(name)))) {
        return hf__fail(err, HF_EINVAL,
                        "the name of the %s is not ASCII: it must be UTF-8, on "
                        "a connection whose character set is utf8mb4",
                        what);
    }
    return HF_OK;
}

int hf__sql_check_value(const char *name, const hf_mysql_value *value,
                        hf_error *err)
{
    switch (value->type) {
    case HF_MYSQL_NULL:
    case HF_MYSQL_INT:
        return HF_OK;
    case HF_MYSQL_TEXT:
    case HF_MYSQL_BYTES:
        if (value->bytes != NULL || value->length == 0) {
            return HF_OK;
        }
        return hf__fail(err, HF_EINVAL,
                        "the value of %s has a length, and bytes is NULL",
                        name);
    case HF_MYSQL_UNSET:
        break;
    }
    return hf__fail(err, HF_EINVAL, "the value of %s has no type of a value",
                    name);
}
