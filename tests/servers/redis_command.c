/* SPDX-License-Identifier: MIT */
/*
 * The administrator's commands, each on a connection of its own by the socket,
 * so that any process of a test may give one and none keeps a descriptor; and
 * their replies as text. Any process and thread may call this.
 */
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/redis_private.h"

#include <hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { REPLY_BYTES = 65536, PATIENCE_S = 10 };

/* Where a reply is written to; too long a one fails the test. */
struct text {
    char *bytes;
    size_t length;
};

static _Thread_local char last_reply[REPLY_BYTES];

static void add(struct text *t, const char *bytes, size_t n)
{
    if (t->length + n >= REPLY_BYTES) {
        hf__servers_fail("too long a reply: %.80s…", t->bytes);
    }
    memcpy(t->bytes + t->length, bytes, n);
    t->length += n;
    t->bytes[t->length] = '\0';
}

static void add_reply(struct text *t, const redisReply *reply)
{
    char number[32];

    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        snprintf(number, sizeof number, "%lld", reply->integer);
        add(t, number, strlen(number));
        break;
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            add(t, "\n", i ? 1 : 0);
            add_reply(t, reply->element[i]);
        }
        break;
    case REDIS_REPLY_NIL:
        break;
    default:
        add(t, reply->str, (size_t)reply->len);
    }
}

/* Never NULL; err says whether it is connected. */
static redisContext *dial(const struct hf__redis *s)
{
    struct timeval patience = {.tv_sec = (time_t)hf__test_patience(PATIENCE_S)};
    redisContext *c = redisConnectUnixWithTimeout(s->socket, patience);

    if (!c) {
        hf__servers_fail("out of memory");
    }
    if (!c->err) {
        redisSetTimeout(c, patience);
    }
    return c;
}

/* What is wrong with a reply, or with the connection that gave none. */
static const char *error_of(const redisContext *c, const redisReply *reply)
{
    if (!reply) {
        return c->errstr[0] ? c->errstr : "no connection";
    }
    return reply->type == REDIS_REPLY_ERROR ? reply->str : NULL;
}

/* The error; NULL: it went well, and there is a reply. */
static const char *enter(redisContext *c, int database, redisReply **ret_reply)
{
    redisReply *reply;

    *ret_reply = NULL;
    if (c->err) {
        return error_of(c, NULL);
    }
    reply = redisCommand(c, "AUTH %s %s", HF__REDIS_ADMIN,
                         HF__REDIS_ADMIN_PASSWORD);
    if (!error_of(c, reply) && database) {
        freeReplyObject(reply);
        reply = redisCommand(c, "SELECT %d", database);
    }
    *ret_reply = reply;
    return error_of(c, reply);
}

bool hf__redis_answers(const struct hf__redis *s)
{
    redisContext *c = dial(s);
    redisReply *reply;
    bool answers = !enter(c, 0, &reply);

    freeReplyObject(reply);
    if (answers) {
        reply = redisCommand(c, "PING");
        answers = !error_of(c, reply);
        freeReplyObject(reply);
    }
    redisFree(c);
    return answers;
}

/* The reply, to be freed, or NULL with the error in last_reply. */
__attribute__((format(printf, 2, 0))) static redisReply *
run(const struct hf__redis *s, const char *format, va_list args)
{
    redisContext *c = dial(s);
    redisReply *reply;
    const char *error = enter(c, s->database, &reply);

    if (!error) {
        freeReplyObject(reply);
        reply = redisvCommand(c, format, args);
        error = error_of(c, reply);
    }
    if (error) {
        snprintf(last_reply, sizeof last_reply, "%s", error);
        freeReplyObject(reply);
        reply = NULL;
    }
    redisFree(c);
    return reply;
}

/* The same, and an error fails the test. */
__attribute__((format(printf, 2, 0))) static redisReply *
demand(const struct hf__redis *s, const char *format, va_list args)
{
    redisReply *reply = run(s, format, args);

    if (!reply) {
        hf__servers_fail("%s: %s", format, last_reply);
    }
    return reply;
}

const char *hf__redis_command(const struct hf__redis *s, const char *format,
                              ...)
{
    struct text t = {.bytes = last_reply};
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = demand(s, format, args);
    va_end(args);
    add(&t, "", 0);
    add_reply(&t, reply);
    freeReplyObject(reply);
    return last_reply;
}

const char *hf__redis_try(const struct hf__redis *s, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = run(s, format, args);
    va_end(args);
    if (!reply) {
        return last_reply;
    }
    freeReplyObject(reply);
    return NULL;
}

/* ---- a field of a reply */

static void find_in_lines(struct text *t, const char *lines, const char *field)
{
    size_t length = strlen(field);

    while (lines) {
        if (strncmp(lines, field, length) == 0 && lines[length] == ':') {
            add(t, lines + length + 1, strcspn(lines + length + 1, "\r\n"));
            return;
        }
        lines = strchr(lines, '\n');
        lines = lines ? lines + 1 : NULL;
    }
}

static void find_in_pairs(struct text *t, const redisReply *reply,
                          const char *field)
{
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i];

        if (name->type == REDIS_REPLY_STRING && strcmp(name->str, field) == 0) {
            add_reply(t, reply->element[i + 1]);
            return;
        }
    }
}

const char *hf__redis_value(const struct hf__redis *s, const char *field,
                            const char *format, ...)
{
    struct text t = {.bytes = last_reply};
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = demand(s, format, args);
    va_end(args);
    add(&t, "", 0);
    if (reply->type == REDIS_REPLY_ARRAY) {
        find_in_pairs(&t, reply, field);
    } else if (reply->type == REDIS_REPLY_STRING) {
        find_in_lines(&t, reply->str, field);
    }
    freeReplyObject(reply);
    return last_reply;
}

void hf__redis_select(struct hf__redis *s, int database)
{
    s->database = database;
}
