/* SPDX-License-Identifier: MIT */
/*
 * Replies as a Redis server writes them, which are read as they are.
 */
#include "tests/sim/made.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hf__reply_add(struct hf__reply *t, const void *bytes, size_t n)
{
    if (t->length + n > t->room) {
        t->room = 2 * (t->length + n) + 256;
        char *at = realloc(t->at, t->room);

        if (at == NULL) {
            abort();
        }
        t->at = at;
    }
    if (n > 0) {
        memcpy(t->at + t->length, bytes, n);
    }
    t->length += n;
}

static void add_head(struct hf__reply *t, char kind, int64_t number)
{
    char head[32];
    int n = snprintf(head, sizeof head, "%c%" PRId64 "\r\n", kind, number);

    hf__reply_add(t, head, (size_t)n);
}

void hf__reply_array(struct hf__reply *t, int n)
{
    add_head(t, '*', n);
}

void hf__reply_number(struct hf__reply *t, int64_t number)
{
    add_head(t, ':', number);
}

void hf__reply_string(struct hf__reply *t, const char *text)
{
    add_head(t, '$', (int64_t)strlen(text));
    hf__reply_line(t, text);
}

void hf__reply_line(struct hf__reply *t, const char *text)
{
    hf__reply_add(t, text, strlen(text));
    hf__reply_add(t, "\r\n", 2);
}
