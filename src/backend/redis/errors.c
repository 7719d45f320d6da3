/* SPDX-License-Identifier: MIT */
/*
 * A table of a server's error replies: the status of each, and what helps. The
 * first row that matches counts. An error that is not in it is taken for the
 * command's own fault and told in the server's words. Thread: any.
 */
#include "src/backend/redis/ask.h"
#include "src/base/error.h"

#include <string.h>

/* The most bytes of a server's text that ours quotes. */
#define QUOTED_MAX 200

struct meaning {
    const char *begins; /* the reply begins so */
    const char *has;    /* and contains this; NULL: anything */
    int status;
    const char *remedy; /* NULL: the server's text is enough */
};

static const char key_of_others[] =
    "a key that is not Holdfast's has this name: choose another prefix=";
static const char lock_of_others[] =
    "not Holdfast's: perhaps a lock of a program that uses SET … NX PX. Such "
    "locks and Holdfast's do not exclude each other; choose another prefix=, "
    "or lock by Holdfast alone and DEL the key";

static const struct meaning meanings[] = {
    /* Not begun, and soon over. */
    {"LOADING", NULL, HF__AGAIN, "it has just started: wait a moment"},
    {"BUSY ", NULL, HF__AGAIN,
     "somebody's script runs too long: SCRIPT KILL ends it"},
    {"TRYAGAIN", NULL, HF__AGAIN, NULL},
    {"UNKILLABLE", NULL, HF_EUNAVAIL, NULL},
    /* Login and permissions. */
    {"NOAUTH", NULL, HF_EAUTH,
     "give a password: in the url, by password_file= or HOLDFAST_PASSWORD"},
    {"WRONGPASS", NULL, HF_EAUTH, "check user and password"},
    {"ERR invalid password", NULL, HF_EAUTH, "check the password"},
    {"ERR AUTH <password> called without any password", NULL, HF_EAUTH,
     "this server has no password: give none"},
    {"ERR Client sent AUTH, but no password is set", NULL, HF_EAUTH,
     "this server has no password: give none"},
    {"ERR wrong number of arguments for 'auth'", NULL, HF_EAUTH,
     "before Redis 6 there are no users: give the password only"},
    {"NOPERM", "channel", HF_EAUTH,
     "allow this user the channels: ACL SETUSER … &*"},
    {"NOPERM", "key", HF_EAUTH,
     "allow this user the keys of the prefix: ACL SETUSER … ~PREFIX:*, and for "
     "cells ~PREFIX=*"},
    {"NOPERM", NULL, HF_EAUTH,
     "allow this user the commands: see the chapter on Redis"},
    {"ERR The user executing the script", NULL, HF_EAUTH,
     "allow this user the commands: see the chapter on Redis"},
    {"The user executing the script", NULL, HF_EAUTH,
     "allow this user the commands and keys: see the chapter on Redis"},
    {"DENIED", NULL, HF_EAUTH,
     "it is in protected mode: set a password there, or bind and "
     "protected-mode no"},
    /* Out of memory or room, or closed to writes. Not applied. */
    {"OOM", NULL, HF_EUNAVAIL, "the server's memory is full: raise maxmemory"},
    {"ERR max number of clients", NULL, HF_EUNAVAIL, "raise maxclients"},
    {"ERR max client limit", NULL, HF_EUNAVAIL, "raise maxclients"},
    {"MISCONF", NULL, HF_EUNAVAIL,
     "the server can't write its snapshot: see its disk and its log"},
    {"NOREPLICAS", NULL, HF_EUNAVAIL,
     "fewer replicas are there than min-replicas-to-write asks for"},
    {"READONLY", NULL, HF_EUNAVAIL,
     "it is a replica, or was the master: name the master"},
    {"MASTERDOWN", NULL, HF_EUNAVAIL, "it is a replica without its master"},
    {"NOTREADY", NULL, HF_EUNAVAIL, NULL},
    /* A cluster. */
    {"MOVED", NULL, HF_EUNSAFE,
     "it is a node of a Redis Cluster: name a server of its own"},
    {"ASK ", NULL, HF_EUNSAFE,
     "it is a node of a Redis Cluster: name a server of its own"},
    {"CROSSSLOT", NULL, HF_EUNSAFE,
     "it is a node of a Redis Cluster: name a server of its own"},
    {"CLUSTERDOWN", NULL, HF_EUNSAFE,
     "it is a node of a Redis Cluster: name a server of its own"},
    {"ERR SELECT is not allowed in cluster mode", NULL, HF_EUNSAFE,
     "it is a node of a Redis Cluster: name a server of its own"},
    {"ERR DB index is out of range", NULL, HF_EINVAL,
     "it has fewer databases than the url names: raise databases, or name "
     "another"},
    {"ERR invalid DB index", NULL, HF_EINVAL,
     "it has fewer databases than the url names: raise databases, or name "
     "another"},
    /* Keys that others wrote, or another protocol. */
    {"WRONGTYPE", NULL, HF_EPROTO, key_of_others},
    {"HOLDFAST its key is a string", NULL, HF_EPROTO, lock_of_others},
    {"HOLDFAST its key is no hash", NULL, HF_EPROTO, lock_of_others},
    {"HOLDFAST its key is", NULL, HF_EPROTO, key_of_others},
    {"HOLDFAST the record of a cell", NULL, HF_EPROTO,
     "somebody else wrote to its key, PREFIX={NAME}: put it right, or DEL it"},
    {"HOLDFAST", NULL, HF_EPROTO,
     "somebody else wrote to it: DEL its keys once nobody holds the lock"},
    {"ERR unknown command", NULL, HF_EPROTO,
     "it is no Redis of 3.2 or later, or its administrator renamed the "
     "command"},
    {"ERR Protocol error", NULL, HF_EPROTO, NULL},
    {"NOSCRIPT", NULL, HF_EUNAVAIL, NULL},
};

/* Before 7 Redis wraps an error in a script: "ERR Error running script (call to
 * f_…): @user_script:7: @user_script: 7: -OOM command …". */
const char *hf__redis_words(const redisReply *reply)
{
    static const char place[] = "@user_script:";
    const char *text = reply->str == NULL ? "" : reply->str;
    const char *at = text;

    if (strncmp(text, "ERR Error running script", 24) != 0) {
        return text;
    }
    while ((at = strstr(at, place)) != NULL) {
        at += sizeof place - 1;
        at += strspn(at, " 0123456789");
        at += strspn(at, ": -");
        text = at;
    }
    return text;
}

static const struct meaning *meaning_of(const char *text)
{
    static const struct meaning unknown = {"", NULL, HF_EPROTO, NULL};

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        const struct meaning *m = &meanings[i];

        if (strncmp(text, m->begins, strlen(m->begins)) == 0 &&
            (m->has == NULL || strstr(text, m->has) != NULL)) {
            return m;
        }
    }
    return &unknown;
}

bool hf__redis_knows(const redisReply *reply)
{
    return meaning_of(hf__redis_words(reply))->begins[0] != '\0';
}

/* A server repeats an unknown command with its arguments, which may be private:
 * "ERR unknown command 'X', with args beginning …". */
static size_t told_length(const char *text)
{
    const char *end = strstr(text, ", with args beginning with");

    return end == NULL ? strlen(text) : (size_t)(end - text);
}

int hf__redis_auth_error(const redisReply *reply, hf_error *err)
{
    const struct meaning *m = meaning_of(reply->str == NULL ? "" : reply->str);

    return m->begins[0] == '\0'
               ? hf__fail(err, m->status,
                          "AUTH: the server refuses it, in words that may "
                          "have the password and are not repeated")
               : hf__fail(err, m->status, "AUTH: the server says: %s%s%s%s",
                          m->begins, m->remedy == NULL ? "" : " (",
                          m->remedy == NULL ? "" : m->remedy,
                          m->remedy == NULL ? "" : ")");
}

int hf__redis_error(const redisReply *reply, const struct hf__key *key,
                    hf_error *err)
{
    const char *text = hf__redis_words(reply);
    const struct meaning *m = meaning_of(text);
    const char *name = key == NULL ? "" : key->bytes + key->name_at;
    int length = key == NULL ? 0 : key->length - key->name_at;
    char quoted[QUOTED_MAX + 1];

    /* A proxy may repeat the command, with its token. */
    hf__token_hide(text, told_length(text), quoted, sizeof quoted);
    return m->remedy == NULL
               ? hf__fail(err, m->status, "%.*s%sthe server says: %s", length,
                          name, length > 0 ? ": " : "", quoted)
               : hf__fail(err, m->status, "%.*s%sthe server says: %s (%s)",
                          length, name, length > 0 ? ": " : "", quoted,
                          m->remedy);
}
