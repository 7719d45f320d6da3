/* SPDX-License-Identifier: MIT */
/*
 * Just enough of ZooKeeper's protocol to tell where a request, its reply and
 * an event begin and end: a message has its length before it, and is a unit.
 * A ping and its answer pass uncounted, for they come when they like. Behind
 * TLS and a four-letter word it sees bytes only.
 */
#include "tests/servers/proxy_private.h"
#include "tests/servers/zookeeper_jute.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 4, NUMBER = 4, LONGEST = 64 << 20 };
enum { XID_EVENT = -1, XID_PING = -2 };
/* In a request: where its type is, and the length of the path that most have,
 * before the path. */
enum { TYPE_AT = LENGTH + NUMBER, PATH_AT = TYPE_AT + NUMBER + NUMBER };

struct zookeeper {
    bool is_opaque;
    bool has_asked;    /* for a session: the client's first message */
    bool was_answered; /* the server's */
};

_Static_assert(sizeof(struct zookeeper) <= HF__FRAMING_STATE, "the state fits");

/* As the server's source has them. */
static const struct {
    int type;
    const char *name;
} types[] = {
    {1, "create"},        {2, "delete"},          {3, "exists"},
    {4, "getData"},       {5, "setData"},         {6, "getACL"},
    {7, "setACL"},        {8, "getChildren"},     {9, "sync"},
    {12, "getChildren2"}, {13, "check"},          {14, "multi"},
    {15, "create2"},      {18, "removeWatches"},  {19, "createContainer"},
    {21, "createTTL"},    {22, "multiRead"},      {100, "auth"},
    {101, "setWatches"},  {103, "getEphemerals"}, {105, "setWatches2"},
    {106, "addWatch"},    {107, "whoAmI"},        {-11, "closeSession"},
};

/* What begins with letters, or a record of TLS, would be very long. */
static bool is_message(const uint8_t *bytes)
{
    int32_t length = hf__jute_number(bytes);

    return length >= 0 && length <= LONGEST;
}

static size_t measure(const void *arg, enum hf__proxy_way way,
                      const uint8_t *bytes, size_t n)
{
    const struct zookeeper *s = arg;

    (void)way;
    if (s->is_opaque) {
        return n;
    }
    if (n < LENGTH) {
        return 0;
    }
    return is_message(bytes) ? LENGTH + (size_t)hf__jute_number(bytes) : n;
}

static int32_t number_at(const uint8_t *unit, size_t length, size_t at)
{
    return length < at + NUMBER ? 0 : hf__jute_number(unit + at);
}

static struct hf__mark read_request(struct zookeeper *s, int32_t xid)
{
    bool is_counted = s->has_asked && xid != XID_PING;

    s->has_asked = true;
    return (struct hf__mark){is_counted, HF__STATEMENT, true, true};
}

static struct hf__mark read_answer(struct zookeeper *s, int32_t xid)
{
    enum hf__proxy_what what = xid == XID_EVENT ? HF__PUSH : HF__REPLY;

    if (!s->was_answered) {
        s->was_answered = true;
        return (struct hf__mark){true, HF__HANDSHAKE, true, true};
    }
    return (struct hf__mark){xid != XID_PING, what, true, true};
}

static struct hf__mark read_unit(void *arg, enum hf__proxy_way way,
                                 const uint8_t *unit, size_t length)
{
    struct zookeeper *s = arg;
    int32_t xid = number_at(unit, length, LENGTH);

    if (s->is_opaque || length < LENGTH || !is_message(unit)) {
        s->is_opaque = true;
        return (struct hf__mark){0};
    }
    return way == HF__TO_SERVER ? read_request(s, xid) : read_answer(s, xid);
}

/* "create2 /path", and after it what comes. */
static size_t describe(const uint8_t *unit, size_t length, uint8_t *text,
                       size_t size)
{
    int32_t type = number_at(unit, length, TYPE_AT);
    const char *name = "unknown";
    size_t rest = length > PATH_AT ? length - PATH_AT : 0;
    size_t n;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        name = types[i].type == type ? types[i].name : name;
    }
    n = (size_t)snprintf((char *)text, size, "%s ", name);
    rest = rest < size - n ? rest : size - n;
    memcpy(text + n, unit + PATH_AT, rest);
    return n + rest;
}

static void disguise(uint8_t *unit, size_t length)
{
    static const uint8_t no_type[NUMBER] = {0, 0, 0x7f, 0};

    if (length >= TYPE_AT + NUMBER) {
        memcpy(unit + TYPE_AT, no_type, NUMBER);
    }
}

const struct hf__framing hf__framing_zookeeper = {measure, read_unit, describe,
                                                  disguise};
