/* SPDX-License-Identifier: MIT */
/*
 * The first commands on a connection, their replies, and whether the server is
 * fit to keep locks. All commands are sent at once. Called by the session's
 * thread.
 */
#include "src/backend/redis/ask.h"
#include "src/backend/redis/peer.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum handshake {
    AUTH,
    INFO,
    ROLE,
    FSYNC,
    POLICY,
    SELECT,
    /* Asked of a quorum's member. */
    MARK,
    CLOCK,
    LAX,
    /* Asked of any server that is not a Sentinel. */
    NAME,
    ID,
    KNOWN, /* which of our scripts the server knows */
    LOAD,
    END, /* kills the stale connection */
    /* Asked of a Sentinel. */
    MYID,
    MASTER,
    ADDRESS,
    NAMES,
    NEWS
};

static int refuse(struct hf__peer *p, int status, const char *why)
{
    return hf__fail(&p->err, status, "%s: %s", p->target.shown, why);
}

/* ---- commands */

static void ask(struct hf__peer *p, enum handshake what,
                const char *const words[])
{
    HF_ASSERT(p->n_handshake < HF__HANDSHAKE_MAX);
    p->handshake[p->n_handshake++] = (unsigned char)what;
    hf__bytes_words(&p->resp.out, words);
}

static void ask_for_scripts(struct hf__peer *p)
{
    const char *words[HF__SCRIPTS + 3] = {"SCRIPT", "EXISTS"};

    for (int i = 0; i < HF__SCRIPTS; i++) {
        words[i + 2] = hf__script_hash((enum hf__script)i);
    }
    ask(p, KNOWN, words);
}

/* Kill the stale connection. If the user may not, tombstones take its place
 * (release.lua). */
static void end_stale(struct hf__peer *p)
{
    char id[24];

    if (p->stale.id != 0 && p->stale.server_id == p->server.server_id) {
        (void)snprintf(id, sizeof id, "%" PRIu64, p->stale.id);
        ask(p, END, HF__WORDS("CLIENT", "KILL", "ID", id));
    }
}

/* Load the scripts that the server does not know, and kill the stale
 * connection. If the user may not ask for scripts, or load them, each text is
 * sent at its first use. */
static int load_scripts(struct hf__peer *p, const redisReply *known)
{
    size_t n = known->type == REDIS_REPLY_ARRAY ? known->elements : 0;

    for (size_t i = 0; i < n && i < HF__SCRIPTS; i++) {
        if (known->element[i]->integer == 0) {
            ask(p, LOAD,
                HF__WORDS("SCRIPT", "LOAD",
                          hf__script_text((enum hf__script)i)));
        }
    }
    end_stale(p);
    return hf__resp_queue(&p->resp) == HF_OK
               ? HF_OK
               : refuse(p, HF_ENOMEM, "out of memory for a connection");
}

/* The address is asked for last, so that it is not older than the state by
 * which it is judged. Then subscribe to news, some of which may be about other
 * services. */
static void queue_for_sentinel(struct hf__peer *p)
{
    const char *service = p->target.service;

    ask(p, MYID, HF__WORDS("SENTINEL", "MYID"));
    ask(p, MASTER, HF__WORDS("SENTINEL", "MASTER", service));
    ask(p, ADDRESS, HF__WORDS("SENTINEL", "GET-MASTER-ADDR-BY-NAME", service));
    if (p->target.is_heard) {
        ask(p, NEWS, HF__WORDS("SUBSCRIBE", "+promoted-slave"));
        ask(p, NEWS, HF__WORDS("SUBSCRIBE", "+switch-master"));
    }
}

int hf__handshake_again(struct hf__peer *p)
{
    p->n_handshake = 0;
    p->n_answered = 0;
    p->said.port = 0;
    queue_for_sentinel(p);
    return hf__resp_queue(&p->resp);
}

int hf__handshake_queue(struct hf__peer *p, const struct hf__secret *secret)
{
    char database[16];

    p->n_handshake = 0;
    p->n_answered = 0;
    if (secret->is_given || p->target.user != NULL) {
        const char *password = secret->is_given ? secret->text : "";
        const char *user = p->target.user;

        ask(p, AUTH,
            user == NULL ? HF__WORDS("AUTH", password)
                         : HF__WORDS("AUTH", user, password));
    }
    if (p->target.service != NULL) {
        queue_for_sentinel(p);
        return hf__resp_queue(&p->resp);
    }
    ask(p, INFO, HF__WORDS("INFO"));
    ask(p, ROLE, HF__WORDS("ROLE"));
    ask(p, FSYNC, HF__WORDS("CONFIG", "GET", "appendfsync"));
    ask(p, POLICY, HF__WORDS("CONFIG", "GET", "maxmemory-policy"));
    if (p->target.database != 0) {
        (void)snprintf(database, sizeof database, "%d", p->target.database);
        ask(p, SELECT, HF__WORDS("SELECT", database));
    }
    if (p->target.mark_key != NULL) {
        ask(p, MARK, HF__WORDS("HMGET", p->target.mark_key, "since", "replid"));
        ask(p, CLOCK, HF__WORDS("TIME"));
        ask(p, LAX, HF__WORDS("CONFIG", "GET", "no-appendfsync-on-rewrite"));
    }
    ask(p, NAME, HF__WORDS("CLIENT", "SETNAME", "holdfast"));
    ask(p, ID, HF__WORDS("CLIENT", "ID"));
    ask_for_scripts(p);
    return hf__resp_queue(&p->resp);
}

/* ---- what the server reports about itself */

/* Read "key:value\r\n" of INFO; "" if it is missing. */
static void read_field(const char *info, const char *key, char *to, size_t size)
{
    size_t length = strlen(key);

    to[0] = '\0';
    for (const char *at = info; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n' ? 1 : 0;
        if (strncmp(at, key, length) == 0 && at[length] == ':') {
            const char *value = at + length + 1;

            (void)snprintf(to, size, "%.*s", (int)strcspn(value, "\r\n"),
                           value);
            return;
        }
    }
}

static int64_t read_number(const char *info, const char *key)
{
    char text[24];

    read_field(info, key, text, sizeof text);
    return strtoll(text, NULL, 10);
}

static int take_info(struct hf__peer *p, const redisReply *reply)
{
    struct hf__redis_server *s = &p->server;
    const char *info = reply->str;

    if (reply->type != REDIS_REPLY_STRING) {
        return refuse(p, HF_EPROTO, "what answers there is no Redis");
    }
    read_field(info, "redis_version", s->version, sizeof s->version);
    read_field(info, "run_id", s->run_id, sizeof s->run_id);
    read_field(info, "master_replid", s->replid, sizeof s->replid);
    read_field(info, "master_replid2", s->replid2, sizeof s->replid2);
    read_field(info, "redis_mode", s->mode, sizeof s->mode);
    if (s->mode[0] == '\0') { /* Valkey */
        read_field(info, "server_mode", s->mode, sizeof s->mode);
    }
    read_field(info, "role", s->role, sizeof s->role);
    read_field(info, "maxmemory_policy", s->policy, sizeof s->policy);
    s->has_aof = read_number(info, "aof_enabled") != 0;
    s->is_loading = read_number(info, "loading") != 0;
    s->replicas = (int)read_number(info, "connected_slaves");
    s->uptime_s = hf__time_bounded(read_number(info, "uptime_in_seconds"));
    s->server_id = s->run_id[0] != '\0'
                       ? hf__hash(s->run_id, strlen(s->run_id))
                       : hf__hash(p->target.shown, strlen(p->target.shown));
    s->server_id = s->server_id == 0 ? 1 : s->server_id;
    return HF_OK;
}

/* The i-th of two elements; CONFIG GET answers with a name and its value. "":
 * it was refused, or is missing. */
static const char *text_at(const redisReply *reply, int i)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                   reply->element[i]->str != NULL
               ? reply->element[i]->str
               : "";
}

static void copy(char *to, size_t size, const char *text)
{
    if (text[0] != '\0') {
        (void)snprintf(to, size, "%s", text);
    }
}

/* ---- is the server fit? */

static int refused(struct hf__peer *p, enum handshake what,
                   const redisReply *reply)
{
    hf_error said = HF_ERROR_INIT;
    int r = what == AUTH ? hf__redis_auth_error(reply, &said)
                         : hf__redis_error(reply, NULL, &said);

    return refuse(p, r == HF__AGAIN ? (int)HF_EUNAVAIL : r, said.text);
}

static int judge_eviction(struct hf__peer *p)
{
    const char *policy = p->server.policy;

    if (policy[0] == '\0' || strcmp(policy, "noeviction") == 0 ||
        hf__is_allowed(p->allow, "evicting")) {
        return HF_OK;
    }
    return hf__fail(&p->err, HF_EUNSAFE,
                    "%s: the server throws locks away when its memory is full "
                    "(maxmemory-policy %s): set it to noeviction, or say "
                    "allow=evicting",
                    p->target.shown, policy);
}

static int judge(struct hf__peer *p)
{
    const struct hf__redis_server *s = &p->server;

    if (p->target.service != NULL) {
        return p->said.port != 0
                   ? HF_OK
                   : refuse(p, HF_EPROTO, "it says nothing of the service");
    }
    if (strcmp(s->mode, "sentinel") == 0) {
        return refuse(p, HF_EINVAL,
                      "it is a Redis Sentinel, which keeps no locks: say "
                      "redis+sentinel://s1,s2,s3/SERVICE, or name the server "
                      "that it watches");
    }
    if (strcmp(s->mode, "cluster") == 0) {
        return refuse(p, HF_EUNSAFE,
                      "it is a node of a Redis Cluster, where a failover "
                      "forgets locks: name a server of its own, or several by "
                      "redlock:");
    }
    if (s->is_loading) {
        return refuse(p, HF_EUNAVAIL,
                      "the server has just started and still loads its data: "
                      "wait a moment");
    }
    if (strcmp(s->role, "slave") == 0 && !hf__is_allowed(p->allow, "replica")) {
        return refuse(p, HF_EUNSAFE,
                      "the server is a replica, or no master any more: name "
                      "the master");
    }
    return judge_eviction(p);
}

/* A Sentinel's reply. */
static int take_said(struct hf__peer *p, enum handshake what,
                     const redisReply *reply)
{
    int r;

    if (what == NEWS) {
        return reply->type == REDIS_REPLY_ERROR ? refused(p, what, reply)
                                                : (int)HF_OK;
    }
    r = hf__sentinel_take(p,
                          what == MYID      ? HF__ASK_ID
                          : what == MASTER  ? HF__ASK_MASTER
                          : what == ADDRESS ? HF__ASK_ADDRESS
                                            : HF__ASK_NAMES,
                          reply);
    if (r != HF_BUSY) {
        return r;
    }
    ask(p, NAMES, HF__WORDS("SENTINEL", "MASTERS"));
    return hf__resp_queue(&p->resp) == HF_OK
               ? HF_OK
               : refuse(p, HF_ENOMEM, "out of memory for a connection");
}

/* HF_OK: handled, go on with the next one. */
static int take(struct hf__peer *p, enum handshake what,
                const redisReply *reply)
{
    struct hf__redis_server *s = &p->server;
    bool is_error = reply->type == REDIS_REPLY_ERROR;

    switch (what) {
    case AUTH:
    case SELECT:
        return is_error ? refused(p, what, reply) : HF_OK;
    case INFO:
        return is_error ? refused(p, what, reply) : take_info(p, reply);
    case ROLE:
        if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
            reply->element[0]->str != NULL) {
            copy(s->role, sizeof s->role, reply->element[0]->str);
            s->has_told_role = true;
        }
        return HF_OK;
    case FSYNC:
        copy(s->fsync, sizeof s->fsync, text_at(reply, 1));
        return HF_OK;
    case POLICY:
        copy(s->policy, sizeof s->policy, text_at(reply, 1));
        return HF_OK;
    case MARK:
        p->past.is_unseen = reply->type != REDIS_REPLY_ARRAY;
        copy(p->past.since, sizeof p->past.since, text_at(reply, 0));
        copy(p->past.replid, sizeof p->past.replid, text_at(reply, 1));
        return HF_OK;
    case CLOCK:
        p->past.server_us = hf__answer_time(reply);
        return HF_OK;
    case LAX:
        p->past.is_lax = strcmp(text_at(reply, 1), "yes") == 0;
        return HF_OK;
    case KNOWN:
        return load_scripts(p, reply);
    case ID:
        s->id = reply->type == REDIS_REPLY_INTEGER && reply->integer > 0
                    ? (uint64_t)reply->integer
                    : 0;
        return HF_OK;
    case END:
        if (!is_error) {
            p->stale = (struct hf__stale_conn){0};
        }
        return HF_OK;
    case NAME:
    case LOAD:
        return HF_OK;
    case MYID:
    case MASTER:
    case ADDRESS:
    case NAMES:
    case NEWS:
        return take_said(p, what, reply);
    }
    return HF_OK;
}

int hf__handshake_take(struct hf__peer *p, const redisReply *reply)
{
    int r;

    if (p->n_answered >= p->n_handshake) {
        return refuse(p, HF_EPROTO, "it answers what nobody asked");
    }
    r = take(p, (enum handshake)p->handshake[p->n_answered++], reply);
    if (r == HF_OK) {
        r = p->n_answered < p->n_handshake ? (int)HF_BUSY : judge(p);
    }
    return r;
}

bool hf__handshake_is_one(const struct hf__redis_server *s)
{
    return strcmp(s->mode, "standalone") == 0 && s->run_id[0] != '\0' &&
           s->has_told_role;
}

char hf__handshake_grade(const struct hf__redis_server *s)
{
    if (!s->has_aof) {
        return 'D';
    }
    return s->replicas > 0 || strcmp(s->role, "slave") == 0 ? 'C' : 'B';
}
