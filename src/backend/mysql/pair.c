/* SPDX-License-Identifier: MIT */
/*
 * The store's calls where the server is one of several: keys get the server's
 * tag, leases have a limit, and nothing new is granted while grants of other
 * servers may still run. With a single server the calls are passed on
 * unchanged. Called by the session's thread.
 */
#include "src/backend/mysql/pair.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* `to` has room for HF__MYSQL_KEY_MAX bytes. */
static struct hf__key tagged(const struct hf__pair *p,
                             const struct hf__key *key, char *to)
{
    hf__pair_write_tag(p->server_id, to);
    memcpy(to + HF__TAG_SIZE, key->bytes, key->length);
    return (struct hf__key){to, (uint16_t)(key->length + HF__TAG_SIZE),
                            (uint16_t)(key->name_at + HF__TAG_SIZE)};
}

/* Room for a call's keys with tags, and the plain keys that they replace. */
struct keys {
    struct hf__key plain;
    char bytes[HF__MYSQL_KEY_MAX];
};

static void keys_free(struct keys **keys)
{
    hf__free(*keys);
}

static struct keys *keys_new(int n)
{
    return hf__alloc((size_t)n * sizeof(struct keys));
}

static void put_tag(const struct hf__pair *p, struct hf__key *key,
                    struct keys *room)
{
    room->plain = *key;
    *key = tagged(p, key, room->bytes);
}

static int out_of_memory(hf_error *err)
{
    return hf__fail(err, HF_ENOMEM, "out of memory");
}

/* ---- operations */

static bool is_long(const struct hf__pair *p, const struct hf__op *op)
{
    return (op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_RENEW ||
            op->kind == HF__OP_HANDOVER) &&
           op->lease_us > p->longest_ms * 1000;
}

/* This server may not know all that the former primary granted, and those
 * grants may still run. */
static int busy_until_over(const struct hf__pair *p, struct hf__op *op)
{
    if (op->ret_record != NULL) {
        *op->ret_record = (struct hf__record){
            .is_kept = true,
            .slot = -1,
            .holder_lives = -1,
            .remaining_us = hf__between_ns(hf__now(), p->grants_at) / 1000};
    }
    op->fence = 0;
    return HF_BUSY;
}

/* Set the result of an operation that needs no server. */
static bool is_decided(const struct hf__pair *p, struct hf__op *op)
{
    if (is_long(p, op)) {
        op->result = hf__fail(
            op->err, HF_EINVAL,
            "a lease of %" PRId64 " ms is longer than longest_lease, %" PRId64
            " ms, the time that a new primary waits: set longest_lease=… in "
            "the url, the same for all clients",
            op->lease_us / 1000, p->longest_ms);
    } else if (op->kind == HF__OP_ACQUIRE &&
               hf__before(hf__now(), p->grants_at)) {
        op->result = busy_until_over(p, op);
    } else {
        return false;
    }
    return true;
}

/* Copy the operations that the server must decide to sent[], in their order.
 * Returns how many. */
static int sort_out(const struct hf__pair *p, struct hf__op *const ops[], int n,
                    struct hf__op *sent[])
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        if (!is_decided(p, ops[i])) {
            sent[count++] = ops[i];
        }
    }
    return count;
}

static void ops_free(struct hf__op ***ops)
{
    hf__free(*ops);
}

int hf__pair_execute(void *state, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;
    HF_AUTO(keys_free) struct keys *keys = NULL;
    HF_AUTO(ops_free) struct hf__op **sent = NULL;
    int count;
    int r;

    if (!s->pair.is_on) {
        return hf__mysql_execute(state, ops, n, deadline, err);
    }
    keys = keys_new(n);
    sent = hf__alloc((size_t)n * sizeof(struct hf__op *));
    if (keys == NULL || sent == NULL) {
        return out_of_memory(err);
    }
    count = sort_out(&s->pair, ops, n, sent);
    for (int i = 0; i < count; i++) {
        put_tag(&s->pair, &sent[i]->key, &keys[i]);
    }
    r = hf__mysql_execute(state, sent, count, deadline, err);
    for (int i = 0; i < count; i++) {
        sent[i]->key = keys[i].plain;
    }
    return r;
}

/* ---- waiting */

static int show(struct hf__mysql *s)
{
    hf__text_clear(&s->sql);
    (void)hf__pair_guard(s);
    return hf__mysql_run(s);
}

/* Nothing is granted before grants_at, so sleep until then and let all waiters
 * try again. Meanwhile keep showing that the server is in use. */
static int wait_until_over(struct hf__mysql *s, struct hf__watch *w[], int n)
{
    hf__time until = hf__earlier(s->t.deadline, s->pair.grants_at);
    bool is_over = false;
    int r = HF_OK;

    while (r == HF_OK && hf__before(hf__now(), until) &&
           !hf__is_interrupted(&s->t.head)) {
        hf__time next =
            hf__after_ms(hf__now(), SHOWN_PARTS(s->pair.longest_ms));

        r = show(s);
        if (r == HF_OK) {
            hf__table_rest(&s->t, hf__earlier(until, next));
        }
    }
    is_over = !hf__before(hf__now(), s->pair.grants_at);
    for (int i = 0; i < n; i++) {
        w[i]->has_fired = is_over;
    }
    return r;
}

int hf__pair_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                  hf_error *err)
{
    struct hf__mysql *s = state;
    HF_AUTO(keys_free) struct keys *keys = NULL;
    int r;

    if (!s->pair.is_on || n == 0) {
        return hf__mysql_wait(state, w, n, deadline, err);
    }
    if (hf__before(hf__now(), s->pair.grants_at)) {
        hf__table_begin(&s->t, deadline, err);
        return wait_until_over(s, w, n);
    }
    keys = keys_new(n);
    if (keys == NULL) {
        return out_of_memory(err);
    }
    for (int i = 0; i < n; i++) {
        put_tag(&s->pair, &w[i]->key, &keys[i]);
    }
    r = hf__mysql_wait(state, w, n, deadline, err);
    for (int i = 0; i < n; i++) {
        w[i]->key = keys[i].plain;
    }
    return r;
}
