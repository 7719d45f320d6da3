/* SPDX-License-Identifier: MIT */
/*
 * Locks in Redis by hand, as its own documentation says. hiredis is used in
 * the cheapest of its ways: arguments with their lengths, no format to be
 * parsed. Thread: any.
 */
#include "bench/rawredis.h"

#include "bench/measure.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX  16
#define TOKEN_LENGTH 32
#define HASH_LENGTH  40
#define LEASE_MS     "30000"

static const char release_script[] =
    "if redis.call('get',KEYS[1])==ARGV[1] then "
    "return redis.call('del',KEYS[1]) else return 0 end";

struct rawredis {
    redisContext *c[SERVERS_MAX];
    int n;
    char hash[HASH_LENGTH + 1];
    uint64_t tokens; /* drawn so far */
};

/* ---- connections --------------------------------------------------------- */

static redisReply *checked(redisContext *c, void *reply)
{
    redisReply *r = reply;

    if (!r) {
        bench_fail("raw: %s", c->errstr);
    }
    if (r->type == REDIS_REPLY_ERROR) {
        bench_fail("raw: %s", r->str);
    }
    return r;
}

static void load(struct rawredis *raw, redisContext *c)
{
    redisReply *r =
        checked(c, redisCommand(c, "SCRIPT LOAD %s", release_script));

    (void)snprintf(raw->hash, sizeof raw->hash, "%s", r->str);
    freeReplyObject(r);
}

struct rawredis *rawredis_open(const int ports[], int n)
{
    struct rawredis *raw = calloc(1, sizeof *raw);
    int i;

    if (!raw || n > SERVERS_MAX) {
        bench_fail("out of memory");
    }
    raw->n = n;
    raw->tokens = (uint64_t)(uintptr_t)raw;
    for (i = 0; i < n; i++) {
        raw->c[i] = redisConnect("127.0.0.1", ports[i]);
        if (!raw->c[i] || raw->c[i]->err) {
            bench_fail("raw: %s", raw->c[i] ? raw->c[i]->errstr : "memory");
        }
        load(raw, raw->c[i]);
    }
    return raw;
}

void rawredis_close(struct rawredis *raw)
{
    int i;

    for (i = 0; i < raw->n; i++) {
        redisFree(raw->c[i]);
    }
    free(raw);
}

/* ---- commands ------------------------------------------------------------ */

struct command {
    int n;
    const char *word[6];
    size_t length[6];
};

static void add(struct command *c, const char *word, size_t length)
{
    c->word[c->n] = word;
    c->length[c->n++] = length;
}

static struct command acquire(const char *key, const char *token)
{
    struct command c = {0};

    add(&c, "SET", 3);
    add(&c, key, strlen(key));
    add(&c, token, TOKEN_LENGTH);
    add(&c, "NX", 2);
    add(&c, "PX", 2);
    add(&c, LEASE_MS, sizeof LEASE_MS - 1);
    return c;
}

static struct command release(const struct rawredis *raw, const char *key,
                              const char *token)
{
    struct command c = {0};

    add(&c, "EVALSHA", 7);
    add(&c, raw->hash, HASH_LENGTH);
    add(&c, "1", 1);
    add(&c, key, strlen(key));
    add(&c, token, TOKEN_LENGTH);
    return c;
}

static void draw(struct rawredis *raw, char token[TOKEN_LENGTH + 1])
{
    (void)snprintf(token, TOKEN_LENGTH + 1, "%016llx%016llx",
                   (unsigned long long)(uintptr_t)raw,
                   (unsigned long long)++raw->tokens);
}

/* Was it acquired, was it deleted? */
static bool is_success(const redisReply *r)
{
    return r->type == REDIS_REPLY_STATUS ||
           (r->type == REDIS_REPLY_INTEGER && r->integer == 1);
}

static bool run(redisContext *c, const struct command *command)
{
    const char *words[6];
    redisReply *r;
    bool is_done;

    memcpy(words, command->word, sizeof words);
    r = checked(c, redisCommandArgv(c, command->n, words, command->length));
    is_done = is_success(r);
    freeReplyObject(r);
    return is_done;
}

/* ---- one after the other ------------------------------------------------- */

bool rawredis_pair(struct rawredis *raw, const char *key)
{
    char token[TOKEN_LENGTH + 1];
    struct command command;
    int granted = 0;
    int i;

    draw(raw, token);
    command = acquire(key, token);
    for (i = 0; i < raw->n; i++) {
        granted += run(raw->c[i], &command);
    }
    command = release(raw, key, token);
    for (i = 0; i < raw->n; i++) {
        (void)run(raw->c[i], &command);
    }
    return 2 * granted > raw->n;
}

/* ---- many in flight ------------------------------------------------------ */

struct bird {
    char key[32];
    char token[TOKEN_LENGTH + 1];
    bool is_flying; /* a reply is to come */
    bool is_held;
};

struct flock {
    struct rawredis *raw;
    struct bird *birds;
    int depth;
    int first;  /* whose reply is next: they come in order */
    int behind; /* replies to come */
    uint64_t pairs;
};

/* Its next command, after all the others'. */
static void launch(struct flock *f, struct bird *bird)
{
    struct command command;
    const char *words[6];

    if (bird->is_held) {
        command = release(f->raw, bird->key, bird->token);
    } else {
        draw(f->raw, bird->token);
        command = acquire(bird->key, bird->token);
    }
    memcpy(words, command.word, sizeof words);
    if (redisAppendCommandArgv(f->raw->c[0], command.n, words,
                               command.length)) {
        bench_fail("raw: %s", f->raw->c[0]->errstr);
    }
    bird->is_flying = true;
    f->behind++;
}

static void land(struct flock *f, redisReply *r, bool is_over)
{
    struct bird *bird;

    while (!f->birds[f->first].is_flying) {
        f->first = (f->first + 1) % f->depth;
    }
    bird = &f->birds[f->first];
    if (!is_success(checked(f->raw->c[0], r))) {
        bench_fail("raw: somebody else has %s", bird->key);
    }
    freeReplyObject(r);
    f->behind--;
    f->first = (f->first + 1) % f->depth;
    bird->is_flying = false;
    f->pairs += bird->is_held;
    bird->is_held = !bird->is_held;
    /* At the end each still gives back what it has. */
    if (!is_over || bird->is_held) {
        launch(f, bird);
    }
}

/* Sends what was added, and takes whatever has come. */
static void exchange(struct flock *f, bool is_over)
{
    redisContext *c = f->raw->c[0];
    void *reply = NULL;
    int is_sent = 0;

    while (!is_sent) {
        if (redisBufferWrite(c, &is_sent)) {
            bench_fail("raw: %s", c->errstr);
        }
    }
    if (redisBufferRead(c)) {
        bench_fail("raw: %s", c->errstr);
    }
    while (!redisGetReplyFromReader(c, &reply) && reply) {
        land(f, reply, is_over);
    }
}

double rawredis_fly(struct rawredis *raw, int depth, double seconds)
{
    struct flock f = {.raw = raw, .depth = depth};
    int64_t begun = bench_now_ns();
    int64_t over = begun + (int64_t)(seconds * 1e9);
    int i;

    f.birds = calloc((size_t)depth, sizeof *f.birds);
    if (!f.birds) {
        bench_fail("out of memory");
    }
    for (i = 0; i < depth; i++) {
        (void)snprintf(f.birds[i].key, sizeof f.birds[i].key, "holdfast:job:%d",
                       i);
        launch(&f, &f.birds[i]);
    }
    while (f.behind > 0) {
        exchange(&f, bench_now_ns() >= over);
    }
    free(f.birds);
    return (double)f.pairs * 1e9 / (double)(bench_now_ns() - begun);
}
