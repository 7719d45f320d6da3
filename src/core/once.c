/* SPDX-License-Identifier: MIT */
/*
 * Marks of starts, over the operations that every store has: a detached
 * acquire with the shortest lease and a long keeping sets one, a release that
 * reopens takes it back. Both are idempotent by token, so that a lost answer
 * is asked for again. Called by users' threads.
 */
#include "src/core/once.h"

#include "src/base/alloc.h"
#include "src/base/duration.h"
#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/look.h"

#include <stdio.h>
#include <string.h>

/* What the prefix, the length of the name and two signs leave of a key. */
#define NAME_AND_KEY_MAX 250
/* Between two tries at a store that gives no answer. */
#define RETRY_MS 20

/* ---- keys */

void hf__once_space(struct hf__key *key, char *bytes)
{
    bytes[key->name_at - 1] = ';';
    key->length = key->name_at;
}

/* prefix ; length : name : key, so that no two pairs give one. */
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
    *ret_once = once;
    return HF_OK;
}

/* ---- asking */

static int look_new(struct hf_client *client, const struct hf__once *once,
                    enum hf__op_kind kind, struct hf__look **ret_look,
                    hf_error *err)
{
    struct hf__op *op = NULL;
    int r = hf__look_new(client, "", ret_look, err);

    if (r != HF_OK) {
        return r;
    }
    memcpy((*ret_look)->key_bytes, once->key_bytes, once->key.length);
    (*ret_look)->key.length = once->key.length;
    op = &(*ret_look)->request.op;
    op->key = (*ret_look)->key;
    op->kind = kind;
    op->token = once->token;
    return HF_OK;
}

static int started(const struct hf__once *once, const struct hf__record *mark,
                   hf_error *err)
{
    /* Held: it has just begun, and what is left is that of its lease. */
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

int hf__once_peek(struct hf_client *client, const struct hf__once *once,
                  hf_error *err)
{
    HF_AUTO(hf__look_unref_auto) struct hf__look *k = NULL;
    int r = look_new(client, once, HF__OP_INSPECT, &k, err);

    r = r == HF_OK ? hf__look_run(client, k, hf__client_limit(client), err) : r;
    return r == HF_OK && (k->record.is_held || k->record.is_kept)
               ? started(once, &k->record, err)
               : r;
}

static int ask(struct hf_client *client, const struct hf__once *once,
               enum hf__op_kind kind, const hf_acquire_opts *opts,
               hf__time limit, hf_error *err)
{
    HF_AUTO(hf__look_unref_auto) struct hf__look *k = NULL;
    int r = look_new(client, once, kind, &k, err);

    if (r != HF_OK) {
        return r;
    }
    if (kind == HF__OP_ACQUIRE) {
        hf__client_owner(client, opts->owner, opts->note, &k->owner);
        k->request.op.owner = &k->owner;
        /* As short as can be: the keeping is what counts. */
        k->request.op.lease_us =
            (once->keep_ms < HF_LEASE_MIN_MS ? once->keep_ms
                                             : HF_LEASE_MIN_MS) *
            1000;
        k->request.op.keep_us = once->keep_ms * 1000;
        k->request.op.is_detached =
            (client->settings.backend->caps & HF_CAP_DETACH) != 0;
    }
    k->request.op.reopens = kind == HF__OP_RELEASE;
    r = hf__look_run(client, k, limit, err);
    return r == HF_BUSY ? started(once, &k->record, err) : r;
}

/* Until the store answers, or io_timeout is over. */
static int insist(struct hf_client *client, const struct hf__once *once,
                  enum hf__op_kind kind, const hf_acquire_opts *opts,
                  hf_error *err)
{
    hf__time limit = hf__client_limit(client);
    bool is_unknown = false;

    for (;;) {
        int r = ask(client, once, kind, opts, limit, err);

        is_unknown = is_unknown || r == HF_EUNKNOWN;
        if (r != HF_EUNAVAIL && r != HF_EUNKNOWN) {
            return r;
        }
        if (!hf__before(hf__now(), limit)) {
            return is_unknown ? (int)HF_EUNKNOWN : r;
        }
        hf__sleep_until(hf__earlier(limit, hf__after_ms(hf__now(), RETRY_MS)));
    }
}

int hf__once_undo(struct hf_client *client, const struct hf__once *once,
                  hf_error *err)
{
    int r = insist(client, once, HF__OP_RELEASE, NULL, err);

    return r == HF_LOST ? (int)HF_OK : r;
}

int hf__once_mark(struct hf_client *client, const struct hf__once *once,
                  const hf_acquire_opts *opts, hf_error *err)
{
    int r = insist(client, once, HF__OP_ACQUIRE, opts, err);

    if (r == HF_EUNKNOWN) {
        int undone = hf__once_undo(client, once, NULL);

        (void)undone; /* else it counts: better not started than twice */
    }
    return r;
}
