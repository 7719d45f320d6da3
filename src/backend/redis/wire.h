/* SPDX-License-Identifier: MIT */
/*
 * Commands as bytes in the server's protocol (RESP 2), and one connection to
 * one server: sending and receiving without ever blocking, in the clear or by
 * TLS. Commands are written where they are sent from, so that one of the size
 * of those before allocates nothing; running out of memory is remembered and
 * asked for once, at the end. Who owns several connections polls them together
 * (peer.h). hiredis parses; the socket is ours, so that limits are kept to the
 * millisecond. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_WIRE_H
#define HF_BACKEND_REDIS_WIRE_H

#include "src/backend/backend.h"

#include <hiredis/hiredis.h>

/* The most arguments of a command that is added as a whole. */
#define HF__ARGS_MAX 40

struct hf__bytes {
    char *at;
    size_t length;
    size_t room;
    int commands;   /* each owes one reply */
    bool is_broken; /* out of memory: something is missing */
};

void hf__bytes_clear(struct hf__bytes *);
void hf__bytes_fini(struct hf__bytes *);

/* One command as its arguments are found. The bytes are lent until it is
 * added; what is written by number() lives in it. */
struct hf__args {
    int n;
    const char *at[HF__ARGS_MAX];
    size_t length[HF__ARGS_MAX];
    char text[320]; /* of numbers, tokens */
    size_t used;
};

void hf__args_clear(struct hf__args *);
void hf__args_begin(struct hf__args *, const char *command);
void hf__args_word(struct hf__args *, const char *word);
void hf__args_bytes(struct hf__args *, const void *bytes, size_t length);
void hf__args_number(struct hf__args *, int64_t number);
/* 32 hexadecimal digits. */
void hf__args_token(struct hf__args *, const struct hf__token *);
void hf__bytes_add(struct hf__bytes *, const struct hf__args *);
/* A command of words alone, which end with NULL. */
void hf__bytes_words(struct hf__bytes *, const char *const words[]);
#define HF__WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* A command of any length: begin(), word() for each argument, and end() with
 * how many they are and what begin() gave. */
HF_MUST_CHECK size_t hf__bytes_begin(struct hf__bytes *);
void hf__bytes_word(struct hf__bytes *, const void *bytes, size_t length);
void hf__bytes_end(struct hf__bytes *, size_t begun, int n);
/* All commands of another. */
void hf__bytes_append(struct hf__bytes *, const struct hf__bytes *from);

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
