/* SPDX-License-Identifier: MIT */
/*
 * gc=PERIOD: when idle records are deleted, and what is told of it. Each
 * client has a moment of its own, so that a hundred that were started together
 * do not clean together. What is idle is the store's to judge. Runs on the
 * keeper and on whoever executed the request.
 */
#include "src/core/sweeper.h"

#include "src/base/error.h"
#include "src/base/rand.h"
#include "src/core/gc.h"

#define PERIOD_MIN_MS   1000
#define PERIOD_MAX_MS   (INT64_C(30) * 86400000)
#define IDLE_MIN_MS     1000
#define IDLE_MAX_MS     (INT64_C(3650) * 86400000)
#define IDLE_DEFAULT_MS 86400000
/* Others have their turn between two slices. */
#define PAUSE_MS 5

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
        hf__keeper_set(&c->keeper, &c->sweeper.duty,
                       hf__after_ms(hf__now(), ms), 0);
    }
}

static int run(struct hf__conn *conn, struct hf__request *q, hf__time deadline)
{
    struct hf__sweeper *w = HF__ELEMENT(q, struct hf__sweeper, request);

    q->op.result = hf__conn_gc(conn, &w->key, &w->gc, deadline, &w->err);
    return q->op.result;
}

/* All spaces are done, or it can't go on. */
static void end_round(struct hf_client *c, int result)
{
    struct hf__sweeper *w = &c->sweeper;

    hf__gc_tell(c, result == HF_OK ? HF_LOG_INFO : HF_LOG_WARN, &w->info,
                result);
    w->info = (hf_gc_info)HF_GC_INFO_INIT;
    w->gc = (struct hf__gc){0};
    w->space = HF__GC_NAMES;
    set_timer(c,
              hf__random_between(w->period_ms * 3 / 4, w->period_ms * 5 / 4));
}

/* What the next slice begins with; false: there is none of that space. */
static bool has_space(struct hf_client *c)
{
    struct hf__sweeper *w = &c->sweeper;

    hf__client_key(c, "", w->key_bytes, &w->key);
    return w->space < HF__GC_SPACES &&
           hf__gc_begin(c, (enum hf__gc_space)w->space, w->idle_ms, &w->gc,
                        &w->key, w->key_bytes);
}

static void swept(struct hf__request *q)
{
    struct hf__sweeper *w = HF__ELEMENT(q, struct hf__sweeper, request);
    struct hf_client *c = client_of(w);

    hf__gc_add(c, &w->info, &w->gc, (enum hf__gc_space)w->space);
    w->space += w->gc.length == 0;
    if (q->op.result != HF_OK || !has_space(c)) {
        end_round(c, q->op.result);
        return;
    }
    set_timer(c, PAUSE_MS);
}

static void fire(struct hf__duty *duty, hf__time now)
{
    struct hf__sweeper *w = HF__ELEMENT(duty, struct hf__sweeper, duty);
    struct hf_client *c = client_of(w);
    struct hf__session *s = NULL;

    (void)now;
    (void)has_space(c);
    s = hf__client_session(c, &w->key);
    if (hf__session_start_runner(s) != HF_OK) {
        end_round(c, HF_EUNAVAIL); /* there may be threads the next time */
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
    if (hf__keeper_start(&c->keeper) != HF_OK) {
        return hf__fail(err, HF_EUNAVAIL,
                        "the system gives no thread for gc=: raise the limit "
                        "(ulimit -u)");
    }
    w->duty.fire = fire;
    set_timer(c, hf__random_between(0, w->period_ms));
    return HF_OK;
}
