/* SPDX-License-Identifier: MIT */
/*
 * Just enough of PostgreSQL's protocol to tell where a statement and its reply
 * begin and end. What a client sends up to where the server answers, a Query or
 * all before a Sync, is a unit; so is each message of the server's, of which
 * the last in a reply says that it is ready. A notification within a reply is
 * part of it. It knows no COPY to the server, which a store has no use for;
 * behind TLS it sees bytes only.
 */
#include "tests/servers/proxy_private.h"

#include <string.h>

enum { LENGTH = 4, HEAD = 1 + LENGTH, LONGEST = 1 << 26 };
enum {
    VERSION_3 = 3 << 16,
    ASKS_FOR_TLS = 80877103,
    ASKS_FOR_GSS = 80877104,
};

enum phase {
    STARTUP, /* nothing was said yet */
    ASKED,   /* for encryption, which is answered by one byte */
    LOGIN,
    CHATTER,
    OPAQUE,
};

struct postgres {
    enum phase phase;
    bool has_begun; /* a handshake or a reply is under way */
    bool is_asking; /* a statement is */
    uint64_t asked; /* statements that are not answered in full */
};

_Static_assert(sizeof(struct postgres) <= HF__FRAMING_STATE, "the state fits");

static uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

/* ---- how long a unit is; what can't be one is so to the end of the bytes */

static size_t measure_length(const uint8_t *bytes, size_t n)
{
    uint32_t length;

    if (n < LENGTH) {
        return 0;
    }
    length = number_at(bytes);
    return length < LENGTH || length > LONGEST ? n : length;
}

static size_t measure_message(const uint8_t *bytes, size_t n)
{
    size_t length = n > 1 ? measure_length(bytes + 1, n - 1) : 0;

    return length ? 1 + length : 0;
}

/* Of a client's: the server answers when it has got this. */
static bool is_last(uint8_t type)
{
    return type == 'Q' || type == 'S' || type == 'F';
}

/* The first messages of a statement wait for the rest; Flush asks for what the
 * server has so far. */
static bool waits_for_more(uint8_t type)
{
    return type && strchr("PBDEC", type);
}

static size_t measure_statement(const uint8_t *bytes, size_t n)
{
    size_t at = 0;
    size_t length;

    do {
        length = measure_message(bytes + at, n - at);
        if (!length || length > n - at) {
            return 0;
        }
        at += length;
    } while (waits_for_more(bytes[at - length]));
    return at;
}

static size_t measure(const void *arg, enum hf__proxy_way way,
                      const uint8_t *bytes, size_t n)
{
    const struct postgres *s = arg;

    switch (s->phase) {
    case OPAQUE:
        return n;
    case ASKED:
        return way == HF__TO_CLIENT && n ? 1 : 0;
    case STARTUP:
        return way == HF__TO_SERVER ? measure_length(bytes, n)
                                    : measure_message(bytes, n);
    case LOGIN:
        return measure_message(bytes, n);
    case CHATTER:
        break;
    }
    return way == HF__TO_SERVER ? measure_statement(bytes, n)
                                : measure_message(bytes, n);
}

/* ---- the handshake */

static void read_startup(struct postgres *s, const uint8_t *unit, size_t length)
{
    uint32_t code = length < 2 * LENGTH ? 0 : number_at(unit + LENGTH);

    switch (code) {
    case ASKS_FOR_TLS:
    case ASKS_FOR_GSS:
        s->phase = ASKED;
        break;
    case VERSION_3:
        s->phase = LOGIN;
        break;
    default: /* or who wants another one's statement to end */
        s->phase = OPAQUE;
        break;
    }
}

static struct hf__mark read_handshake(struct postgres *s, bool is_over)
{
    struct hf__mark mark = {true, HF__HANDSHAKE, !s->has_begun, is_over};

    s->has_begun = !is_over;
    return mark;
}

static struct hf__mark read_consent(struct postgres *s, uint8_t answer)
{
    s->phase = answer == 'N' ? STARTUP : OPAQUE;
    return answer == 'N' ? read_handshake(s, false) : (struct hf__mark){0};
}

static struct hf__mark read_login(struct postgres *s, uint8_t type)
{
    if (type == 'Z') {
        s->phase = CHATTER;
    } else if (type == 'E') {
        s->phase = OPAQUE;
    }
    return read_handshake(s, s->phase != LOGIN);
}

/* ---- statements and replies */

static struct hf__mark read_statement(struct postgres *s, const uint8_t *unit,
                                      size_t length)
{
    struct hf__mark mark = {true, HF__STATEMENT, !s->is_asking, false};
    size_t at = 0;
    uint8_t last = 0;

    while (at < length) {
        last = unit[at];
        at += measure_message(unit + at, length - at);
    }
    if (!is_last(last) && last != 'H') {
        return (struct hf__mark){0};
    }
    mark.ends = is_last(last);
    s->asked += mark.starts ? 1 : 0;
    s->is_asking = !mark.ends;
    return mark;
}

static struct hf__mark read_reply(struct postgres *s, uint8_t type)
{
    struct hf__mark mark = {true, HF__REPLY, !s->has_begun, type == 'Z'};

    if (!s->has_begun && type == 'A') {
        return (struct hf__mark){true, HF__PUSH, true, true};
    }
    if (!s->asked) {
        return (struct hf__mark){0}; /* unasked for, or its last words */
    }
    s->has_begun = !mark.ends;
    s->asked -= mark.ends ? 1 : 0;
    return mark;
}

static struct hf__mark read_of_server(struct postgres *s, const uint8_t *unit)
{
    switch (s->phase) {
    case ASKED:
        return read_consent(s, unit[0]);
    case STARTUP:
    case LOGIN:
        return read_login(s, unit[0]);
    case CHATTER:
        return read_reply(s, unit[0]);
    case OPAQUE:
        break;
    }
    return (struct hf__mark){0};
}

static struct hf__mark read_unit(void *arg, enum hf__proxy_way way,
                                 const uint8_t *unit, size_t length)
{
    struct postgres *s = arg;

    if (way == HF__TO_CLIENT) {
        return read_of_server(s, unit);
    }
    if (s->phase == CHATTER) {
        return read_statement(s, unit, length);
    }
    if (s->phase == STARTUP) {
        read_startup(s, unit, length);
    }
    return (struct hf__mark){0};
}

const struct hf__framing hf__framing_postgres = {measure, read_unit, NULL,
                                                 NULL};
