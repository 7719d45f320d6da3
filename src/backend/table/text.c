/* SPDX-License-Identifier: MIT */
/*
 * A buffer that grows. Called by the session's thread.
 */
#include "src/backend/table/text.h"

#include "src/base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROOM 1024

/* Make room for `more` bytes and a NUL. */
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

char *hf__text_extend(struct hf__text *t, size_t length)
{
    char *to;

    if (!has_room(t, length)) {
        return NULL;
    }
    to = t->bytes + t->length;
    t->length += length;
    t->bytes[t->length] = '\0';
    return to;
}

void hf__text_add(struct hf__text *t, const char *words)
{
    size_t length = strlen(words);
    char *to = hf__text_extend(t, length);

    if (to != NULL) {
        memcpy(to, words, length + 1);
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
