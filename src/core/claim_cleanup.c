/* SPDX-License-Identifier: MIT */
/*
 * Cleanups, which no caller waits for. This file decides when a token that may
 * hold a name, or be queued for it, is given back, and when that is no longer
 * needed. Runs on the thread that executed the request, on the runner and on
 * the timer thread. It blocks no thread, but a new claim of this client for the
 * name waits until the cleanup is done.
 */
#include "src/core/claim_cleanup.h"

#include "src/core/grant_fsm.h"

#include <string.h>

static void end_cleanup(struct hf__claim *c)
{
    hf__timer_thread_cancel(&c->client->timer_thread, &c->timer_task);
    hf__name_queue_attempted(c, c->request.op.result);
    hf__client_end_cleanup(c->client);
    hf__claim_unref(c);
}

static void send_release(struct hf__claim *c)
{
    hf__session_submit(hf__client_session(c->client, &c->key), &c->request);
}

static void fire(struct hf__timer_task *timer_task, hf__time now)
{
    struct hf__claim *c = HF__ELEMENT(timer_task, struct hf__claim, timer_task);

    (void)now;
    hf__mutex_lock(&c->client->mutex);
    hf__list_remove(&c->cleanup_link);
    hf__mutex_unlock(&c->client->mutex);
    send_release(c);
}

static void release_done(struct hf__request *q)
{
    struct hf__claim *c = HF__ELEMENT(q, struct hf__claim, request);
    hf__time now = hf__now();

    if (!hf__claim_cleanup_goes_on(q->op.result) ||
        !hf__before(now, c->moot_at)) {
        end_cleanup(c);
        return;
    }
    hf__name_queue_met(c, q->op.result);
    hf__mutex_lock(&c->client->mutex);
    hf__list_push(&c->client->cleanups, &c->cleanup_link);
    hf__mutex_unlock(&c->client->mutex);
    hf__timer_thread_set(&c->client->timer_thread, &c->timer_task,
                         hf__lease_give_back_at(now, c->lease_ms), 0);
}

static void tell(const struct hf__claim *c)
{
    hf__log(&c->client->settings.log, HF_LOG_INFO,
            "event=give_back fence=unknown");
}

/* The request is idle and ours: turn it into a release of its token. */
static void give_back(struct hf__claim *c)
{
    struct hf__op *op = &c->request.op;

    HF_ASSERT(c->use == HF__USE_CLEANUP);
    c->moot_at = hf__client_moot_at(c->client, hf__now(), c->lease_ms);
    c->timer_task.fire = fire;
    memset(&c->request, 0, sizeof c->request);
    op->kind = HF__OP_RELEASE;
    op->key = c->key;
    op->token = c->token;
    op->lock_mode = c->lock_mode;
    op->reopens = true; /* no caller has held it */
    op->is_unanswered = c->is_unanswered;
    c->request.done = release_done;
    tell(c);
    send_release(c);
}

void hf__claim_cleanup_from_attempt(struct hf__request *q)
{
    struct hf__claim *c = HF__ELEMENT(q, struct hf__claim, request);

    hf__claim_hear(c);
    if (hf__claim_may_be_there(c)) {
        hf__name_queue_met(
            c, q->op.result); /* waiters in the queue learn the result */
        give_back(c);
    } else {
        end_cleanup(c);
    }
}

void hf__claim_cleanup_open(struct hf__claim *c)
{
    atomic_fetch_add(&c->refs, 1);
    hf__name_queue_unsettle(c);
    hf__client_begin_cleanup(c->client);
    give_back(c);
}

void hf__claim_cleanup_go_on(struct hf__claim *c)
{
    const struct hf__op *op = &c->request.op;

    if (c->is_unanswered && !op->is_unanswered) {
        tell(c);
    }
    c->is_unanswered = op->is_unanswered;
    c->token = op->token;
}

void hf__claim_cleanup_drop_all(struct hf_client *client)
{
    for (;;) {
        struct hf__link *link = NULL;

        hf__mutex_lock(&client->mutex);
        link = hf__list_pop(&client->cleanups);
        hf__mutex_unlock(&client->mutex);
        if (link == NULL) {
            return;
        }
        end_cleanup(HF__ELEMENT(link, struct hf__claim, cleanup_link));
    }
}
