/* SPDX-License-Identifier: MIT */
/*
 * memory:NAME?session_timeout=DUR: grants that live with their client, as on a
 * server with sessions. The server is this process, so that a client which has
 * a session open is known to live; who closed the last one without giving back
 * what it had keeps that for the timeout, like one whose connection was cut.
 * Thread: any, under the
 * mutex of hf__mem_stores.
 */
#include "src/backend/memory/store.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#define TIMEOUT_MIN_MS 150
#define TIMEOUT_MAX_MS 600000

static struct hf__mem_life *find(struct hf__mem_store *store, uint64_t client)
{
    HF__LIST_EACH (link, &store->lives) {
        struct hf__mem_life *life =
            HF__ELEMENT(link, struct hf__mem_life, link);

        if (client != 0 && life->client == client &&
            hf__before(hf__now(), hf__mem_life_end(life))) {
            return life;
        }
    }
    return NULL;
}

static struct hf__mem_life *make(struct hf__mem_store *store, uint64_t client)
{
    struct hf__mem_life *life = hf__alloc(sizeof *life);

    if (life != NULL) {
        life->client = client;
        hf__list_push(&store->lives, &life->link);
    }
    return life;
}

static void free_unneeded(struct hf__mem_life *life)
{
    if (life->sessions == 0 && life->stands == 0) {
        hf__list_remove(&life->link);
        hf__free(life);
    }
}

int hf__mem_begin_life(struct hf__mem_session *s, const struct hf__url *url,
                       hf_error *err)
{
    int64_t timeout_ms = 0;
    int r = HF_OK;

    if (hf__url_option(url, "session_timeout") == NULL) {
        return HF_OK;
    }
    r = hf__url_duration(url, "session_timeout", TIMEOUT_MIN_MS, TIMEOUT_MAX_MS,
                         &timeout_ms, err);
    if (r != HF_OK) {
        return r;
    }
    s->life = find(s->store, s->head.client);
    s->life = s->life == NULL ? make(s->store, s->head.client) : s->life;
    if (s->life == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a session");
    }
    s->life->timeout_ms = timeout_ms;
    s->life->sessions++;
    /* As much less than the timeout as is usual: a client stops to believe in
     * its grant well before the server gives it away. */
    s->head.facts.lease_us = timeout_ms * 1000 * 2 / 3;
    return HF_OK;
}

void hf__mem_end_life(struct hf__mem_session *s)
{
    struct hf__mem_life *life = s->life;

    s->life = NULL;
    if (life != NULL) {
        life->sessions--;
        life->until = hf__after_ms(hf__now(), life->timeout_ms);
        free_unneeded(life);
    }
}

struct hf__mem_life *hf__mem_join(struct hf__mem_life *life)
{
    if (life != NULL) {
        life->stands++;
    }
    return life;
}

void hf__mem_quit(struct hf__mem_life *life)
{
    if (life != NULL) {
        life->stands--;
        free_unneeded(life);
    }
}

hf__time hf__mem_life_end(const struct hf__mem_life *life)
{
    return life->sessions > 0 ? HF__NEVER : life->until;
}
