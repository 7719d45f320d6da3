/* SPDX-License-Identifier: MIT */
/*
 * Waiting for records to change. This file decides which watcher a claim uses,
 * when one is created, and when a claim asks again; claim.c does the asking.
 * Called by the threads that run claims and the one that closes the client;
 * only a watcher's own thread touches the store.
 */
#include "src/core/watcher.h"

#include "src/base/alloc.h"
#include "src/base/rand.h"

#include <string.h>

/* The longest time of one wait on the store; the next one checks everything
 * again. */
#define WAIT_MS 30000
/* Pause between tries when the store cannot be waited on: short enough to
 * notice changes soon, and random so that waiters do not ask at the same
 * moment. */
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

/* The store keeps a position for one name only, which must be dropped before
 * waiting for another. */
static bool keeps_one_queue(const struct hf__watcher *w)
{
    return (w->settings->caps & HF__CAP_WAIT_ONE) != 0;
}

static bool keeps_queues(const struct hf__watcher *w)
{
    return keeps_one_queue(w) || (w->settings->caps & HF__CAP_WAIT_LEAVES) != 0;
}

/* Copy the first watches: the store reads them without the mutex, while their
 * claims may leave. Under the mutex. */
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

/* If there are more watches than one wait covers, they take turns and the wait
 * is short, so that those left out are polled. Under the mutex. */
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

/* Take the watch off the list, for its claim to ask the store. Under the
 * mutex. */
static void let_try(struct hf__watching *g)
{
    hf__list_remove(&g->link);
    if (keeps_queues(g->watcher)) {
        g->is_trying = true;
        g->watcher->trying++;
    }
}

static void end_trying(struct hf__watching *g)
{
    if (g->is_trying) {
        g->is_trying = false;
        g->watcher->trying--;
    }
}

static void fire(struct hf__watching *g)
{
    let_try(g);
    atomic_store(&g->has_fired, 1);
    hf__unpark(g->parker);
}

static bool is_same(const struct hf__watch *a, const struct hf__watch *b)
{
    return hf__key_compare(&a->key, &b->key) == 0 && a->fence == b->fence &&
           hf__token_equal(&a->token, &b->token) &&
           hf__token_equal(&a->ticket, &b->ticket);
}

/* Fire the watches that the store saw change. A watch may have been removed
 * since it was copied: only those in the list count. Under the mutex. */
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

/* ---- calls to the store; without the mutex */

/*
 * Returns whether the thread may wait: not if the list has changed since the
 * watches were copied, because that wake-up came before the wait could be
 * interrupted. From here on interrupts reach it. An earlier interrupt was meant
 * for a call that had already ended; its sender has changed the list, which is
 * checked now.
 */
static bool begin_waiting(struct hf__watcher *w, unsigned seen)
{
    HF_SCOPED_LOCK(&w->mutex);

    hf__conn_forget_interrupt(&w->conn);
    if (hf__parker_seen(&w->parker) == seen) {
        w->call = HF__CALL_WAIT;
    }
    return w->call == HF__CALL_WAIT;
}

static bool begin_moving(struct hf__watcher *w)
{
    HF_SCOPED_LOCK(&w->mutex);

    hf__conn_forget_interrupt(&w->conn);
    w->call = w->is_closing ? HF__CALL_NONE : HF__CALL_TO_MOVE;
    return w->call == HF__CALL_TO_MOVE;
}

static void end_call(struct hf__watcher *w)
{
    HF_SCOPED_LOCK(&w->mutex);
    w->call = HF__CALL_NONE;
}

static bool is_in_place(const struct hf__watcher *w, int n)
{
    const struct hf__watch *a = &w->queue;
    const struct hf__watch *b = &w->copies[0];

    return n == 1 && hf__key_compare(&a->key, &b->key) == 0 &&
           hf__token_equal(&a->ticket, &b->ticket) &&
           a->lock_mode.mode == b->lock_mode.mode &&
           a->lock_mode.slots == b->lock_mode.slots;
}

static void note_queue(struct hf__watcher *w, int n)
{
    w->is_queued = keeps_queues(w) && (n == 1 || !keeps_one_queue(w));
    if (w->is_queued) {
        w->queue = w->copies[0];
        memcpy(w->queue_key, w->keys[0], w->queue.key.length);
        w->queue.key.bytes = w->queue_key;
    }
}

/* No claim waits any more for the name of the kept queue position: drop it. If
 * the store cannot, closing the connection does. */
static void let_go(struct hf__watcher *w, hf__time limit)
{
    if (hf__conn_wait(&w->conn, NULL, 0, limit, NULL) != HF_OK) {
        hf__conn_close(&w->conn);
    }
    end_call(w);
    w->is_queued = false;
}

/* Drop the queue position at once, in order to wait for another name. */
static void move(struct hf__watcher *w)
{
    if (begin_moving(w)) {
        let_go(w, hf__now());
    }
}

/* The list is empty: sleep until a watch is added. If that comes while the
 * queue position is being dropped, the position is still wanted. */
static void idle(struct hf__watcher *w, unsigned seen, bool is_over)
{
    if (w->is_queued && is_over && begin_waiting(w, seen)) {
        let_go(w, hf__after_ms(hf__now(), w->settings->io_timeout_ms));
        w->is_queued =
            hf__conn_is_open(&w->conn) && hf__parker_seen(&w->parker) != seen;
    }
    hf__park(&w->parker, seen, HF__NEVER);
}

static int connect_if_needed(struct hf__watcher *w)
{
    const struct hf__settings *t = w->settings;

    if (!atomic_exchange(&w->is_elsewhere, false) && !w->conn.is_dead &&
        hf__conn_is_open(&w->conn)) {
        return HF_OK;
    }
    hf__conn_close(&w->conn);
    w->is_queued = false;
    w->conn.client = t->mark;
    return hf__conn_open(&w->conn, t->backend, t->url, t->allow,
                         hf__after_ms(hf__now(), t->io_timeout_ms), NULL);
}

/* One wait on the store. */
static int wait_once(struct hf__watcher *w, unsigned seen, int n,
                     hf__time limit)
{
    int r;

    if (w->is_queued && keeps_one_queue(w) && !is_in_place(w, n)) {
        move(w);
    }
    r = connect_if_needed(w);
    if (r != HF_OK || !begin_waiting(w, seen)) {
        return r;
    }
    r = hf__conn_wait(&w->conn, w->pointers, n, limit, NULL);
    if (r == HF_OK) {
        note_queue(w, n);
    } else if (w->is_queued) {
        /* A store drops the queue position of a process that does not wait: one
         * that was stopped, or whose claim's own attempt took long. The
         * connection may also just be lost. Reconnect and wait again. */
        w->is_queued = false;
        hf__conn_close(&w->conn);
        r = HF_OK;
    }
    return r;
}

/* ---- the thread */

static void pause_until_poll(struct hf__watcher *w)
{
    unsigned seen = hf__parker_seen(&w->parker);
    int64_t pause_ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);
    hf__time until = hf__after_ms(hf__now(), pause_ms);

    hf__mutex_unlock(&w->mutex);
    hf__park(&w->parker, seen, until);
    hf__mutex_lock(&w->mutex);
}

/* One round; called and returns with the mutex held. */
static void watch_round(struct hf__watcher *w)
{
    unsigned seen = hf__parker_seen(&w->parker);
    int n = copy_watches(w);
    hf__time limit = let_others_be_first(w, n);
    bool is_over = w->trying == 0;
    int r = HF_OK;

    hf__mutex_unlock(&w->mutex);
    if (n == 0) {
        idle(w, seen, is_over);
    } else {
        r = wait_once(w, seen, n, limit);
    }
    if (r != HF_OK) {
        hf__log(&w->settings->log, HF_LOG_INFO, "event=watch_failed result=%s",
                hf_strstatus(r));
    }
    hf__mutex_lock(&w->mutex);
    w->call = HF__CALL_NONE;
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

/* Make the thread check its list again. Under the mutex. */
static void stir(struct hf__watcher *w)
{
    hf__unpark(&w->parker);
    if (w->call == HF__CALL_WAIT) {
        hf__conn_interrupt(&w->conn);
    }
}

/* ---- claims */

/* Begin to watch for a claim. False if there is no thread for it, and once
 * closed. */
static bool begin_watch(struct hf__watching *g)
{
    struct hf__watcher *w = g->watcher;
    HF_SCOPED_LOCK(&w->mutex);

    atomic_store(&g->has_fired, 0);
    hf__list_init(&g->link);
    if (w->is_closing ||
        (!w->thread.is_running && hf__thread_start(&w->thread, "holdfast-watch",
                                                   watcher_main, w) != HF_OK)) {
        return false;
    }
    end_trying(g);
    hf__list_push(&w->list, &g->link);
    stir(w);
    return true;
}

void hf__watcher_pause(struct hf__watching *g)
{
    HF_SCOPED_LOCK(&g->watcher->mutex);

    if (!hf__list_is_empty(&g->link)) {
        let_try(g);
        stir(g->watcher);
    }
}

/* The claim neither waits nor asks any more. */
static void end_watch(struct hf__watching *g)
{
    struct hf__watcher *w = g->watcher;
    HF_SCOPED_LOCK(&w->mutex);

    if (!hf__list_is_empty(&g->link)) {
        hf__list_remove(&g->link);
        stir(w);
    } else if (g->is_trying) {
        end_trying(g);
        if (w->trying == 0 && hf__list_is_empty(&w->list)) {
            stir(w); /* to drop its queue position */
        }
    }
}

/* The locks are on another server: reconnect to wait there. */
static void send_away(struct hf__watcher *w)
{
    HF_SCOPED_LOCK(&w->mutex);

    atomic_store(&w->is_elsewhere, true);
    stir(w);
}

/* Interrupt and join the thread; fire the remaining watches. Their claims may
 * still leave. */
static void close_one(struct hf__watcher *w)
{
    hf__mutex_lock(&w->mutex);
    w->is_closing = true;
    stir(w);
    if (w->call == HF__CALL_TO_MOVE) {
        hf__conn_interrupt(&w->conn);
    }
    fire_all(w);
    hf__mutex_unlock(&w->mutex);
    hf__thread_stop(&w->thread);
    hf__conn_close(&w->conn);
}

/* ---- all watchers of a client: which one a claim uses */

void hf__watchers_init(struct hf__watchers *ws,
                       const struct hf__settings *settings)
{
    ws->settings = settings;
    hf__mutex_init(&ws->mutex);
    ws->n = 0;
}

/* ---- choosing; under the mutex */

static int most(const struct hf__watchers *ws)
{
    unsigned caps = ws->settings->caps;

    if ((caps & HF_CAP_WAIT) == 0 || ws->is_closed) {
        return 0;
    }
    return (caps & HF__CAP_WAIT_ONE) != 0 ? ws->settings->wait_connections : 1;
}

static struct hf__watcher *find_idle(struct hf__watchers *ws)
{
    for (int i = 0; i < ws->n; i++) {
        if (ws->list[i]->claims == 0) {
            return ws->list[i];
        }
    }
    return NULL;
}

static void make_one(struct hf__watchers *ws)
{
    struct hf__watcher *w = hf__alloc(sizeof *w);

    if (w != NULL) {
        hf__watcher_init(w, ws->settings);
        ws->list[ws->n++] = w;
    }
}

static struct hf__watcher *choose(struct hf__watchers *ws)
{
    struct hf__watcher *w = find_idle(ws);

    if (w == NULL && ws->n < most(ws)) {
        make_one(ws);
        w = find_idle(ws);
    }
    return w == NULL && ws->n > 0 ? ws->list[ws->n - 1] : w;
}

static void detach(struct hf__watching *g)
{
    if (g->watcher != NULL) {
        end_watch(g);
        g->watcher->claims--;
        g->watcher = NULL;
    }
}

static void attach(struct hf__watching *g, struct hf__watcher *w)
{
    g->watcher = w;
    w->claims++;
    hf__list_init(&g->link);
    g->is_trying = false;
}

/* A claim that shares a watcher moves to one of its own when that is free. */
static void settle(struct hf__watchers *ws, struct hf__watching *g)
{
    if (g->watcher != NULL && g->watcher->claims > 1 && find_idle(ws) != NULL) {
        detach(g);
    }
    if (g->watcher == NULL) {
        struct hf__watcher *w = choose(ws);

        if (w != NULL) {
            attach(g, w);
        }
    }
}

static void free_one(struct hf__watcher *w)
{
    hf__mutex_fini(&w->mutex);
    hf__free(w);
}

/* No thread could be started for the newest watcher, which no claim uses. Free
 * it, so that no claim is sent to it, and share the one before. */
static bool share_instead(struct hf__watchers *ws, struct hf__watching *g)
{
    struct hf__watcher *last = ws->list[ws->n - 1];

    if (ws->is_closed || last->thread.is_running) {
        return false;
    }
    HF_ASSERT(last->claims == 0);
    free_one(last);
    ws->n--;
    if (ws->n > 0) {
        attach(g, ws->list[ws->n - 1]);
    }
    return ws->n > 0;
}

/* ---- joining and leaving */

bool hf__watchers_join(struct hf__watchers *ws, struct hf__watching *g)
{
    HF_SCOPED_LOCK(&ws->mutex);

    settle(ws, g);
    if (g->watcher == NULL) {
        return false;
    }
    if (begin_watch(g)) {
        return true;
    }
    detach(g);
    if (share_instead(ws, g)) {
        if (begin_watch(g)) {
            return true;
        }
        detach(g);
    }
    return false;
}

void hf__watchers_leave(struct hf__watchers *ws, struct hf__watching *g)
{
    if (g->watcher != NULL) { /* only its claim changes this */
        HF_SCOPED_LOCK(&ws->mutex);
        detach(g);
    }
}

/* ---- moving and closing */

void hf__watchers_move(struct hf__watchers *ws)
{
    HF_SCOPED_LOCK(&ws->mutex);

    for (int i = 0; i < ws->n; i++) {
        send_away(ws->list[i]);
    }
}

void hf__watchers_close(struct hf__watchers *ws)
{
    hf__mutex_lock(&ws->mutex);
    ws->is_closed = true;
    hf__mutex_unlock(&ws->mutex);
    for (int i = 0; i < ws->n; i++) {
        close_one(ws->list[i]);
    }
}

void hf__watchers_fini(struct hf__watchers *ws)
{
    for (int i = 0; i < ws->n; i++) {
        free_one(ws->list[i]);
    }
    hf__mutex_fini(&ws->mutex);
}
