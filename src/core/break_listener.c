/* SPDX-License-Identifier: MIT */
/*
 * Learns of breaks, and that the locks have moved to another server. This file
 * decides which grants ask the store; grant.c handles the answer. Started and
 * closed by users' threads; the rest runs on the break listener's own thread.
 */
#include "src/core/break_listener.h"

#include "src/core/grant.h"

/* How long one call listens; the next one checks that the file or server that
 * it listens on is still the store's. */
#define LISTEN_MS 30000
/* Pause between tries when the store cannot be listened to. */
#define RETRY_MS 1000

void hf__break_listener_init(struct hf__break_listener *l,
                             struct hf_client *client)
{
    l->client = client;
    l->conn.only_listens = true;
    hf__mutex_init(&l->mutex);
}

static bool is_held(struct hf__grant *h)
{
    int state = atomic_load(&h->state);

    return state == (int)HF_STATE_HELD || state == (int)HF_STATE_AT_RISK;
}

/* A held grant of the client whose token has this tag, with a reference; NULL:
 * none. */
static struct hf__grant *find(struct hf_client *c, uint64_t tag)
{
    HF_SCOPED_LOCK(&c->mutex);

    HF__LIST_EACH (link, &c->grants) {
        struct hf__grant *h = HF__ELEMENT(link, struct hf__grant, link);

        if (hf__token_tag(&h->token) == tag && is_held(h) &&
            hf__grant_try_ref(h)) {
            return h;
        }
    }
    return NULL;
}

/* If two grants have the tag, only one of them checks. That is rare: a token
 * was adopted by the client that holds it. The other grant learns at its next
 * renewal. */
static void hear(void *arg, uint64_t tag)
{
    struct hf__grant *h = find(arg, tag);

    if (h != NULL) {
        hf__grant_check_soon(h);
        hf__grant_unref(h);
    }
}

static bool is_closing(struct hf__break_listener *l)
{
    HF_SCOPED_LOCK(&l->mutex);
    return l->is_closing;
}

/* ---- moving */

bool hf__break_listener_follow_server(struct hf_client *c, uint64_t server_id)
{
    bool has_moved = false;

    for (int i = 0; i < c->n_main && (c->settings.caps & HF__CAP_MOVES) != 0;
         i++) {
        has_moved |= hf__session_move(&c->main[i], server_id);
    }
    return has_moved;
}

void hf__break_listener_check_all(struct hf_client *client)
{
    HF_SCOPED_LOCK(&client->mutex);

    HF__LIST_EACH (link, &client->grants) {
        struct hf__grant *h = HF__ELEMENT(link, struct hf__grant, link);
        int state = atomic_load(&h->state);

        if (state == (int)HF_STATE_HELD || state == (int)HF_STATE_AT_RISK) {
            atomic_store(&h->is_check_due, true);
            hf__timer_thread_set(&client->timer_thread, &h->timer_task,
                                 hf__now(), 0);
        }
    }
}

/* This connection has just been opened. If its server is another than before,
 * that is where the locks are now. */
static void lead_the_way(struct hf__break_listener *l)
{
    struct hf_client *c = l->client;
    uint64_t server_id = hf__conn_server_info(&l->conn).server_id;
    bool has_moved = l->server_id != 0 && l->server_id != server_id;

    l->server_id = server_id;
    has_moved |= hf__break_listener_follow_server(c, server_id);
    has_moved |= hf__session_move(&c->renew, server_id);
    if (has_moved) {
        hf__log(&c->settings.log, HF_LOG_INFO, "event=moved session=listen");
        hf__watchers_move(&c->watchers);
        hf__break_listener_check_all(c);
    }
}

/* ---- listening */

static int listen_once(struct hf__break_listener *l)
{
    const struct hf__settings *t = &l->client->settings;
    hf__time now = hf__now();
    int r = HF_OK;

    if (l->conn.is_dead || !hf__conn_is_open(&l->conn)) {
        hf__conn_close(&l->conn);
        l->conn.client = t->mark;
        r = hf__conn_open(&l->conn, t->backend, t->url, t->allow,
                          hf__after_ms(now, t->io_timeout_ms), NULL);
        if (r == HF_OK && (t->caps & HF__CAP_MOVES) != 0) {
            lead_the_way(l);
        }
    }
    /* A close that came while it opened has interrupted only that. */
    if (r != HF_OK || is_closing(l)) {
        return r;
    }
    return hf__conn_listen(&l->conn, hear, l->client,
                           hf__after_ms(hf__now(), LISTEN_MS), NULL);
}

static void break_listener_main(void *arg)
{
    struct hf__break_listener *l = arg;

    for (;;) {
        unsigned seen = hf__parker_seen(&l->parker);
        hf__time began = hf__now();
        int r = HF_OK;

        if (is_closing(l)) {
            return;
        }
        r = listen_once(l);
        if (r != HF_OK) {
            hf__log(&l->client->settings.log, HF_LOG_INFO,
                    "event=listen_failed result=%s", hf_strstatus(r));
            hf__park(&l->parker, seen, hf__after_ms(began, RETRY_MS));
        }
    }
}

void hf__break_listener_start(struct hf__break_listener *l)
{
    HF_SCOPED_LOCK(&l->mutex);

    if ((l->client->settings.caps & (HF_CAP_PUSH | HF__CAP_MOVES)) != 0 &&
        !l->thread.is_running && !l->is_closing) {
        /* Without the thread, a holder learns at its next renewal. */
        (void)!hf__thread_start(&l->thread, "holdfast-hear",
                                break_listener_main, l);
    }
}

void hf__break_listener_close(struct hf__break_listener *l)
{
    hf__mutex_lock(&l->mutex);
    l->is_closing = true;
    hf__mutex_unlock(&l->mutex);
    hf__unpark(&l->parker);
    hf__conn_interrupt(&l->conn);
    hf__thread_stop(&l->thread);
    hf__conn_close(&l->conn);
}
