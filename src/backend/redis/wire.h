/* SPDX-License-Identifier: MIT */
/*
 * Commands as bytes in the server's protocol (RESP 2), and one connection to
 * one server: it sends and receives without blocking, in clear text or by TLS.
 * Commands are written where they are sent from, so that one of the size of
 * earlier ones allocates nothing; running out of memory is remembered, and
 * checked once at the end. A caller with several connections polls them
 * together (peer.h). hiredis only parses: with a socket of our own, deadlines
 * are kept to the millisecond. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_WIRE_H
#define HF_BACKEND_REDIS_WIRE_H

#include "src/backend/backend.h"

#include <hiredis/hiredis.h>

/* The most arguments of a command in struct hf__args. */
#define HF__ARGS_MAX 40

struct hf__bytes {
    char *at;
    size_t length;
    size_t room;
    int commands;   /* each has one reply */
    bool is_broken; /* memory lacked: something is missing */
};

void hf__bytes_clear(struct hf__bytes *);
void hf__bytes_fini(struct hf__bytes *);

/* The arguments of one command. The caller keeps their bytes until the command
 * is added; those of numbers and tokens are in `text`. */
struct hf__args {
    int n;
    const char *at[HF__ARGS_MAX];
    size_t length[HF__ARGS_MAX];
    char text[320]; /* the texts of numbers and tokens */
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
/* Add a command of words, which end with NULL. */
void hf__bytes_words(struct hf__bytes *, const char *const words[]);
#define HF__WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* Add a command of any length: begin(), word() for each argument, and end()
 * with the number of arguments and the result of begin(). */
HF_MUST_CHECK size_t hf__bytes_begin(struct hf__bytes *);
void hf__bytes_word(struct hf__bytes *, const void *bytes, size_t length);
void hf__bytes_end(struct hf__bytes *, size_t begun, int n);
/* Add all commands of `from`. */
void hf__bytes_append(struct hf__bytes *, const struct hf__bytes *from);

struct hf__tls; /* tls.h */

struct hf__resp {
    int fd; /* CLOEXEC, registered; −1: not connected */
    struct hf__tls *tls;
    redisReader *reader;
    redisReplyObjectFunctions makers; /* of replies, with limits */
    void *(*make_array)(const redisReadTask *, int);
    struct hf__bytes out; /* commands; removed when all of them are sent */
    size_t queued;        /* bytes of `out` to be sent */
    size_t sent;          /* … that were sent */
    int owed;             /* queued commands whose reply was not taken yet */
    short wants;          /* for poll(): POLLIN, POLLOUT */
    bool is_dead;         /* closed, reset, or sent what is not RESP */
    bool has_sent;        /* a byte was sent since hf__resp_mark() */
};

/* Initialize without a connection. */
void hf__resp_init(struct hf__resp *);
/* Use that socket, connected or about to be: HF_OK, HF_ENOMEM. In both cases
 * hf__resp_fini() closes it. */
HF_MUST_CHECK int hf__resp_attach(struct hf__resp *, int fd);
/* Close the socket; queued commands stay, to be sent on the next one. */
void hf__resp_detach(struct hf__resp *);
/* Close the socket, without a TLS shutdown. Queued commands are dropped. */
void hf__resp_fini(struct hf__resp *);
static inline void hf__resp_mark(struct hf__resp *c)
{
    c->has_sent = false;
}
/* Queue the commands added to `out` for sending, and expect their replies.
 * HF_OK; HF_ENOMEM: those added since the last call are dropped. */
HF_MUST_CHECK int hf__resp_queue(struct hf__resp *);
/* Send what the socket accepts. HF_OK; HF_EUNAVAIL: it is dead, as is_dead
 * tells. */
int hf__resp_flush(struct hf__resp *);
/* Read what has come. As above; what came before the end can still be taken. */
int hf__resp_fill(struct hf__resp *);
/* Get the next whole reply, NULL if there is none yet; the caller frees it with
 * freeReplyObject(). HF_OK; HF_EPROTO, HF_ENOMEM: it is dead. */
HF_MUST_CHECK int hf__resp_next(struct hf__resp *, redisReply **ret_reply);
/* A cleanup function. */
static inline void hf__reply_free(redisReply **reply)
{
    freeReplyObject(*reply);
}

#endif
