/* SPDX-License-Identifier: MIT */
/*
 * Reading the names: one listing of the prefix's folder. A folder that is not
 * named as we would name it is nothing of ours. Called by the session's thread.
 */
#include "src/backend/zookeeper/names.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <stdlib.h>
#include <string.h>

void hf__zk_keys_fini(struct hf__zk_keys *keys)
{
    hf__free(keys->list);
    hf__free(keys->bytes);
    *keys = (struct hf__zk_keys){0};
}

static int by_key(const void *a, const void *b)
{
    return hf__key_compare(a, b);
}

/* The key, written to `to`; false: it has not that prefix, or is not ours. */
static bool read_key(const struct hf__key *prefix, const char *folder, char *to,
                     struct hf__key *ret_key)
{
    char name[HF_NAME_MAX];
    size_t n = hf__zk_name_read(folder, name);
    size_t length = prefix->name_at + n;

    if (n == 0 || length < prefix->length) {
        return false;
    }
    memcpy(to, prefix->bytes, prefix->name_at);
    memcpy(to + prefix->name_at, name, n);
    *ret_key = (struct hf__key){to, (uint16_t)length, prefix->name_at};
    return memcmp(to, prefix->bytes, prefix->length) == 0;
}

static int take(struct hf__zk_keys *keys, const struct hf__key *prefix,
                const struct hf__zk_names *names)
{
    size_t n = names->n > 0 ? (size_t)names->n : 1;

    keys->list = hf__alloc(n * sizeof *keys->list);
    keys->bytes = hf__alloc(n * HF__KEY_MAX);
    if (keys->list == NULL || keys->bytes == NULL) {
        return HF_ENOMEM;
    }
    for (int i = 0; i < names->n; i++) {
        keys->n +=
            read_key(prefix, names->list[i],
                     keys->bytes + keys->n * HF__KEY_MAX, &keys->list[keys->n]);
    }
    qsort(keys->list, keys->n, sizeof *keys->list, by_key);
    return HF_OK;
}

/* The session's own end, or what ended the wait for it. */
static int tell_late(hf_error *err, int r)
{
    return r == HF_BUSY
               ? hf__fail(err, HF_EUNAVAIL, "the server did not answer in time")
               : r;
}

int hf__zk_keys_read(struct hf__zk *s, const struct hf__key *prefix,
                     struct hf__zk_keys *keys, hf__time deadline, hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto) struct hf__zk_calls *calls = NULL;
    char path[HF__ZK_FOLDER_MAX];
    const struct hf__zk_answer *a;
    int r = hf__zk_ready(&s->front, deadline, err);

    if (r != HF_OK) {
        return tell_late(err, r);
    }
    calls = hf__zk_calls_new(&s->front, 2);
    if (calls == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a request");
    }
    (void)hf__zk_prefix_path(s->place.chroot, prefix, path);
    hf__zk_sync(calls, 1, path); /* else the server may be behind the others */
    hf__zk_children(calls, 0, path, NULL);
    r = hf__zk_await(calls, deadline, err);
    if (r != HF_OK) {
        return tell_late(err, r);
    }
    a = hf__zk_answer(calls, hf__zk_answer(calls, 1)->rc == ZOK ? 0 : 1);
    if (a->rc == ZNONODE) {
        return HF_OK;
    }
    if (a->rc != ZOK) {
        return hf__zk_fail(&s->front, a, path, false, err);
    }
    r = take(keys, prefix, &a->names);
    return r == HF_OK ? r : hf__fail(err, r, "out of memory for the names");
}
