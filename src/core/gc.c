/* SPDX-License-Identifier: MIT */
/*
 * hf_gc(): cleaning up, a slice at a time, so that no other request of the
 * session waits long behind it. What is idle is the store's to judge. Called
 * by users' threads.
 */
#include "src/core/gc.h"

#include "src/base/error.h"
#include "src/core/look.h"
#include "src/core/once.h"
#include "src/core/options.h"

static int run_gc(struct hf__conn *conn, struct hf__request *q,
                  hf__time deadline)
{
    struct hf__look *k = HF__ELEMENT(q, struct hf__look, request);

    q->op.result = hf__conn_gc(conn, &k->key, &k->gc, deadline, &k->err);
    return q->op.result == HF_ENOTSUP ? (int)HF_OK : q->op.result;
}

void hf__gc_add(hf_client *client, hf_gc_info *info, const struct hf__gc *slice,
                bool is_marks)
{
    info->removed += slice->count;
    info->expired += is_marks ? 0 : slice->expired;
    info->marks += is_marks ? slice->count : 0;
    hf__count(&client->counters.collected, slice->count);
}

void hf__gc_tell(hf_client *client, hf_level level, const hf_gc_info *info,
                 int result)
{
    hf__log(&client->settings.log, level,
            "event=gc removed=%llu expired=%llu marks=%llu result=%s",
            (unsigned long long)info->removed,
            (unsigned long long)info->expired, (unsigned long long)info->marks,
            hf_strstatus(result));
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
        *g = k->gc;
    }
    return r;
}

static int clean(hf_client *client, bool is_marks, int64_t idle_ms,
                 hf_gc_info *info, hf_error *err)
{
    struct hf__gc g = {.idle_us = idle_ms * 1000};
    int r;

    do {
        g.count = 0;
        g.expired = 0;
        r = clean_some(client, is_marks, &g, err);
        hf__gc_add(client, info, &g, is_marks);
    } while (r == HF_OK && g.length > 0);
    return r;
}

static int check(hf_client *client, int64_t idle_ms, const hf_gc_info *info,
                 hf_error *err)
{
    int r = hf__client_usable(client, err);

    if (r == HF_OK && (idle_ms < 0 || idle_ms > HF_KEEP_MAX_MS)) {
        r = hf__fail(err, HF_EINVAL, "idle_ms is %lld: 0 to %lld (a century)",
                     (long long)idle_ms, (long long)HF_KEEP_MAX_MS);
    }
    if (r == HF_OK && info != NULL && !hf__result_fits(info, sizeof *info)) {
        r = hf__fail(err, HF_EINVAL, "ret_info->size: use HF_GC_INFO_INIT");
    }
    return r;
}

int hf_gc(hf_client *client, int64_t idle_ms, hf_gc_info *ret_info,
          hf_error *err)
{
    hf_gc_info info = HF_GC_INFO_INIT;
    int r = check(client, idle_ms, ret_info, err);

    if (r != HF_OK) {
        return r;
    }
    r = clean(client, false, idle_ms, &info, err);
    r = r == HF_OK ? clean(client, true, idle_ms, &info, err) : r;
    if (ret_info != NULL) {
        hf__result_give(ret_info, &info);
    }
    hf__gc_tell(client, HF_LOG_INFO, &info, r);
    return r;
}
