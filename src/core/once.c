/* SPDX-License-Identifier: MIT */
/*
 * Marks of starts, made of operations that every store has: a detached acquire
 * with the shortest lease and a long min_hold_ms sets one, and a release that
 * reopens the name removes it. Both are idempotent by token, so a request whose
 * answer was lost is repeated. Runs in steps, on users' threads or the
 * executor's.
 */
#include "src/core/once.h"

#include "src/base/alloc.h"
#include "src/base/duration.h"
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/options.h"
#include "src/core/query.h"

#include <stdio.h>
#include <string.h>

/* The room that the prefix, the name's length and two separators leave in a
 * key. */
#define NAME_AND_KEY_MAX 250
/* Pause between two tries at a store that gives no answer. */
#define RETRY_MS 20

/* ---- keys */

void hf__once_space(struct hf__key *key, char *bytes)
{
    bytes[key->name_at - 1] = ';';
    key->length = key->name_at;
}

/* The key is prefix ; length : name : key, so that no two pairs of name and key
 * share one. */
static void write_key(struct hf_client *client, struct hf__once *once,
                      const char *name, const char *key)
{
    char rest[NAME_AND_KEY_MAX + 8];
    int length =
        snprintf(rest, sizeof rest, "%zu:%s:%s", strlen(name), name, key);

    hf__client_key(client, "", once->key_bytes, &once->key);
    hf__once_space(&once->key, once->key_bytes);
    memcpy(once->key_bytes + once->key.length, rest, (size_t)length);
    once->key.length = (uint16_t)(once->key.length + length);
}

int hf__once_new(struct hf_client *client, const char *name,
                 const hf_acquire_opts *opts, struct hf__once **ret_once,
                 hf_error *err)
{
    const char *key = opts->once_key == NULL ? "" : opts->once_key;
    struct hf__once *once = NULL;

    if (strlen(name) + strnlen(key, HF_NAME_MAX) > NAME_AND_KEY_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "once: the name and the key have more than %d bytes "
                        "together",
                        NAME_AND_KEY_MAX);
    }
    once = hf__alloc(sizeof *once);
    if (once == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    once->keep_ms =
        opts->once_ms == HF_FOREVER ? HF_KEEP_MAX_MS : opts->once_ms;
    hf__random(once->token.bytes, sizeof once->token.bytes);
    (void)snprintf(once->name, sizeof once->name, "%s", name);
    write_key(client, once, name, key);
    hf__owner_set(client, opts->owner, opts->note, &once->owner);
    *ret_once = once;
    return HF_OK;
}

/* ---- asking the store */

static int started(const struct hf__once *once, const struct hf__record *mark,
                   hf_error *err)
{
    /* A mark that is still held was just set, and remaining_us is that of its
     * lease. */
    int64_t left_ms = mark->is_kept ? mark->remaining_us / 1000 : once->keep_ms;
    char left[32];

    if (once->keep_ms == HF_KEEP_MAX_MS) {
        return hf__fail(err, HF_CONFLICT,
                        "\"%s\" has been started; once is enough", once->name);
    }
    return hf__fail(
        err, HF_CONFLICT, "\"%s\" has been started; it may start again in %s",
        once->name, hf__duration_format(left_ms, left, sizeof left));
}

static enum hf__op_kind kind_of(enum hf__once_do what)
{
    switch (what) {
    case HF__ONCE_PEEK:
        return HF__OP_INSPECT;
    case HF__ONCE_MARK:
        return HF__OP_ACQUIRE;
    case HF__ONCE_UNDO:
        return HF__OP_RELEASE;
    }
    HF_ASSERT(false && "nothing that one does with a mark");
    return HF__OP_INSPECT;
}

static void fill(const struct hf__once_ask *a, struct hf__query *k)
{
    const struct hf__once *once = a->once;
    struct hf__op *op = &k->request.op;

    memcpy(k->key_bytes, once->key_bytes, once->key.length);
    k->key.length = once->key.length;
    op->key = k->key;
    op->kind = kind_of(a->what);
    op->token = once->token;
    op->reopens = a->what == HF__ONCE_UNDO;
    if (a->what == HF__ONCE_MARK) {
        k->owner = once->owner;
        op->owner = &k->owner;
        /* The lease is as short as possible, for only keep_us matters. */
        op->lease_us = (once->keep_ms < HF_LEASE_MIN_MS ? once->keep_ms
                                                        : HF_LEASE_MIN_MS) *
                       1000;
        op->keep_us = once->keep_ms * 1000;
        op->is_detached = (a->client->settings.caps & HF_CAP_DETACH) != 0;
    }
}

/* Begin one try. HF_OK or HF_ENOMEM. */
static int begin(struct hf__once_ask *a, hf_error *err)
{
    int r = hf__query_new(a->client, "", &a->query, err);

    if (a->limit.ns == 0) {
        a->limit = hf__client_limit(a->client);
        a->limit = a->by.ns == 0 ? a->limit : hf__earlier(a->limit, a->by);
    }
    if (r == HF_OK) {
        fill(a, a->query);
        hf__query_begin(a->client, a->query, a->parker, a->limit);
    }
    return r;
}

/* Turn the result of a try into the result for the caller. */
static int read_answer(const struct hf__once_ask *a, int r, hf_error *err)
{
    const struct hf__record *mark = &a->query->record;

    if (a->what == HF__ONCE_PEEK && r == HF_OK &&
        (mark->is_held || mark->is_kept)) {
        return started(a->once, mark, err);
    }
    if (a->what == HF__ONCE_MARK && r == HF_BUSY) {
        return started(a->once, mark, err);
    }
    return a->what == HF__ONCE_UNDO && r == HF_LOST ? (int)HF_OK : r;
}

/* Returns whether to try again: until the store answers or io_timeout is
 * over. */
static bool tries_again(struct hf__once_ask *a, int r)
{
    hf__time now = hf__now();

    a->is_unknown = a->is_unknown || r == HF_EUNKNOWN ||
                    (r == HF_EPROTO && a->what == HF__ONCE_MARK);
    a->result = a->is_unknown && r < 0 ? (int)HF_EUNKNOWN : r;
    if (a->what == HF__ONCE_PEEK || (r != HF_EUNAVAIL && r != HF_EUNKNOWN) ||
        !hf__before(now, a->limit)) {
        return false;
    }
    a->pause_until = hf__earlier(a->limit, hf__after_ms(now, RETRY_MS));
    return true;
}

/* A mark that may have been set is taken back. If that fails too, the start
 * counts: better not started than started twice. */
static bool goes_on(struct hf__once_ask *a)
{
    if (a->is_undoing) {
        a->result = HF_EUNKNOWN;
    } else if (a->what == HF__ONCE_MARK && a->result == HF_EUNKNOWN) {
        a->what = HF__ONCE_UNDO;
        a->is_undoing = true;
        a->is_unknown = false;
        a->limit = (hf__time){0};
        return true;
    }
    a->limit = (hf__time){0};
    a->is_unknown = false;
    a->is_undoing = false;
    return false;
}

bool hf__once_step(void *arg, hf__time *ret_until)
{
    struct hf__once_ask *a = arg;

    for (;;) {
        hf_error *err = a->is_undoing ? NULL : a->err;
        int r = HF_OK;

        if (hf__before(hf__now(), a->pause_until)) {
            *ret_until = a->pause_until;
            return false;
        }
        if (a->query == NULL) {
            r = begin(a, err);
        }
        if (r == HF_OK) {
            if (!hf__query_step(a->client, a->query, a->limit, &r, err)) {
                *ret_until = a->limit;
                return false;
            }
            r = read_answer(a, r, err);
            hf__query_unref(HF_MOVE(a->query));
        }
        if (!tries_again(a, r) && !goes_on(a)) {
            return true;
        }
    }
}

void hf__once_hurry(struct hf__once_ask *a, hf__time by)
{
    a->by = by;
    a->limit = hf__earlier(a->limit, by); /* stays 0 if it is not set yet */
}

/* ---- waiting for the result */

int hf__once_answer(struct hf__once_ask a)
{
    struct hf__parker parker = {0};

    a.parker = &parker;
    hf__run_steps(&parker, hf__once_step, &a);
    if (a.result != HF_OK && a.err != NULL) {
        a.err->status = a.result; /* the result of all tries, not of the last */
    }
    return a.result;
}
