/* SPDX-License-Identifier: MIT */
/*
 * The part of check() about the user: may it do what the store does? The server
 * itself is asked for the rules of an ACL (7 and later); otherwise commands are
 * tried that change nothing, on keys that do not exist. Called by the session's
 * thread.
 */
#include "src/backend/redis/check.h"

#include "src/base/error.h"

#include <stdio.h>
#include <string.h>

/* Returns those of our scripts' commands that the user may not call. HSET and
 * HMSET are not tried on a server before 7, for they always change
 * something. */
static const char probe[] =
    "local k, z = KEYS[1], KEYS[2]\n"
    "local calls = {{'TIME'}, {'HMGET', k, 'f'}, {'HGET', k, 'f'},\n"
    "  {'HGETALL', k}, {'HDEL', k, 'f'}, {'EXISTS', k}, {'DEL', k},\n"
    "  {'PEXPIRE', k, '1'}, {'PTTL', k}, {'ZCOUNT', z, '0', '1'},\n"
    "  {'ZRANGE', z, '0', '0'}, {'ZREM', z, 'm'},\n"
    "  {'ZADD', z, 'XX', '1', 'm'}, {'HSET', k, 'f', '1'},\n"
    "  {'HMSET', k, 'f', '1'}}\n"
    "local missing = {}\n"
    "for _, call in ipairs(calls) do\n"
    "  local may = true\n"
    "  if redis.acl_check_cmd then\n"
    "    local ok, answer = pcall(redis.acl_check_cmd, unpack(call))\n"
    "    may = ok and answer\n"
    "  elseif not string.find(call[1], 'SET') then\n"
    "    local answer = redis.pcall(unpack(call))\n"
    "    local e = type(answer) == 'table' and answer.err or ''\n"
    "    may = not (string.find(e, \"can't\") or string.find(e, 'nknown'))\n"
    "  end\n"
    "  if not may then table.insert(missing, call[1]) end\n"
    "end\n"
    "return table.concat(missing, ' ')\n";

enum { MISSING_MAX = 320 };

static void add_missing(char *missing, const char *word)
{
    size_t used = strlen(missing);

    (void)snprintf(missing + used, MISSING_MAX - used, "%s%s",
                   used == 0 ? "no " : " ", word);
}

/* An ACL refused it, or the server does not have the command, because it was
 * renamed. */
static bool is_refused(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           (strncmp(reply->str, "NOPERM", 6) == 0 ||
            strncmp(reply->str, "ERR unknown", 11) == 0);
}

int hf__check_ask(struct hf__checking *c, const char *const words[],
                  redisReply **ret_reply)
{
    struct hf__redis *s = c->s;
    int r = hf__redis_wait_leave(s, c->deadline, c->err);

    *ret_reply = NULL;
    if (r != HF_OK) {
        return r;
    }
    hf__bytes_words(&s->peer.resp.out, words);
    if (hf__resp_queue(&s->peer.resp) != HF_OK) {
        (void)hf__fail(c->err, HF_ENOMEM, "out of memory for a command");
        return HF_ENOMEM;
    }
    (void)hf__resp_flush(&s->peer.resp); /* the reply tells */
    r = hf__peer_reply(&s->peer, &s->rest, &s->head, c->deadline, ret_reply);
    if (r != HF_OK) {
        hf__error_copy(c->err, &s->peer.err);
        return r;
    }
    return HF_OK;
}

/* May the user call this command? */
static int try(struct hf__checking *c, const char *const words[], bool *ret_may)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    int r = hf__check_ask(c, words, &reply);

    *ret_may = r == HF_OK && !is_refused(reply);
    return r;
}

/* ---- what our scripts call */

static int probe_scripts(struct hf__checking *c, char *missing)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    char keys[2][HF__PREFIX_MAX + 32];
    int r;

    for (int i = 0; i < 2; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "%s:{holdfast-check}:%d",
                       c->s->prefix, i);
    }
    r = hf__check_ask(c, HF__WORDS("EVAL", probe, "2", keys[0], keys[1]),
                      &reply);
    if (r != HF_OK) {
        return r;
    }
    if (is_refused(reply)) {
        add_missing(missing, strstr(reply->str, "keys") == NULL
                                 ? "EVAL"
                                 : "access to its keys");
    } else if (reply->type == REDIS_REPLY_STRING && reply->len > 0) {
        add_missing(missing, reply->str);
    }
    return HF_OK;
}

static int check_commands(struct hf__checking *c)
{
    static const char none[] = "0000000000000000000000000000000000000000";
    char missing[MISSING_MAX] = "";
    bool may = true;
    int r = probe_scripts(c, missing);

    r = r == HF_OK ? try(c, HF__WORDS("EVALSHA", none, "0"), &may) : r;
    if (r == HF_OK && !may) {
        add_missing(missing, "EVALSHA");
    }
    if (r == HF_OK && c->s->wait_replicas > 0) {
        /* With 0 replicas WAIT does not wait. */
        r = try(c, HF__WORDS("WAIT", "0", "1"), &may);
    }
    if (r == HF_OK && !may) {
        add_missing(missing, "WAIT");
    }
    hf__report_tell(&c->to, "privileges",
                    missing[0] == '\0' ? "all that locks need" : missing,
                    missing[0] == '\0' ? HF_FINE : HF_UNFIT,
                    "have an administrator give this user the rules of "
                    "docs/reference.md, \"Redis\", by ACL SETUSER");
    r = r == HF_OK ? try(c, HF__WORDS("SCAN", "0", "COUNT", "1"), &may) : r;
    hf__report_tell(
        &c->to, "listing", may ? "by SCAN" : "no SCAN", may ? HF_FINE : HF_WARN,
        "give this user +scan: without it there is no ls and no gc");
    return r;
}

/* A user may be allowed locks only. */
static int check_cells(struct hf__checking *c)
{
    char key[HF__PREFIX_MAX + 32];
    const char *const run[] = {"EVAL", "return 0", "1", key, NULL};
    bool may = false;
    int r;

    (void)snprintf(key, sizeof key, "%s={holdfast-check}", c->s->prefix);
    r = try(c, run, &may);
    hf__report_tell(&c->to, "cells",
                    may ? "may have them" : "no keys of theirs",
                    may ? HF_FINE : HF_WARN,
                    "give this user the keys ~PREFIX=*: without them there are "
                    "no cells");
    return r;
}

/* ---- channels */

/* Uses a channel of this client alone, on which no waiter listens, so that no
 * other message comes while it is subscribed. */
static int check_channels(struct hf__checking *c)
{
    char channel[HF__PREFIX_MAX + 48];
    bool may_tell = false;
    bool may_hear = false;
    int r;

    (void)snprintf(channel, sizeof channel, "%s;wake:check-%016llx",
                   c->s->prefix, (unsigned long long)c->s->client);
    r = try(c, HF__WORDS("PUBLISH", channel, ""), &may_tell);
    r = r == HF_OK ? try(c, HF__WORDS("SUBSCRIBE", channel), &may_hear) : r;
    if (r == HF_OK && may_hear) {
        bool is_done;

        r = try(c, HF__WORDS("UNSUBSCRIBE", channel), &is_done);
    }
    c->has_channels = may_tell && may_hear;
    hf__report_tell(&c->to, "channels",
                    c->has_channels ? "may publish and subscribe"
                    : may_hear      ? "no PUBLISH"
                    : may_tell      ? "no SUBSCRIBE"
                                    : "neither PUBLISH nor SUBSCRIBE",
                    c->has_channels ? HF_FINE : HF_WARN,
                    "give this user +publish +subscribe +unsubscribe and the "
                    "channels &PREFIX;*: without them waiters poll");
    return r;
}

/* No connection has the id 0, so that nothing is killed. */
static int check_ending(struct hf__checking *c)
{
    bool may = false;
    int r = try(c, HF__WORDS("CLIENT", "KILL", "ID", "0"), &may);

    may = may && c->s->peer.server.id != 0;
    hf__report_tell(&c->to, "late requests",
                    may ? "ended by CLIENT KILL" : "no CLIENT ID or KILL",
                    may ? HF_FINE : HF_WARN,
                    "give this user +client|id +client|kill: without them a "
                    "request that timed out is kept out for ten minutes");
    return r;
}

int hf__check_user(struct hf__checking *c)
{
    HF_AUTO(hf__reply_free) redisReply *reply = NULL;
    int r = hf__check_ask(c, HF__WORDS("ACL", "WHOAMI"), &reply);

    if (r != HF_OK) {
        return r;
    }
    hf__report_tell(&c->to, "user",
                    reply->type == REDIS_REPLY_STRING ? reply->str
                    : c->s->peer.target.user == NULL  ? "default"
                                                      : c->s->peer.target.user,
                    HF_FINE, NULL);
    r = check_commands(c);
    r = r == HF_OK ? check_cells(c) : r;
    r = r == HF_OK ? check_channels(c) : r;
    return r == HF_OK ? check_ending(c) : r;
}
