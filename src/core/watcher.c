/* SPDX-License-Identifier: MIT */
/*
 * Waiting for records to change. This file decides when a contender looks
 * again; what it finds then is the claim's affair. Added to and removed from
 * by users' threads; the store is touched by the watcher's thread alone.
 */
#include "src/core/watcher.h"

#include "src/base/rand.h"

#include <string.h>

/* One wait on the store; a new one looks at everything afresh. */
#define WAIT_MS 30000
/* Between tries when the store can't be waited on: low enough to be soon,
 * jittered so that waiters don't march in step. */
#define POLL_LOW_MS  50
#define POLL_HIGH_MS 150

void hf__watcher_init(struct hf__watcher *w,
                      const struct hf__settings *settings)
{
    memset(w, 0, sizeof *w);
    w->settings = settings;
    hf__mutex_init(&w->mutex);
    hf__list_init(&w->list);
}

/* Copy the first watches: the store reads them without the mutex, while
 * their contenders may leave. Under the mutex. */
static int copy_watches(struct hf__watcher *w)
{
    int n = 0;

    HF__LIST_EACH (link, &w->list) {
        struct hf__watching *g = HF__ELEMENT(link, struct hf__watching, link);

        if (n == HF__WATCH_MAX) {
            break;
        }
        w->copies[n] = g->watch;
        memcpy(w->keys[n], g->watch.key.bytes, g->watch.key.length);
        w->copies[n].key.bytes = w->keys[n];
        w->copies[n].has_fired = false;
        w->pointers[n] = &w->copies[n];
        n++;
    }
    return n;
}

/* More names than one wait covers take turns, and the wait is short: those
 * left out are as if polled. Under the mutex. */
static hf__time let_others_be_first(struct hf__watcher *w, int n)
{
    int64_t limit_ms = WAIT_MS;

    if (n == HF__WATCH_MAX) {
        limit_ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);
        for (int i = 0; i < n; i++) {
            struct hf__link *link = hf__list_pop(&w->list);

            HF_ASSERT(link != NULL);
            hf__list_push(&w->list, link);
        }
    }
    return hf__after_ms(hf__now(), limit_ms);
}

static void fire(struct hf__watching *g)
{
    hf__list_remove(&g->link);
    atomic_store(&g->has_fired, 1);
    hf__unpark(g->parker);
}

static bool is_same(const struct hf__watch *a, const struct hf__watch *b)
{
    return hf__key_compare(&a->key, &b->key) == 0 && a->fence == b->fence &&
           hf__token_equal(&a->token, &b->token) &&
           hf__token_equal(&a->ticket, &b->ticket);
}

/* Fire what the store saw change. A watch may have been removed since it was
 * copied: the list says what is there. Under the mutex. */
static void fire_changed(struct hf__watcher *w, int n)
{
    HF__LIST_EACH (link, &w->list) {
        struct hf__watching *g = HF__ELEMENT(link, struct hf__watching, link);
        bool has_changed = false;

        for (int i = 0; i < n && !has_changed; i++) {
            has_changed =
                w->copies[i].has_fired && is_same(&w->copies[i], &g->watch);
        }
        if (has_changed) {
            fire(g);
        }
    }
}

static void fire_all(struct hf__watcher *w)
{
    HF__LIST_EACH (link, &w->list) {
        fire(HF__ELEMENT(link, struct hf__watching, link));
    }
}

/* May the thread wait? Not if the list has changed since the watches were
 * copied, for that stirred nobody who waits. From here on it is stirred. */
static bool begin_waiting(struct hf__watcher *w, unsigned seen)
{
    HF_SCOPED_LOCK(&w->mutex);

    w->is_waiting = hf__parker_seen(&w->parker) == seen;
    return w->is_waiting;
}

/* Wait on the store once; without the mutex. */
static int wait_once(struct hf__watcher *w, unsigned seen, int n,
                     hf__time limit)
{
    const struct hf__settings *t = w->settings;
    int r = HF_OK;

    if (w->conn.is_dead || !hf__conn_is_open(&w->conn)) {
        hf__conn_close(&w->conn);
        r = hf__conn_open(&w->conn, t->backend, t->url, t->allow,
                          hf__after_ms(hf__now(), t->io_timeout_ms), NULL);
    }
    if (r != HF_OK || !begin_waiting(w, seen)) {
        return r;
    }
    return hf__conn_wait(&w->conn, w->pointers, n, limit, NULL);
}

static void pause_until_poll(struct hf__watcher *w)
{
    unsigned seen = hf__parker_seen(&w->parker);
    int64_t pause_ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);
    hf__time until = hf__after_ms(hf__now(), pause_ms);

    hf__mutex_unlock(&w->mutex);
    hf__park(&w->parker, seen, until);
    hf__mutex_lock(&w->mutex);
}

/* One round, with the mutex held at call and return. */
static void watch_round(struct hf__watcher *w)
{
    unsigned seen = hf__parker_seen(&w->parker);
    int n = copy_watches(w);
    hf__time limit = let_others_be_first(w, n);
    int r = HF_OK;

    hf__mutex_unlock(&w->mutex);
    if (n == 0) {
        hf__park(&w->parker, seen, HF__NEVER);
    } else {
        r = wait_once(w, seen, n, limit);
    }
    if (r != HF_OK) {
        hf__log(&w->settings->log, HF_LOG_INFO, "event=watch_failed result=%s",
                hf_strstatus(r));
    }
    hf__mutex_lock(&w->mutex);
    w->is_waiting = false;
    if (r == HF_OK) {
        fire_changed(w, n);
        return;
    }
    pause_until_poll(w);
    fire_all(w);
}

static void watcher_main(void *arg)
{
    struct hf__watcher *w = arg;

    hf__mutex_lock(&w->mutex);
    while (!w->is_closing) {
        watch_round(w);
    }
    hf__mutex_unlock(&w->mutex);
}

/* Have the thread look at its list again. Under the mutex. */
static void stir(struct hf__watcher *w)
{
    hf__unpark(&w->parker);
    if (w->is_waiting) {
        hf__conn_interrupt(&w->conn);
    }
}

bool hf__watcher_add(struct hf__watcher *w, struct hf__watching *g)
{
    HF_SCOPED_LOCK(&w->mutex);

    atomic_store(&g->has_fired, 0);
    hf__list_init(&g->link);
    if (!w->thread.is_running && !w->is_closing &&
        hf__thread_start(&w->thread, "holdfast-watch", watcher_main, w) !=
            HF_OK) {
        return false;
    }
    hf__list_push(&w->list, &g->link);
    stir(w);
    return true;
}

void hf__watcher_remove(struct hf__watcher *w, struct hf__watching *g)
{
    HF_SCOPED_LOCK(&w->mutex);

    if (hf__list_is_empty(&g->link)) {
        return;
    }
    hf__list_remove(&g->link);
    stir(w);
}

void hf__watcher_close(struct hf__watcher *w)
{
    hf__mutex_lock(&w->mutex);
    w->is_closing = true;
    stir(w);
    fire_all(w);
    hf__mutex_unlock(&w->mutex);
    hf__thread_stop(&w->thread);
    hf__conn_close(&w->conn);
    hf__mutex_fini(&w->mutex);
}
