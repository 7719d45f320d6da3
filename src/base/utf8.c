/* SPDX-License-Identifier: MIT */
/*
 * Which bytes are well-formed UTF-8: Unicode 15, table 3-7. Nothing here
 * knows what the characters mean. Thread: any.
 */
#include "src/base/utf8.h"

#include <string.h>

/* For a range of first bytes: the number of bytes, and the range of the
 * second. */
struct row {
    unsigned char first;
    unsigned char last;
    unsigned char length;
    unsigned char low;
    unsigned char high;
};

static const struct row table[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static bool is_continuation(unsigned char byte)
{
    return byte >= 0x80 && byte <= 0xbf;
}

static bool fits(const struct row *row, const unsigned char *bytes,
                 size_t length)
{
    if (length < row->length || bytes[1] < row->low || bytes[1] > row->high) {
        return false;
    }
    for (size_t i = 2; i < row->length; i++) {
        if (!is_continuation(bytes[i])) {
            return false;
        }
    }
    return true;
}

size_t hf__utf8_length(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    if (length == 0) {
        return 0;
    }
    if (bytes[0] < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *row = &table[i];
        if (bytes[0] >= row->first && bytes[0] <= row->last) {
            return fits(row, bytes, length) ? row->length : 0;
        }
    }
    return 0;
}

bool hf__utf8_is_valid(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t n = hf__utf8_length(text + at, length - at);
        if (n == 0) {
            return false;
        }
        at += n;
    }
    return true;
}

size_t hf__utf8_cut(const char *text, size_t max)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = 0;

    while (length < max && bytes[length] != 0) {
        length++;
    }
    /* The cut is inside a character only if the next byte continues one; at
     * most three bytes do in well-formed text. */
    for (size_t back = 0; back <= 3 && back <= length; back++) {
        if (!is_continuation(bytes[length - back])) {
            return length - back;
        }
    }
    return length;
}

void hf__utf8_copy(char *to, size_t size, const char *text)
{
    size_t length = hf__utf8_cut(text, size - 1);

    memcpy(to, text, length);
    to[length] = '\0';
}
