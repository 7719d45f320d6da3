/* SPDX-License-Identifier: MIT */
/*
 * list(): every grant of names with a prefix, in the order of keys. The folders
 * are listed first, then each name is inspected, many at once; so what is told
 * of one name is of one moment, and names are of several. Those that we may not
 * read are left out, for they are other users'; unless they are all. Only
 * reads. Called by the session's thread.
 */
#include "src/backend/crowd.h"
#include "src/backend/zookeeper/names.h"
#include "src/backend/zookeeper/steps.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <stdlib.h>
#include <string.h>

/* So many names are inspected at once. */
#define TOGETHER 64

struct inspection {
    struct hf__op op;
    struct hf__crowd crowd;
    hf_error err;
};

struct listing {
    struct hf__zk *s;
    const struct hf__key *prefix;
    hf__list_fn fn;
    void *arg;
    bool is_over;     /* it was enough */
    bool has_read;    /* any name */
    bool was_refused; /* any name, … */
    hf_error refusal; /* … and the first of them */
};

static void end_inspections(struct inspection **list)
{
    for (int i = 0; *list != NULL && i < TOGETHER; i++) {
        hf__free((*list)[i].crowd.list);
    }
    hf__free(*list);
}

static void tell(struct listing *l, const struct inspection *one)
{
    const char *name = one->op.key.bytes + l->prefix->name_at;
    size_t length = (size_t)(one->op.key.length - l->prefix->name_at);

    for (int i = 0; i < one->crowd.n && !l->is_over; i++) {
        const struct hf__party *party = &one->crowd.list[i];

        l->is_over = !party->is_waiting &&
                     l->fn(l->arg, name, length, &party->record) != 0;
    }
}

/* One name. HF_OK, or what it ends the list with. */
static int take(struct listing *l, const struct inspection *one, hf_error *err)
{
    if (one->op.result == HF_OK) {
        l->has_read = true;
        tell(l, one);
    } else if (one->op.result != HF_EAUTH) {
        hf__error_copy(err, &one->err);
        return one->op.result;
    } else if (!l->was_refused) {
        l->was_refused = true;
        hf__error_copy(&l->refusal, &one->err);
    }
    return HF_OK;
}

/* The names from `at` on; how many were told. Negative: the session is over,
 * or one could not be read. */
static int inspect_some(struct listing *l, const struct hf__zk_keys *keys,
                        size_t at, hf__time deadline, hf_error *err)
{
    HF_AUTO(end_inspections)
    struct inspection *list = hf__alloc(TOGETHER * sizeof *list);
    struct hf__op *ops[TOGETHER];
    int n = 0;
    int r;

    if (list == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a list");
    }
    for (; n < TOGETHER && at + (size_t)n < keys->n; n++) {
        list[n].err = (hf_error)HF_ERROR_INIT;
        list[n].op = (struct hf__op){.kind = HF__OP_INSPECT,
                                     .result = HF_EUNAVAIL,
                                     .key = keys->list[at + (size_t)n],
                                     .slot = -1,
                                     .ret_crowd = &list[n].crowd,
                                     .err = &list[n].err};
        ops[n] = &list[n].op;
    }
    r = hf__zk_run(l->s, hf__zk_inspect, ops, n, deadline, err);
    if (r < 0) {
        hf__zk_leave_session(l->s);
    }
    for (int i = 0; r == HF_OK && i < n && !l->is_over; i++) {
        r = take(l, &list[i], err);
    }
    return r == HF_OK ? n : r;
}

int hf__zk_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                void *arg, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_keys_fini) struct hf__zk_keys keys = {0};
    struct listing l = {.s = state,
                        .prefix = prefix,
                        .fn = fn,
                        .arg = arg,
                        .refusal = HF_ERROR_INIT};
    int r = hf__zk_keys_read(l.s, prefix, &keys, deadline, err);
    size_t at = 0;

    while (r >= 0 && !l.is_over && at < keys.n) {
        r = inspect_some(&l, &keys, at, deadline, err);
        at += r > 0 ? (size_t)r : 0;
    }
    if (r >= 0 && l.was_refused && !l.has_read) {
        hf__error_copy(err, &l.refusal);
        return HF_EAUTH;
    }
    return r < 0 ? r : (int)HF_OK;
}
