/* SPDX-License-Identifier: MIT */
/*
 * Reads what a Sentinel reports about the service: where its primary is, in
 * which configuration, and how many Sentinels there are. SENTINEL MASTER has
 * almost all of that; but once a replica has been promoted, for a while it
 * still reports the old primary, and that it is down, and only
 * GET-MASTER-ADDR-BY-NAME has the new address. Called by the session's thread.
 */
#include "src/backend/redis/ask.h"
#include "src/backend/redis/peer.h"
#include "src/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The i-th element of an array, as text; "" if there is none. */
static const char *text_at(const redisReply *reply, size_t i)
{
    return reply->type == REDIS_REPLY_ARRAY && i < reply->elements &&
                   reply->element[i]->type == REDIS_REPLY_STRING
               ? reply->element[i]->str
               : "";
}

/* The value of a name in an array of names and values in turn. */
static const char *value_of(const redisReply *reply, const char *name)
{
    for (size_t i = 0;
         reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        if (strcmp(text_at(reply, i), name) == 0) {
            return text_at(reply, i + 1);
        }
    }
    return "";
}

static int number_of(const redisReply *reply, const char *name)
{
    long value = strtol(value_of(reply, name), NULL, 10);

    return value < 0 || value > 1000000 ? 0 : (int)value;
}

static void take_master(struct hf__peer *p, const redisReply *reply)
{
    struct hf__sentinel_reply *said = &p->said;

    said->epoch = strtoll(value_of(reply, "config-epoch"), NULL, 10);
    said->quorum = number_of(reply, "quorum");
    said->others = number_of(reply, "num-other-sentinels");
    said->is_down = strstr(value_of(reply, "flags"), "o_down") != NULL;
    (void)snprintf(said->host, sizeof said->host, "%s", value_of(reply, "ip"));
    said->down_port = number_of(reply, "port");
}

static int refuse(struct hf__peer *p, int status, const char *why)
{
    return hf__fail(&p->err, status, "%s: %s", p->target.shown, why);
}

static int take_address(struct hf__peer *p, const redisReply *reply)
{
    struct hf__sentinel_reply *said = &p->said;
    const char *host = text_at(reply, 0);
    long port = strtol(text_at(reply, 1), NULL, 10);

    if (host[0] == '\0' || strlen(host) >= sizeof said->host || port < 1 ||
        port > 65535) {
        return refuse(p, HF_EPROTO,
                      "what answers there does not speak as a Sentinel does");
    }
    said->is_down = said->is_down && said->down_port == port &&
                    strcmp(said->host, host) == 0;
    (void)snprintf(said->host, sizeof said->host, "%s", host);
    said->port = (int)port;
    return HF_OK;
}

/* The Sentinel does not know the service: report those that it knows. */
static int take_names(struct hf__peer *p, const redisReply *reply)
{
    char names[200] = "";
    size_t n = reply->type == REDIS_REPLY_ARRAY ? reply->elements : 0;

    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(names);

        (void)snprintf(names + at, sizeof names - at, "%s\"%s\"",
                       at == 0 ? "" : ", ",
                       value_of(reply->element[i], "name"));
    }
    return hf__fail(&p->err, HF_EINVAL,
                    "%s: it watches no service \"%s\", but %s", p->target.shown,
                    p->target.service, n == 0 ? "none at all" : names);
}

static bool begins(const redisReply *reply, const char *word)
{
    return strncmp(reply->str, word, strlen(word)) == 0;
}

static int take_error(struct hf__peer *p, const redisReply *reply)
{
    hf_error said = HF_ERROR_INIT;
    int r;

    if (begins(reply, "ERR No such master")) {
        return HF_BUSY;
    }
    if (begins(reply, "ERR unknown command")) {
        return refuse(p, HF_EINVAL,
                      "it is no Sentinel; name the Sentinels, which mostly "
                      "have the port 26379, or say redis: for this server");
    }
    if (begins(reply, "NOAUTH")) {
        return refuse(p, HF_EAUTH,
                      "it wants a password: give it by "
                      "sentinel_password_file=; that of the url is for the "
                      "servers");
    }
    r = hf__redis_error(reply, NULL, &said);
    return refuse(p, r == HF__AGAIN ? (int)HF_EUNAVAIL : r, said.text);
}

int hf__sentinel_take(struct hf__peer *p, int which, const redisReply *reply)
{
    if (which == HF__ASK_ID) {
        (void)snprintf(p->said.id, sizeof p->said.id, "%s",
                       reply->type == REDIS_REPLY_STRING ? reply->str : "");
        return HF_OK;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        return take_error(p, reply);
    }
    switch (which) {
    case HF__ASK_MASTER:
        take_master(p, reply);
        return HF_OK;
    case HF__ASK_ADDRESS:
        /* nil: the service is unknown; the reply to SENTINEL MASTER tells
         * so. */
        return reply->type == REDIS_REPLY_NIL ||
                       (reply->type == REDIS_REPLY_ARRAY &&
                        reply->elements == 0)
                   ? HF_OK
                   : take_address(p, reply);
    default:
        return take_names(p, reply);
    }
}
