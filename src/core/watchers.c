/* SPDX-License-Identifier: MIT */
/*
 * Who watches for whom. This file decides which watcher a contender gets and
 * when a new one is made; how it waits is watcher.c's. Called by the threads
 * that run claims; closed by the one that closes the client.
 */
#include "src/core/watchers.h"

#include "src/base/alloc.h"

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
        if (ws->list[i]->guests == 0) {
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

static void depart(struct hf__watching *g)
{
    if (g->watcher != NULL) {
        hf__watcher_remove(g);
        g->watcher->guests--;
        g->watcher = NULL;
    }
}

static void arrive(struct hf__watching *g, struct hf__watcher *w)
{
    g->watcher = w;
    w->guests++;
    hf__list_init(&g->link);
    g->is_trying = false;
}

/* Who shares one moves to one of its own, if that has become free. */
static void settle(struct hf__watchers *ws, struct hf__watching *g)
{
    if (g->watcher != NULL && g->watcher->guests > 1 && find_idle(ws) != NULL) {
        depart(g);
    }
    if (g->watcher == NULL) {
        struct hf__watcher *w = choose(ws);

        if (w != NULL) {
            arrive(g, w);
        }
    }
}

static void free_one(struct hf__watcher *w)
{
    hf__mutex_fini(&w->mutex);
    hf__free(w);
}

/* No thread could be had for the newest, which is in nobody's use. It goes, so
 * that nobody is sent to it, and the guest shares the one before. */
static bool share_instead(struct hf__watchers *ws, struct hf__watching *g)
{
    struct hf__watcher *last = ws->list[ws->n - 1];

    if (ws->is_closed || last->thread.is_running) {
        return false;
    }
    HF_ASSERT(last->guests == 0);
    free_one(last);
    ws->n--;
    if (ws->n > 0) {
        arrive(g, ws->list[ws->n - 1]);
    }
    return ws->n > 0;
}

/* ---- guests */

bool hf__watchers_join(struct hf__watchers *ws, struct hf__watching *g)
{
    HF_SCOPED_LOCK(&ws->mutex);

    settle(ws, g);
    if (g->watcher == NULL) {
        return false;
    }
    if (hf__watcher_add(g)) {
        return true;
    }
    depart(g);
    if (share_instead(ws, g)) {
        if (hf__watcher_add(g)) {
            return true;
        }
        depart(g);
    }
    return false;
}

void hf__watchers_leave(struct hf__watchers *ws, struct hf__watching *g)
{
    if (g->watcher != NULL) { /* the contender's own affair */
        HF_SCOPED_LOCK(&ws->mutex);
        depart(g);
    }
}

/* ---- the end */

void hf__watchers_move(struct hf__watchers *ws)
{
    HF_SCOPED_LOCK(&ws->mutex);

    for (int i = 0; i < ws->n; i++) {
        hf__watcher_move(ws->list[i]);
    }
}

void hf__watchers_close(struct hf__watchers *ws)
{
    hf__mutex_lock(&ws->mutex);
    ws->is_closed = true;
    hf__mutex_unlock(&ws->mutex);
    for (int i = 0; i < ws->n; i++) {
        hf__watcher_close(ws->list[i]);
    }
}

void hf__watchers_fini(struct hf__watchers *ws)
{
    for (int i = 0; i < ws->n; i++) {
        free_one(ws->list[i]);
    }
    hf__mutex_fini(&ws->mutex);
}
