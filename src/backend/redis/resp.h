/* SPDX-License-Identifier: MIT */
/*
 * One connection to one server that speaks RESP 2: sending and receiving
 * without ever blocking, in the clear or by TLS. Who owns several polls them
 * together (peer.h). hiredis parses; the socket is ours, so that limits are
 * kept to the millisecond. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_RESP_H
#define HF_BACKEND_REDIS_RESP_H

#include "src/backend/redis/bytes.h"

#include <hiredis/hiredis.h>

struct hf__tls; /* tls.h */

struct hf__resp {
    int fd; /* CLOEXEC, registered; −1: not connected */
    struct hf__tls *tls;
    redisReader *reader;
    redisReplyObjectFunctions makers; /* of replies, with limits */
    void *(*make_array)(const redisReadTask *, int);
    struct hf__bytes out; /* commands; what was sent of them leaves it once
                             all is sent */
    size_t queued;        /* bytes of `out` that are to be sent */
    size_t sent;          /* … that were */
    int owed;             /* replies of commands that were queued, not taken */
    short wants;          /* for poll(): POLLIN, POLLOUT */
    bool is_dead;         /* closed, reset or unintelligible */
    bool has_sent;        /* a byte left since hf__resp_mark() */
};

/* Nothing connected. */
void hf__resp_init(struct hf__resp *);
/* It is connected by that socket, or about to be: HF_OK, HF_ENOMEM. The socket
 * is closed by hf__resp_fini() in any case. */
HF_MUST_CHECK int hf__resp_attach(struct hf__resp *, int fd);
/* Closes the socket; what was queued stays, to be sent on the next one. */
void hf__resp_detach(struct hf__resp *);
/* Closes the socket; raw, without a word. What was queued is forgotten. */
void hf__resp_fini(struct hf__resp *);
static inline void hf__resp_mark(struct hf__resp *c)
{
    c->has_sent = false;
}
/* What was added to `out` is to be sent: counts what it owes. HF_OK;
 * HF_ENOMEM: nothing of what was added since the last time is, it is gone. */
HF_MUST_CHECK int hf__resp_queue(struct hf__resp *);
/* Send what the socket takes. HF_OK; HF_EUNAVAIL: it is dead, which is_dead
 * tells as well. */
int hf__resp_flush(struct hf__resp *);
/* Read what has come. The same; what came before it died can be taken. */
int hf__resp_fill(struct hf__resp *);
/* The next whole reply, NULL if there is none yet; the caller frees it with
 * freeReplyObject(). HF_OK; HF_EPROTO, HF_ENOMEM: it is dead. */
HF_MUST_CHECK int hf__resp_next(struct hf__resp *, redisReply **ret_reply);
/* A cleanup. */
static inline void hf__reply_free(redisReply **reply)
{
    freeReplyObject(*reply);
}

#endif
