/* SPDX-License-Identifier: MIT */
/*
 * Bytes to and from one server. A server that claims to send more than any
 * reply of ours has is not believed: nothing is allocated for the claim.
 * Nor does hiredis end the process when memory runs out: its parser (0.14 uses
 * plain malloc() there; its hi_malloc(), which aborts, is for connections and
 * callbacks, which we have none of) reports it. Called by the session's thread.
 */
#include "src/backend/redis/resp.h"

#include "src/backend/redis/tls.h"
#include "src/base/fork.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* Of one reply: a page of records with all their owners is far below. */
#define REPLY_MAX    (16 * 1024 * 1024)
#define ELEMENTS_MAX (1024 * 1024)
#define CHUNK        16384

void hf__resp_init(struct hf__resp *c)
{
    *c = (struct hf__resp){.fd = -1};
}

static void *make_array(const redisReadTask *task, int elements)
{
    const struct hf__resp *c = task->privdata;

    return elements > ELEMENTS_MAX ? NULL : c->make_array(task, elements);
}

int hf__resp_attach(struct hf__resp *c, int fd)
{
    c->fd = fd;
    c->wants = POLLIN | POLLOUT;
    c->is_dead = false;
    c->sent = 0;
    if (hf__fd_register(fd) != HF_OK) {
        return HF_ENOMEM;
    }
    c->reader = redisReaderCreate();
    if (c->reader == NULL) {
        return HF_ENOMEM;
    }
    c->makers = *c->reader->fn;
    c->make_array = c->makers.createArray;
    c->makers.createArray = make_array;
    c->reader->fn = &c->makers;
    c->reader->privdata = c;
    return HF_OK;
}

void hf__resp_detach(struct hf__resp *c)
{
    hf__tls_free(c->tls);
    c->tls = NULL;
    if (c->reader != NULL) {
        redisReaderFree(c->reader);
        c->reader = NULL;
    }
    hf__fd_close(c->fd);
    c->fd = -1;
    c->sent = 0;
    c->wants = 0;
}

void hf__resp_fini(struct hf__resp *c)
{
    hf__resp_detach(c);
    hf__bytes_fini(&c->out);
    hf__resp_init(c);
}

int hf__resp_queue(struct hf__resp *c)
{
    if (c->out.is_broken) {
        c->out.length = c->queued;
        c->out.commands = 0;
        c->out.is_broken = false;
        return HF_ENOMEM;
    }
    c->owed += c->out.commands;
    c->out.commands = 0;
    c->queued = c->out.length;
    if (c->sent < c->queued) {
        c->wants |= POLLOUT; /* for nothing it would be ready all the time */
    }
    return HF_OK;
}

static int die(struct hf__resp *c, int status)
{
    c->is_dead = true;
    c->wants = 0;
    return status;
}

/* More than 0: so many; 0: not now, which is to be polled for; less: never
 * again. */
static ssize_t give(struct hf__resp *c, const char *bytes, size_t n)
{
    short wants = POLLOUT;
    ssize_t sent;

    c->wants = POLLIN;
    if (c->tls != NULL) {
        sent = hf__tls_send(c->tls, bytes, n, &wants);
        c->wants = (short)(sent == 0 ? POLLIN | wants : POLLIN);
        return sent;
    }
    do {
        sent = send(c->fd, bytes, n, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EAGAIN) {
        c->wants = POLLIN | POLLOUT;
        return 0;
    }
    return sent;
}

int hf__resp_flush(struct hf__resp *c)
{
    if (c->is_dead) {
        return HF_EUNAVAIL;
    }
    while (c->sent < c->queued) {
        ssize_t n = give(c, c->out.at + c->sent, c->queued - c->sent);

        if (n < 0) {
            return die(c, HF_EUNAVAIL);
        }
        if (n == 0) {
            return HF_OK;
        }
        c->has_sent = true;
        c->sent += (size_t)n;
    }
    if (c->queued == c->out.length) {
        hf__bytes_clear(&c->out);
        c->queued = 0;
        c->sent = 0;
    }
    c->wants = POLLIN;
    return HF_OK;
}

/* As give(); an end is "never again". */
static ssize_t take(struct hf__resp *c, char *bytes, size_t n)
{
    short wants = 0;
    ssize_t got;

    if (c->tls != NULL) {
        got = hf__tls_recv(c->tls, bytes, n, &wants);
        c->wants = (short)(got == 0 ? c->wants | wants : c->wants);
        return got;
    }
    do {
        got = recv(c->fd, bytes, n, 0);
    } while (got < 0 && errno == EINTR);
    return got == 0 ? -1 : got < 0 && errno == EAGAIN ? 0 : got;
}

int hf__resp_fill(struct hf__resp *c)
{
    char chunk[CHUNK];
    ssize_t n;

    do {
        n = c->is_dead ? -1 : take(c, chunk, sizeof chunk);
        if (n < 0) {
            return die(c, HF_EUNAVAIL);
        }
        if (n > 0 && redisReaderFeed(c->reader, chunk, (size_t)n) != REDIS_OK) {
            return die(c, HF_ENOMEM);
        }
    } while (n == sizeof chunk ||
             (n > 0 && c->tls != NULL && hf__tls_has_more(c->tls)));
    return HF_OK;
}

int hf__resp_next(struct hf__resp *c, redisReply **ret_reply)
{
    void *reply = NULL;

    *ret_reply = NULL;
    if (c->reader == NULL) {
        return HF_OK;
    }
    if (redisReaderGetReply(c->reader, &reply) != REDIS_OK) {
        return die(c, c->reader->err == REDIS_ERR_OOM ? HF_ENOMEM : HF_EPROTO);
    }
    if (reply == NULL && c->reader->len - c->reader->pos > REPLY_MAX) {
        return die(c, HF_EPROTO);
    }
    if (reply != NULL) {
        c->owed--;
    }
    *ret_reply = reply;
    return HF_OK;
}
