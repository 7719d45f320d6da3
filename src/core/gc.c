/* SPDX-License-Identifier: MIT */
/*
 * hf_gc(): cleaning up, a slice at a time, so that no other request of the
 * session waits long behind it. What is idle is the store's to judge. Called
 * by users' threads.
 */
#include "src/base/error.h"
#include "src/core/look.h"
#include "src/core/once.h"

static int run_gc(struct hf__conn *conn, struct hf__request *q,
                  hf__time deadline)
{
    struct hf__look *k = HF__ELEMENT(q, struct hf__look, request);

    q->op.result = hf__conn_gc(conn, &k->key, &k->gc, deadline, &k->err);
    return q->op.result == HF_ENOTSUP ? (int)HF_OK : q->op.result;
}

/* One slice; *g goes on from where it was. */
static int clean_some(hf_client *client, bool is_marks, struct hf__gc *g,
                      hf_error *err)
{
    HF_AUTO(hf__look_unref_auto) struct hf__look *k = NULL;
    int r = hf__look_new(client, "", &k, err);

    if (r != HF_OK) {
        return r;
    }
    if (is_marks) {
        hf__once_space(&k->key, k->key_bytes);
    }
    k->gc = *g;
    k->request.call = run_gc;
    r = hf__look_run(client, k, hf__client_limit(client), err);
    if (r == HF_OK) {
        hf__count(&client->counters.collected, k->gc.count - g->count);
        *g = k->gc;
    }
    return r;
}

static int clean(hf_client *client, bool is_marks, struct hf__gc *g,
                 hf_error *err)
{
    int r = HF_OK;

    do {
        r = clean_some(client, is_marks, g, err);
    } while (r == HF_OK && g->length > 0);
    return r;
}

int hf_gc(hf_client *client, int64_t idle_ms, uint64_t *ret_count,
          hf_error *err)
{
    struct hf__gc g = {0};
    int r = hf__client_usable(client, err);

    if (r == HF_OK && (idle_ms < 0 || idle_ms > HF_KEEP_MAX_MS)) {
        r = hf__fail(err, HF_EINVAL, "idle_ms is %lld: 0 to %lld (a century)",
                     (long long)idle_ms, (long long)HF_KEEP_MAX_MS);
    }
    if (r != HF_OK) {
        return r;
    }
    g.idle_us = idle_ms * 1000;
    r = clean(client, false, &g, err);
    r = r == HF_OK ? clean(client, true, &g, err) : r;
    if (ret_count != NULL) {
        *ret_count = g.count;
    }
    hf__log(&client->settings.log, HF_LOG_INFO,
            "event=gc removed=%llu result=%s", (unsigned long long)g.count,
            hf_strstatus(r));
    return r;
}
