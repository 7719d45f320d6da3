/* SPDX-License-Identifier: MIT */
/*
 * hf_gc(): cleaning up, a slice at a time, so that no other request of the
 * session waits long behind it. What is idle is the store's to judge. Called
 * by users' threads.
 */
#include "src/core/gc.h"

#include "src/base/error.h"
#include "src/core/cell.h"
#include "src/core/once.h"
#include "src/core/options.h"

static int run_gc(struct hf__conn *conn, struct hf__request *q,
                  hf__time deadline)
{
    struct hf__look *k = HF__ELEMENT(q, struct hf__look, request);

    q->op.result = hf__conn_gc(conn, &k->key, &k->gc, deadline, &k->err);
    return q->op.result == HF_ENOTSUP ? (int)HF_OK : q->op.result;
}

/* A tombstone is what tells a try that is still on its way, though nobody waits
 * for it any more, that it comes too late. */
#define CELL_IDLE_MIN_MS 3600000

bool hf__gc_begin(const hf_client *client, enum hf__gc_space space,
                  int64_t idle_ms, struct hf__gc *g, struct hf__key *key,
                  char *bytes)
{
    g->idle_us = idle_ms * 1000;
    g->of_cells = space == HF__GC_CELLS;
    if (space == HF__GC_MARKS) {
        hf__once_space(key, bytes);
    } else if (space == HF__GC_CELLS) {
        hf__cell_space(key, bytes);
        g->idle_us =
            (idle_ms > CELL_IDLE_MIN_MS ? idle_ms : CELL_IDLE_MIN_MS) * 1000;
        return (client->settings.caps & HF_CAP_CELLS) != 0;
    }
    return true;
}

void hf__gc_add(hf_client *client, hf_gc_info *info, const struct hf__gc *slice,
                enum hf__gc_space space)
{
    info->removed += slice->count;
    info->expired += space == HF__GC_NAMES ? slice->expired : 0;
    info->marks += space == HF__GC_MARKS ? slice->count : 0;
    info->cells += space == HF__GC_CELLS ? slice->count : 0;
    hf__count(&client->counters.collected, slice->count);
}

void hf__gc_tell(hf_client *client, hf_level level, const hf_gc_info *info,
                 int result)
{
    hf__log(&client->settings.log, level,
            "event=gc removed=%llu expired=%llu marks=%llu cells=%llu "
            "result=%s",
            (unsigned long long)info->removed,
            (unsigned long long)info->expired, (unsigned long long)info->marks,
            (unsigned long long)info->cells, hf_strstatus(result));
}

/* One slice; *g goes on from where it was. */
static int clean_some(hf_client *client, enum hf__gc_space space,
                      int64_t idle_ms, struct hf__gc *g, hf_error *err)
{
    HF_AUTO(hf__look_unref_auto) struct hf__look *k = NULL;
    int r = hf__look_new(client, "", &k, err);

    if (r != HF_OK) {
        return r;
    }
    k->gc = *g;
    if (!hf__gc_begin(client, space, idle_ms, &k->gc, &k->key, k->key_bytes)) {
        return HF_OK;
    }
    k->request.call = run_gc;
    r = hf__look_run(client, k, hf__client_limit(client), err);
    if (r == HF_OK) {
        *g = k->gc;
    }
    return r;
}

static int clean(hf_client *client, enum hf__gc_space space, int64_t idle_ms,
                 hf_gc_info *info, hf_error *err)
{
    struct hf__gc g = {0};
    int r;

    do {
        g.count = 0;
        g.expired = 0;
        r = clean_some(client, space, idle_ms, &g, err);
        hf__gc_add(client, info, &g, space);
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
    for (int space = 0; r == HF_OK && space < HF__GC_SPACES; space++) {
        r = clean(client, (enum hf__gc_space)space, idle_ms, &info, err);
    }
    if (ret_info != NULL) {
        hf__result_give(ret_info, &info);
    }
    hf__gc_tell(client, HF_LOG_INFO, &info, r);
    return r;
}
