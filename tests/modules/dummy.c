/* SPDX-License-Identifier: MIT */
/*
 * A store to be built as a module: a few names in its own memory, granted one
 * at a time with lease and fence. It is here for how it comes to the library;
 * what it keeps of the contract is what a holder needs. The build gives its
 * scheme as DUMMY, several of which make several modules. A path "refuse" is
 * refused, so that an error of the module's own is seen, too.
 * Thread: the sessions', under the mutex.
 */
#include "src/backend/backend.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/thread.h"

#include <stdio.h>
#include <string.h>

#define TEXT_OF(word) #word
#define TEXT(word)    TEXT_OF(word)

extern const struct hf__backend HF__MODULE_BACKEND;

struct session {
    struct hf__head head;
    char *path; /* from the library's heap */
};

struct entry {
    char key[HF__KEY_MAX + 1];
    struct hf__token token;
    struct hf__owner owner;
    hf__time end;
    uint64_t fence;
};

enum { ENTRIES = 8 };
static struct hf__mutex mutex = HF__MUTEX_INIT;
static struct entry entries[ENTRIES];

/* The entry of the key, else a free one, else NULL. */
static struct entry *find(const struct hf__key *key)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (entries[i].key[0] == '\0') {
            memcpy(entries[i].key, key->bytes, key->length);
            return &entries[i];
        }
        if (strlen(entries[i].key) == key->length &&
            memcmp(entries[i].key, key->bytes, key->length) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

static bool owns(const struct entry *e, const struct hf__op *op)
{
    return hf__token_equal(&e->token, &op->token);
}

static bool runs(const struct entry *e, hf__time now)
{
    return hf__before(now, e->end);
}

static void describe(const struct entry *e, hf__time now, struct hf__record *to)
{
    if (to == NULL) {
        return;
    }
    memset(to, 0, sizeof *to);
    to->slot = -1;
    to->holder_lives = -1;
    to->fence = e->fence;
    to->is_held = runs(e, now);
    if (to->is_held) {
        to->token = e->token;
        to->owner = e->owner;
        to->remaining_us = hf__between_ns(now, e->end) / 1000;
    }
}

static void lease(struct entry *e, const struct hf__op *op, hf__time now)
{
    e->end.ns = now.ns + op->lease_us * 1000;
}

static int lost(const struct entry *e, struct hf__op *op)
{
    op->ret_reason = hf__reason_for(op->fence, e->fence, 0);
    op->fence = e->fence;
    return HF_LOST;
}

static int acquire(struct entry *e, struct hf__op *op, hf__time now)
{
    if (runs(e, now) && !owns(e, op)) {
        return HF_BUSY;
    }
    if (!runs(e, now)) {
        e->fence = hf__fence_after(e->fence, 0);
    }
    e->token = op->token;
    e->owner = *op->owner;
    lease(e, op, now);
    op->fence = e->fence;
    return HF_OK;
}

static int end(struct entry *e, struct hf__op *op)
{
    e->end.ns = 0;
    e->fence = hf__fence_after(e->fence, 0);
    op->fence = e->fence;
    return HF_OK;
}

static int apply(struct entry *e, struct hf__op *op, hf__time now)
{
    bool is_ours = owns(e, op) && runs(e, now);

    describe(e, now, op->ret_record);
    op->slot = -1;
    switch (op->kind) {
    case HF__OP_ACQUIRE:
        return acquire(e, op, now);
    case HF__OP_RENEW:
        if (is_ours) {
            lease(e, op, now);
        }
        return is_ours ? HF_OK : lost(e, op);
    case HF__OP_RELEASE:
        if (!owns(e, op)) {
            return lost(e, op);
        }
        e->end.ns = 0;
        memset(&e->token, 0, sizeof e->token);
        return HF_OK;
    case HF__OP_RAISE:
        if (is_ours && e->fence < op->fence) {
            e->fence = op->fence;
        }
        op->fence = e->fence;
        return is_ours ? HF_OK : lost(e, op);
    case HF__OP_BREAK:
        return runs(e, now) && (op->fence == 0 || op->fence == e->fence)
                   ? end(e, op)
                   : HF_CONFLICT;
    case HF__OP_INSPECT:
        op->fence = e->fence;
        return HF_OK;
    case HF__OP_HANDOVER:
        break;
    }
    return HF_ENOTSUP;
}

static int dummy_execute(void *state, struct hf__op *ops[], int n,
                         hf__time deadline, hf_error *err)
{
    hf__time now = hf__now();

    (void)state;
    (void)deadline;
    (void)err;
    HF_SCOPED_LOCK(&mutex);
    for (int i = 0; i < n; i++) {
        struct entry *e = find(&ops[i]->key);

        ops[i]->result =
            e != NULL ? apply(e, ops[i], now)
                      : hf__fail(ops[i]->err, HF_EUNAVAIL, "no room left");
    }
    return HF_OK;
}

static int dummy_open(void *state, const struct hf__url *url, const char *allow,
                      hf__time deadline, hf_error *err)
{
    struct session *s = state;

    (void)allow;
    (void)deadline;
    if (strcmp(url->path, "refuse") == 0) {
        return hf__fail(err, HF_EAUTH, "%s refuses", TEXT(DUMMY));
    }
    s->path = hf__alloc(strlen(url->path) + 1);
    if (s->path == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a path");
    }
    memcpy(s->path, url->path, strlen(url->path));
    s->head.server_info =
        (struct hf__server_info){.grade = 'D', .reach = HF_REACH_PROCESS};
    return HF_OK;
}

static void dummy_close(void *state)
{
    struct session *s = state;

    hf__free(s->path);
}

static int dummy_check(void *state, hf__check_fn fn, void *arg,
                       hf__time deadline, hf_error *err)
{
    const struct session *s = state;
    const hf_check_item item = {
        .size = sizeof item,
        .name = "path",
        .value = s->path,
        .verdict = HF_FINE,
    };

    (void)deadline;
    (void)err;
    (void)fn(arg, &item);
    return HF_OK;
}

static void dummy_interrupt(void *state)
{
    (void)state;
}

static const char *const options[] = {NULL};

const struct hf__backend HF__MODULE_BACKEND = {
    .scheme = TEXT(DUMMY),
    .caps = HF_CAP_FENCE,
    .size = sizeof(struct session),
    .options = options,
    .has_no_sigpipe = true,
    .open = dummy_open,
    .close = dummy_close,
    .execute = dummy_execute,
    .check = dummy_check,
    .interrupt = dummy_interrupt,
};
