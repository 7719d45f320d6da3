/* SPDX-License-Identifier: MIT */
/*
 * Building SQL text: a buffer that grows, and literals. What the statements
 * say is the callers' affair. Called by the session's thread.
 */
#include "src/backend/mysql/text.h"

#include "src/base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROOM 1024

/* Room for `more` bytes and a NUL. */
static bool has_room(struct hf__text *t, size_t more)
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

void hf__text_clear(struct hf__text *t)
{
    t->length = 0;
    t->is_broken = false;
}

void hf__text_fini(struct hf__text *t)
{
    hf__free(t->bytes);
    *t = (struct hf__text){0};
}

void hf__text_add(struct hf__text *t, const char *words)
{
    size_t length = strlen(words);

    if (has_room(t, length)) {
        memcpy(t->bytes + t->length, words, length + 1);
        t->length += length;
    }
}

void hf__text_addf(struct hf__text *t, const char *format, ...)
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

void hf__text_hex(struct hf__text *t, const void *bytes, size_t length)
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

void hf__text_string(struct hf__text *t, const char *string)
{
    hf__text_add(t, "_utf8mb4 ");
    hf__text_hex(t, string, strlen(string));
}

void hf__text_key(struct hf__text *t, const struct hf__key *key)
{
    hf__text_hex(t, key->bytes, key->length);
}

void hf__text_token(struct hf__text *t, const struct hf__token *token)
{
    hf__text_hex(t, token->bytes, sizeof token->bytes);
}
