/* SPDX-License-Identifier: MIT */
/*
 * Recursive descent over one value. Stricter than a parser has to be: what
 * moves a cursor is refused also where JSON would allow it.
 */
#include "tests/fuzz/json.h"

#include "src/base/utf8.h"

#include <stdint.h>
#include <string.h>

enum { DEPTH_MAX = 16 };

struct reader {
    const char *at;
    const char *end;
    char *to; /* where a string's value goes; NULL: nowhere */
    int depth;
};

static bool value(struct reader *);

static bool take(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c) {
        return false;
    }
    r->at++;
    return true;
}

static bool word(struct reader *r, const char *text)
{
    size_t length = strlen(text);

    if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0) {
        return false;
    }
    r->at += length;
    return true;
}

static void put(struct reader *r, uint32_t point)
{
    if (!r->to) {
        return;
    }
    if (point < 0x80) {
        *r->to++ = (char)point;
    } else if (point < 0x800) {
        *r->to++ = (char)(0xc0 | point >> 6);
        *r->to++ = (char)(0x80 | (point & 63));
    } else {
        *r->to++ = (char)(0xe0 | point >> 12);
        *r->to++ = (char)(0x80 | (point >> 6 & 63));
        *r->to++ = (char)(0x80 | (point & 63));
    }
}

static bool four_digits(struct reader *r)
{
    uint32_t point = 0;

    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit =
            r->at < r->end && *r->at ? strchr(digits, *r->at) : NULL;

        if (!digit) {
            return false;
        }
        point = point << 4 | (uint32_t)(digit - digits);
    }
    put(r, point);
    return point < 0xd800 || point > 0xdfff;
}

static bool escape(struct reader *r)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *hit;

    if (take(r, 'u')) {
        return four_digits(r);
    }
    hit = r->at < r->end && *r->at ? strchr(from, *r->at) : NULL;
    if (!hit) {
        return false;
    }
    put(r, (unsigned char)to[hit - from]);
    r->at++;
    return true;
}

static bool string(struct reader *r)
{
    if (!take(r, '"')) {
        return false;
    }
    while (!take(r, '"')) {
        size_t n = hf__utf8_length(r->at, (size_t)(r->end - r->at));
        unsigned char c = n > 0 ? (unsigned char)*r->at : 0;

        if (n == 0 || c < 0x20 || c == 0x7f) {
            return false;
        }
        if (take(r, '\\')) {
            if (!escape(r)) {
                return false;
            }
            continue;
        }
        if (r->to) {
            memcpy(r->to, r->at, n);
            r->to += n;
        }
        r->at += n;
    }
    return true;
}

static bool number(struct reader *r)
{
    const char *from;

    (void)take(r, '-');
    from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    return r->at > from && (*from != '0' || r->at == from + 1);
}

static bool members(struct reader *r, char end, bool has_keys)
{
    if (take(r, end)) {
        return true;
    }
    do {
        if (has_keys && (!string(r) || !take(r, ':'))) {
            return false;
        }
        if (!value(r)) {
            return false;
        }
    } while (take(r, ','));
    return take(r, end);
}

static bool value(struct reader *r)
{
    bool is_one = false;

    if (r->at == r->end || ++r->depth > DEPTH_MAX) {
        return false;
    }
    switch (*r->at) {
    case '{':
        is_one = take(r, '{') && members(r, '}', true);
        break;
    case '[':
        is_one = take(r, '[') && members(r, ']', false);
        break;
    case '"':
        is_one = string(r);
        break;
    case 't':
        is_one = word(r, "true");
        break;
    case 'f':
        is_one = word(r, "false");
        break;
    case 'n':
        is_one = word(r, "null");
        break;
    default:
        is_one = number(r);
        break;
    }
    r->depth--;
    return is_one;
}

bool json_is_valid(const char *text, size_t length)
{
    struct reader r = {text, text + length, NULL, 0};

    return value(&r) && r.at == r.end;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written to by string() */
bool json_unquote(const char *text, size_t length, char *to)
{
    struct reader r = {text, text + length, to, 0};

    if (!string(&r) || r.at != r.end || r.to == NULL) {
        return false;
    }
    *r.to = '\0';
    return true;
}
