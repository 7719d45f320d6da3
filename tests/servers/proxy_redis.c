/* SPDX-License-Identifier: MIT */
/*
 * Just enough of RESP2, the protocol of Redis, to tell where a command, its
 * reply and a message to a subscriber begin and end. A command is a unit; so
 * is each value in a reply, however the values are nested, and a message in
 * full. It knows no RESP3, no CLIENT REPLY and no MONITOR, which a store has
 * no use for; behind TLS it sees bytes only, and what can't be RESP2 passes as
 * it comes.
 */
#include "tests/servers/proxy_private.h"

#include <stdio.h>
#include <string.h>

enum { TLS_RECORD = 0x16, CRLF = 2, DIGITS_MAX = 15 };

struct resp {
    bool is_opaque;
    bool has_subscribed; /* so messages may come */
    uint64_t to_come;    /* values of the reply that is under way */
};

_Static_assert(sizeof(struct resp) <= HF__FRAMING_STATE, "the state fits");

/* With its end; 0: that has not come yet. */
static size_t line_length(const uint8_t *bytes, size_t n)
{
    const uint8_t *end = memchr(bytes, '\n', n);

    return end ? (size_t)(end - bytes) + 1 : 0;
}

/* The number after the first byte of a whole line; 0 for one below: nil is as
 * long as what is empty. */
static size_t number_in(const uint8_t *line)
{
    size_t number = 0;

    for (int i = 1; i <= DIGITS_MAX && line[i] >= '0' && line[i] <= '9'; i++) {
        number = 10 * number + line[i] - '0';
    }
    return number;
}

/* ---- one value */

/* Of an array, its head. Bytes that are no value are one to the end. */
static size_t measure_value(const uint8_t *bytes, size_t n)
{
    size_t line = n ? line_length(bytes, n) : 0;

    if (!n) {
        return 0;
    }
    switch (bytes[0]) {
    case '+':
    case '-':
    case ':':
    case '*':
        return line;
    case '$':
        return !line || bytes[1] == '-' ? line : line + number_in(bytes) + CRLF;
    default:
        return n;
    }
}

static bool is_value(uint8_t first)
{
    return first && strchr("+-:*$", first);
}

/* An array in full, with all that is in it; 0: more bytes are needed. */
static size_t measure_tree(const uint8_t *bytes, size_t n)
{
    size_t length = 0;
    size_t left = 1;

    while (left) {
        size_t value =
            length < n ? measure_value(bytes + length, n - length) : 0;

        if (!value) {
            return 0;
        }
        if (!is_value(bytes[length])) {
            return n;
        }
        left += bytes[length] == '*' ? number_in(bytes + length) : 0;
        left--;
        length += value;
    }
    return length;
}

/* ---- messages */

/* 1: it is one, 0: it is none, −1: that can't be told yet, for it begins as
 * one does. More will come then, as its length says. */
static int is_push(const uint8_t *bytes, size_t n)
{
    static const char *const heads[] = {"*3\r\n$7\r\nmessage\r\n",
                                        "*4\r\n$8\r\npmessage\r\n"};

    for (int i = 0; i < 2; i++) {
        size_t length = strlen(heads[i]);

        if (memcmp(bytes, heads[i], n < length ? n : length) == 0) {
            return n < length ? -1 : 1;
        }
    }
    return 0;
}

static size_t measure_reply(const struct resp *s, const uint8_t *bytes,
                            size_t n)
{
    int push = s->to_come || !s->has_subscribed ? 0 : is_push(bytes, n);

    if (push < 0) {
        return 0;
    }
    return push ? measure_tree(bytes, n) : measure_value(bytes, n);
}

static size_t measure_command(const uint8_t *bytes, size_t n)
{
    if (bytes[0] == TLS_RECORD) {
        return n;
    }
    return bytes[0] == '*' ? measure_tree(bytes, n) : line_length(bytes, n);
}

static size_t measure(const void *arg, enum hf__proxy_way way,
                      const uint8_t *bytes, size_t n)
{
    const struct resp *s = arg;

    if (s->is_opaque || !n) {
        return n;
    }
    return way == HF__TO_SERVER ? measure_command(bytes, n)
                                : measure_reply(s, bytes, n);
}

/* With P before it or without, UNSUBSCRIBE too. */
static bool is_subscribe(const uint8_t *command, size_t length)
{
    char head[48];

    snprintf(head, sizeof head, "%.*s",
             (int)(length < sizeof head ? length : sizeof head - 1), command);
    return strcasestr(head, "SUBSCRIBE\r\n");
}

/* The server answers neither an empty array nor an empty line. */
static struct hf__mark read_command(struct resp *s, const uint8_t *unit,
                                    size_t length)
{
    bool is_empty = unit[0] == '*' ? number_in(unit) == 0 : length <= CRLF;

    s->is_opaque = unit[0] == TLS_RECORD;
    s->has_subscribed |= is_subscribe(unit, length);
    return (struct hf__mark){!s->is_opaque && !is_empty, HF__STATEMENT, true,
                             true};
}

static struct hf__mark read_reply(struct resp *s, const uint8_t *unit,
                                  size_t length)
{
    struct hf__mark mark = {true, HF__REPLY, s->to_come == 0, false};

    if (!is_value(unit[0])) {
        s->is_opaque = true;
        return (struct hf__mark){0};
    }
    if (mark.starts && s->has_subscribed && is_push(unit, length) > 0) {
        return (struct hf__mark){true, HF__PUSH, true, true};
    }
    s->to_come -= mark.starts ? 0 : 1;
    s->to_come += unit[0] == '*' ? number_in(unit) : 0;
    mark.ends = s->to_come == 0;
    return mark;
}

static struct hf__mark read_unit(void *arg, enum hf__proxy_way way,
                                 const uint8_t *unit, size_t length)
{
    struct resp *s = arg;

    if (s->is_opaque) {
        return (struct hf__mark){0};
    }
    return way == HF__TO_SERVER ? read_command(s, unit, length)
                                : read_reply(s, unit, length);
}

const struct hf__framing hf__framing_redis = {measure, read_unit, NULL, NULL};
