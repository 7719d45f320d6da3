/* SPDX-License-Identifier: MIT */
/*
 * What must run before the first grant: the timer thread and the renewal
 * session with its runner, so that all grants can be renewed, and the break
 * listener. The first caller starts the threads, the session's runner connects,
 * and all callers that come meanwhile wait for the result, asleep or in steps.
 */
#include "src/core/client.h"

#include "src/base/error.h"
#include "src/core/batch.h"

static int start_threads(struct hf_client *c, hf_error *err)
{
    int r = hf__timer_thread_start(&c->timer_thread);

    if (r == HF_OK) {
        r = hf__session_start_runner(&c->renew);
    }
    return r == HF_OK
               ? r
               : hf__fail(err, r,
                          "the system gives no thread for renewals: raise "
                          "the limit (ulimit -u)");
}

/* Under the mutex. */
static void tell(const struct hf_client *c, struct hf__unready *u, int r)
{
    u->has_result = true;
    u->told = r;
    if (r != HF_OK && c->connect_err.status == 0) {
        (void)hf__fail(u->err, r, "the store could not be reached (%s)",
                       hf_strstatus(r));
    } else if (r != HF_OK) {
        hf__error_copy(u->err, &c->connect_err);
    }
    hf__unpark(u->parker);
}

/* Tell all waiters; if it failed, the next caller tries again. */
static void connect_done(struct hf__request *q)
{
    struct hf_client *c = HF__ELEMENT(q, struct hf_client, connect);
    struct hf__link *link = NULL;

    if (q->op.result == HF_OK) {
        (void)hf__break_listener_follow_server(
            c, hf__session_server_info(&c->renew).server_id);
        hf__break_listener_start(&c->break_listener);
    }
    HF_SCOPED_LOCK(&c->mutex);
    c->is_connecting = false;
    atomic_store(&c->is_ready, q->op.result == HF_OK);
    while ((link = hf__list_pop(&c->unready)) != NULL) {
        tell(c, HF__ELEMENT(link, struct hf__unready, link), q->op.result);
    }
}

/* Add the caller to the waiters. Under the mutex. */
static void enter(struct hf_client *c, struct hf__unready *u)
{
    u->is_queued = true;
    c->n_unready++;
    hf__list_push(&c->unready, &u->link);
}

/* Returns true if the caller must start connecting now. Under the mutex. */
static bool begins(struct hf_client *c)
{
    if (c->is_connecting) {
        return false;
    }
    c->is_connecting = true;
    c->connect_err = (hf_error)HF_ERROR_INIT;
    c->connect.op.err = &c->connect_err;
    c->connect.call = hf__batch_nothing;
    c->connect.done = connect_done;
    return true;
}

/* Returns whether the caller has its answer. It must not overtake callers that
 * were told before and have not stepped yet. Under the mutex. */
static bool has_answer(struct hf_client *c, struct hf__unready *u)
{
    if (hf__client_is_ready(c) && c->n_unready == 0) {
        return true;
    }
    if (!u->is_queued) {
        enter(c, u);
        if (hf__client_is_ready(c)) {
            tell(c, u, HF_OK);
            return false; /* it steps again after them */
        }
    }
    return u->has_result;
}

bool hf__client_prepare_step(struct hf_client *c, struct hf__unready *u)
{
    bool is_answered = false;
    bool is_first = false;

    u->result = hf__client_is_ready(c) ? (int)HF_OK : start_threads(c, u->err);
    if (u->result == HF_OK) {
        hf__mutex_lock(&c->mutex);
        is_answered = has_answer(c, u);
        u->result = is_answered && u->has_result ? u->told : (int)HF_OK;
        is_first = !is_answered && !hf__client_is_ready(c) && begins(c);
        hf__mutex_unlock(&c->mutex);
    }
    if (u->result != HF_OK || is_answered) {
        hf__client_prepare_leave(c, u);
        return true;
    }
    if (is_first) {
        hf__session_submit(&c->renew, &c->connect);
    }
    return false;
}

void hf__client_prepare_leave(struct hf_client *c, struct hf__unready *u)
{
    HF_SCOPED_LOCK(&c->mutex);

    if (u->is_queued) {
        hf__list_remove(&u->link);
        u->is_queued = false;
        c->n_unready--;
    }
}

int hf__client_prepare(struct hf_client *c, hf_error *err)
{
    struct hf__parker parker = {0};
    struct hf__unready u = {.parker = &parker, .err = err};

    if (hf__client_is_ready(c)) {
        return HF_OK;
    }
    for (;;) {
        unsigned seen = hf__parker_seen(&parker);

        if (hf__client_prepare_step(c, &u)) {
            return u.result;
        }
        hf__park(&parker, seen, HF__NEVER);
    }
}
