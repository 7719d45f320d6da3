/* SPDX-License-Identifier: MIT */
/*
 * Garbage collection, a slice at a time, so that no other request of the
 * session waits long: hf_gc(), and gc=PERIOD in the URL. Each client starts the
 * latter at a random moment, so that a hundred clients started together do not
 * collect together. The store decides what is idle. hf_gc() is called by users'
 * threads; the rest runs on the timer thread and on the thread that executed
 * the request.
 */

#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/cell.h"
#include "src/core/once.h"
#include "src/core/options.h"
#include "src/core/sweeper.h"

#define PERIOD_MIN_MS   1000
#define PERIOD_MAX_MS   (INT64_C(30) * 86400000)
#define IDLE_MIN_MS     1000
#define IDLE_MAX_MS     (INT64_C(3650) * 86400000)
#define IDLE_DEFAULT_MS 86400000
/* A pause between two slices lets other requests go first. */
#define PAUSE_MS 5

/* What is collected, in this order. */
enum hf__gc_space {
    HF__GC_NAMES,
    HF__GC_MARKS, /* records that a task was started (once_ms) */
    HF__GC_CELLS, /* tombstones of deleted cells */
    HF__GC_SPACES
};

static int run_gc(struct hf__conn *conn, struct hf__request *q,
                  hf__time deadline)
{
    struct hf__query *k = HF__ELEMENT(q, struct hf__query, request);

    q->op.result = hf__conn_gc(conn, &k->key, &k->gc, deadline, &k->err);
    return q->op.result == HF_ENOTSUP ? (int)HF_OK : q->op.result;
}

/* A tombstone must outlive a late try of a change: it is what shows such a try
 * that it is too late. */
#define CELL_IDLE_MIN_MS 3600000

/* Prepare a slice of that space: set g->idle_us, and turn the key of "" into
 * the prefix of its keys. False: the store does not have this space. */
static bool begin_slice(const hf_client *client, enum hf__gc_space space,
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

/* Add what a slice deleted, for hf_stats() too. */
static void add_up(hf_client *client, hf_gc_info *info,
                   const struct hf__gc *slice, enum hf__gc_space space)
{
    info->removed += slice->count;
    info->expired += space == HF__GC_NAMES ? slice->expired : 0;
    info->marks += space == HF__GC_MARKS ? slice->count : 0;
    info->cells += space == HF__GC_CELLS ? slice->count : 0;
    hf__count(&client->counters.collected, slice->count);
}

/* Log the end of a collection. */
static void tell(hf_client *client, hf_level level, const hf_gc_info *info,
                 int result)
{
    hf__log(&client->settings.log, level,
            "event=gc removed=%llu expired=%llu marks=%llu cells=%llu "
            "result=%s",
            (unsigned long long)info->removed,
            (unsigned long long)info->expired, (unsigned long long)info->marks,
            (unsigned long long)info->cells, hf_strstatus(result));
}

/* Collect one slice; *g continues where it was. */
static int clean_some(hf_client *client, enum hf__gc_space space,
                      int64_t idle_ms, struct hf__gc *g, hf_error *err)
{
    HF_AUTO(hf__query_unref_auto) struct hf__query *k = NULL;
    int r = hf__query_new(client, "", &k, err);

    if (r != HF_OK) {
        return r;
    }
    k->gc = *g;
    if (!begin_slice(client, space, idle_ms, &k->gc, &k->key, k->key_bytes)) {
        return HF_OK;
    }
    k->request.call = run_gc;
    r = hf__query_run(client, k, hf__client_limit(client), err);
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
        add_up(client, info, &g, space);
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
    tell(client, HF_LOG_INFO, &info, r);
    return r;
}

/* ---- gc=PERIOD in the URL */

int hf__sweeper_read(struct hf_client *c, hf_error *err)
{
    struct hf__sweeper *w = &c->sweeper;
    int r = HF_OK;

    w->idle_ms = IDLE_DEFAULT_MS;
    r = hf__url_duration(c->url, "gc", PERIOD_MIN_MS, PERIOD_MAX_MS,
                         &w->period_ms, err);
    if (r == HF_OK) {
        r = hf__url_duration(c->url, "gc_idle", IDLE_MIN_MS, IDLE_MAX_MS,
                             &w->idle_ms, err);
    }
    if (r == HF_OK && w->period_ms > 0 && c->settings.backend->gc == NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "gc: this store keeps no idle records; leave it out");
    }
    return r;
}

static struct hf_client *client_of(struct hf__sweeper *w)
{
    return HF__ELEMENT(w, struct hf_client, sweeper);
}

static void set_timer(struct hf_client *c, int64_t ms)
{
    if (hf__client_close_by(c).ns == HF__NEVER.ns) {
        hf__timer_thread_set(&c->timer_thread, &c->sweeper.timer_task,
                             hf__after_ms(hf__now(), ms), 0);
    }
}

static int run(struct hf__conn *conn, struct hf__request *q, hf__time deadline)
{
    struct hf__sweeper *w = HF__ELEMENT(q, struct hf__sweeper, request);

    q->op.result = hf__conn_gc(conn, &w->key, &w->gc, deadline, &w->err);
    return q->op.result;
}

/* All spaces are done, or the store failed. */
static void end_round(struct hf_client *c, int result)
{
    struct hf__sweeper *w = &c->sweeper;

    tell(c, result == HF_OK ? HF_LOG_INFO : HF_LOG_WARN, &w->info, result);
    w->info = (hf_gc_info)HF_GC_INFO_INIT;
    w->gc = (struct hf__gc){0};
    w->space = HF__GC_NAMES;
    set_timer(c,
              hf__random_between(w->period_ms * 3 / 4, w->period_ms * 5 / 4));
}

/* Prepare the next slice; false: there is no such space. */
static bool has_space(struct hf_client *c)
{
    struct hf__sweeper *w = &c->sweeper;

    hf__client_key(c, "", w->key_bytes, &w->key);
    return w->space < HF__GC_SPACES &&
           begin_slice(c, (enum hf__gc_space)w->space, w->idle_ms, &w->gc,
                       &w->key, w->key_bytes);
}

static void swept(struct hf__request *q)
{
    struct hf__sweeper *w = HF__ELEMENT(q, struct hf__sweeper, request);
    struct hf_client *c = client_of(w);

    add_up(c, &w->info, &w->gc, (enum hf__gc_space)w->space);
    w->space += w->gc.length == 0;
    if (q->op.result != HF_OK || !has_space(c)) {
        end_round(c, q->op.result);
        return;
    }
    set_timer(c, PAUSE_MS);
}

static void fire(struct hf__timer_task *timer_task, hf__time now)
{
    struct hf__sweeper *w =
        HF__ELEMENT(timer_task, struct hf__sweeper, timer_task);
    struct hf_client *c = client_of(w);
    struct hf__session *s = NULL;

    (void)now;
    (void)has_space(c);
    s = hf__client_session(c, &w->key);
    if (hf__session_start_runner(s) != HF_OK) {
        end_round(c, HF_EUNAVAIL); /* there may be a thread the next time */
        return;
    }
    w->gc.count = 0;
    w->gc.expired = 0;
    w->err = (hf_error)HF_ERROR_INIT;
    w->request = (struct hf__request){.call = run, .done = swept};
    w->request.op.key = w->key;
    w->request.op.err = &w->err;
    hf__session_submit(s, &w->request);
}

int hf__sweeper_start(struct hf_client *c, hf_error *err)
{
    struct hf__sweeper *w = &c->sweeper;

    if (w->period_ms == 0) {
        return HF_OK;
    }
    if (hf__timer_thread_start(&c->timer_thread) != HF_OK) {
        return hf__fail(err, HF_EUNAVAIL,
                        "the system gives no thread for gc=: raise the limit "
                        "(ulimit -u)");
    }
    w->timer_task.fire = fire;
    set_timer(c, hf__random_between(0, w->period_ms));
    return HF_OK;
}
