/* SPDX-License-Identifier: MIT */
/*
 * Commands as bytes: an array of strings, each preceded by its length. Adding
 * too many arguments or numbers is a bug in the caller; running out of memory
 * is remembered, and later additions are dropped.
 *
 * And bytes to and from one server. A server that announces more than any reply
 * to us can have is not believed: nothing is allocated for it. hiredis does not
 * end the process if memory runs out: its parser reports it (0.14 uses plain
 * malloc() there; hi_malloc(), which aborts, is for its connections and
 * callbacks, which we do not use). Called by the session's thread.
 */
#include "src/backend/redis/wire.h"

#include "src/backend/redis/tls.h"
#include "src/base/alloc.h"
#include "src/base/fork.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* ---- commands */

/* "*40\r\n", or "$1024\r\n" and the "\r\n" behind the argument. */
#define HEAD_MAX 24
/* Room for a single operation and its owner. */
#define ROOM_LEAST 2048
/* A larger buffer, from a crowded batch, is freed after use; 64 operations with
 * long names and owners fit. */
#define ROOM_KEPT 262144

/* Wipe and free: it may have had a password. */
static void drop(char *at, size_t room)
{
    if (at != NULL) {
        explicit_bzero(at, room);
        hf__free(at);
    }
}

void hf__bytes_clear(struct hf__bytes *b)
{
    if (b->room > ROOM_KEPT) {
        drop(b->at, b->room);
        *b = (struct hf__bytes){0};
    }
    b->length = 0;
    b->commands = 0;
    b->is_broken = false;
}

void hf__bytes_fini(struct hf__bytes *b)
{
    drop(b->at, b->room);
    *b = (struct hf__bytes){0};
}

void hf__args_clear(struct hf__args *a)
{
    a->n = 0;
    a->used = 0;
}

void hf__args_begin(struct hf__args *a, const char *command)
{
    hf__args_clear(a);
    hf__args_word(a, command);
}

void hf__args_word(struct hf__args *a, const char *word)
{
    hf__args_bytes(a, word, strlen(word));
}

void hf__args_bytes(struct hf__args *a, const void *bytes, size_t length)
{
    HF_ASSERT(a->n < HF__ARGS_MAX);
    a->at[a->n] = bytes;
    a->length[a->n] = length;
    a->n++;
}

/* Make the text written at a->text + a->used the next argument. */
static void take_text(struct hf__args *a, int length)
{
    HF_ASSERT(length >= 0 && a->used + (size_t)length < sizeof a->text);
    hf__args_bytes(a, a->text + a->used, (size_t)length);
    a->used += (size_t)length;
}

/* Write at most 20 digits; returns their end. */
static char *put_number(char *to, uint64_t number)
{
    char digits[HEAD_MAX];
    int n = 0;

    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0) {
        *to++ = digits[--n];
    }
    return to;
}

/* Not by snprintf(): there are several numbers in each operation. */
void hf__args_number(struct hf__args *a, int64_t number)
{
    char *from = a->text + a->used;
    char *to = from;

    HF_ASSERT(a->used + HEAD_MAX < sizeof a->text);
    if (number < 0) {
        *to++ = '-';
    }
    to = put_number(to, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
    take_text(a, (int)(to - from));
}

void hf__args_token(struct hf__args *a, const struct hf__token *token)
{
    HF_ASSERT(a->used + HF__TOKEN_DIGITS < sizeof a->text);
    hf__token_write(token, a->text + a->used);
    take_text(a, HF__TOKEN_DIGITS);
}

static size_t room_for(const struct hf__args *a)
{
    size_t room = HEAD_MAX;

    for (int i = 0; i < a->n; i++) {
        room += HEAD_MAX + a->length[i];
    }
    return room;
}

/* Copies instead of hf__resize(), which would leave the old bytes in freed
 * memory, perhaps a password. */
static bool make_room(struct hf__bytes *b, size_t more)
{
    size_t room = b->room < ROOM_LEAST ? ROOM_LEAST : b->room;
    char *at;

    while (room < b->length + more) {
        room *= 2;
    }
    if (room == b->room) {
        return true;
    }
    at = hf__resize(NULL, room);
    if (at == NULL) {
        return false;
    }
    if (b->length > 0) {
        memcpy(at, b->at, b->length);
    }
    drop(b->at, b->room);
    b->at = at;
    b->room = room;
    return true;
}

/* "*3\r\n", "$16\r\n". */
static char *put_head(char *to, char kind, size_t number)
{
    *to++ = kind;
    to = put_number(to, number);
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

static char *put_word(char *to, const void *bytes, size_t length)
{
    to = put_head(to, '$', length);
    memcpy(to, bytes, length);
    to += length;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

void hf__bytes_add(struct hf__bytes *b, const struct hf__args *a)
{
    char *to;

    if (b->is_broken || !make_room(b, room_for(a))) {
        b->is_broken = true;
        return;
    }
    to = put_head(b->at + b->length, '*', (size_t)a->n);
    for (int i = 0; i < a->n; i++) {
        to = put_word(to, a->at[i], a->length[i]);
    }
    b->length = (size_t)(to - b->at);
    b->commands++;
}

void hf__bytes_words(struct hf__bytes *b, const char *const words[])
{
    struct hf__args args;

    hf__args_begin(&args, words[0]);
    for (int i = 1; words[i] != NULL; i++) {
        hf__args_word(&args, words[i]);
    }
    hf__bytes_add(b, &args);
}

/* Leave room for the longest header. */
size_t hf__bytes_begin(struct hf__bytes *b)
{
    size_t begun = b->length;

    if (b->is_broken || !make_room(b, HEAD_MAX)) {
        b->is_broken = true;
    } else {
        b->length += HEAD_MAX;
    }
    return begun;
}

void hf__bytes_word(struct hf__bytes *b, const void *bytes, size_t length)
{
    if (b->is_broken || !make_room(b, HEAD_MAX + length)) {
        b->is_broken = true;
        return;
    }
    b->length = (size_t)(put_word(b->at + b->length, bytes, length) - b->at);
}

void hf__bytes_end(struct hf__bytes *b, size_t begun, int n)
{
    size_t words = b->length - begun - HEAD_MAX;
    char *to = b->at + begun;

    if (b->is_broken) {
        return;
    }
    to = put_head(to, '*', (size_t)n);
    memmove(to, b->at + begun + HEAD_MAX, words);
    b->length = (size_t)(to - b->at) + words;
    b->commands++;
}

void hf__bytes_append(struct hf__bytes *b, const struct hf__bytes *from)
{
    if (b->is_broken || from->is_broken || !make_room(b, from->length)) {
        b->is_broken = true;
        return;
    }
    memcpy(b->at + b->length, from->at, from->length);
    b->length += from->length;
    b->commands += from->commands;
}

/* ---- a connection */

/* Limits of one reply: a page of records with all their owners is far
 * smaller. */
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
        c->wants |= POLLOUT; /* otherwise it would be ready all the time */
    }
    return HF_OK;
}

static int die(struct hf__resp *c, int status)
{
    c->is_dead = true;
    c->wants = 0;
    return status;
}

/* Send: returns the number of bytes; 0: none now, poll() for c->wants;
 * negative: the connection has ended. */
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

/* Receive: returns as give(); a closed connection has ended, too. */
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
