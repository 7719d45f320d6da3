/* SPDX-License-Identifier: MIT */
/*
 * Leaders, followers and the runner of one session. This file decides which
 * thread executes which requests when, and ensures that each completes exactly
 * once (I3); what they mean is their owners' business. Called by users'
 * threads, by the timer thread (submit) and by the runner. The store is never
 * asked under the mutex.
 */
#include "src/core/session.h"

#include "src/base/error.h"
#include "src/core/batch.h"

#include <string.h>

/* HF__AGAIN is retried this often before the request fails (HF_EUNAVAIL). */
#define AGAIN_MAX      20
#define AGAIN_PAUSE_MS 2
/* A batch may take io_timeout, so a caller leads only while its own limit is
 * that far away; it may return this much later than promised. */
#define LEAD_SLACK_MS 100

void hf__session_init(struct hf__session *s,
                      const struct hf__settings *settings, const char *role)
{
    memset(s, 0, sizeof *s);
    s->settings = settings;
    s->role = role;
    hf__mutex_init(&s->mutex);
    hf__list_init(&s->queue);
}

/* The invariant of session.h: some thread is responsible for the queue. */
static bool is_seen_to(const struct hf__session *s)
{
    switch (s->lead) {
    case HF__LEAD_NOBODY: /* closing takes what is queued */
        return hf__list_is_empty(&s->queue) || s->is_closing;
    case HF__LEAD_LEADER:
        return true;
    case HF__LEAD_CHOSEN:
    case HF__LEAD_BEGUN:
        return s->chosen->progress == HF__PROGRESS_QUEUED &&
               s->chosen->parker != NULL;
    case HF__LEAD_RUNNER:
        return s->runner.is_running;
    }
    return false;
}

static struct hf__session *hold(struct hf__session *s)
{
    hf__mutex_lock(&s->mutex);
    return s;
}

static void let_go(struct hf__session *s)
{
    HF_ASSERT(is_seen_to(s));
    hf__mutex_unlock(&s->mutex);
}
HF_CLEANUP_FN(struct hf__session, let_go);

/* HF__AGAIN: the request surely was not applied, and the store asks for a
 * retry; so it goes to the end of the queue. */
static bool goes_again(struct hf__session *s, struct hf__request *q)
{
    if (q->op.result != HF__AGAIN) {
        return false;
    }
    if (q->op.err != NULL && q->op.err->status == HF__AGAIN) {
        q->op.err->status = HF_EUNAVAIL; /* what users are told */
    }
    /* Without a waiting caller or a runner, no thread would execute it. */
    if (s->is_closing || (q->parker == NULL && !s->runner.is_running) ||
        ++q->again > AGAIN_MAX) {
        q->op.result = HF_EUNAVAIL;
        if (q->op.err != NULL && q->op.err->status == 0) {
            (void)hf__fail(q->op.err, HF_EUNAVAIL,
                           "the store asked for a retry %d times", AGAIN_MAX);
        }
        return false;
    }
    q->progress = HF__PROGRESS_QUEUED;
    hf__list_push(&s->queue, &q->link);
    return true;
}

/* Complete the batch. Waiting callers are told under the mutex and may free
 * their requests at once; the leader need not be told of its own. They are
 * woken in the kernel after the mutex is unlocked, for it is the first thing
 * that they want. Requests without a caller stay in the batch for their done().
 * Returns how many stay. */
static int complete_batch(struct hf__session *s, int n,
                          const struct hf__request *own, bool *ret_again)
{
    int left = 0;

    for (int i = 0; i < n; i++) {
        struct hf__request *q = s->batch[i];

        if (goes_again(s, q)) {
            *ret_again = true;
            continue;
        }
        q->progress = HF__PROGRESS_DONE;
        if (q->parker == NULL) {
            s->batch[left++] = q;
        } else if (q != own) {
            s->sleepers[s->n_sleepers] = hf__unpark_begin(q->parker);
            s->n_sleepers += s->sleepers[s->n_sleepers] != NULL;
        }
    }
    return left;
}

static void runner_main(void *arg);

/* ---- leading */

/* Under the mutex. */
static int start_runner(struct hf__session *s)
{
    int r = s->is_closing || s->runner.is_running
                ? HF_OK
                : hf__thread_start(&s->runner, "holdfast-run", runner_main, s);

    atomic_store(&s->has_runner, r == HF_OK);
    return r;
}

/* Have the runner lead, and start it if need be. False: there is no thread for
 * it, so every queued request has a caller that waits. Under the mutex. */
static bool wake_runner(struct hf__session *s)
{
    if (start_runner(s) != HF_OK) {
        return false;
    }
    s->lead = HF__LEAD_RUNNER;
    hf__unpark(&s->runner_parker);
    return true;
}

/* True: the request's caller leads here, and on no other session meanwhile. */
static bool engage(struct hf__request *q)
{
    q->is_engaged = hf__parker_engage(q->parker);
    return q->is_engaged;
}

/* Several requests may share a parker: only the one that engaged it disengages
 * it. */
static void disengage(struct hf__request *q)
{
    if (q->is_engaged) {
        q->is_engaged = false;
        hf__parker_disengage(q->parker);
    }
}

/* Choose the first waiting caller that has time to lead; with `at_all` also one
 * that is engaged elsewhere and will come later. NULL: none. */
static struct hf__request *choose(struct hf__session *s, hf__time now,
                                  bool at_all)
{
    HF__LIST_EACH (link, &s->queue) {
        struct hf__request *q = HF__ELEMENT(link, struct hf__request, link);

        if (q->parker != NULL && hf__before(now, q->lead_until) &&
            (engage(q) || at_all)) {
            s->lead = HF__LEAD_CHOSEN;
            s->chosen = q;
            return q;
        }
    }
    return NULL;
}

/* The queue is not empty and no thread is responsible for it: choose one. The
 * caller of `own`, if any, is this thread and need not be woken. Under the
 * mutex. */
static void appoint(struct hf__session *s, const struct hf__request *own,
                    hf__time now)
{
    const hf__time any_time = {INT64_MIN}; /* better late than never */
    struct hf__request *next = choose(s, now, false);

    if (next == NULL && wake_runner(s)) {
        return;
    }
    if (next == NULL) {
        next = choose(s, any_time, false);
    }
    if (next == NULL) {
        next = choose(s, any_time, true);
    }
    if (next != NULL && next != own) {
        hf__unpark(next->parker);
    }
}

/* Called under the mutex when the leader, or the chosen caller, stops being
 * that. */
static void pass_on(struct hf__session *s)
{
    s->lead = HF__LEAD_NOBODY;
    s->chosen = NULL;
    if (s->is_closing) {
        hf__unpark(&s->idle_parker);
    } else if (!hf__list_is_empty(&s->queue)) {
        appoint(s, NULL, hf__now());
    }
}

/* The callers that the last batch served have just been woken, and most will
 * ask again: let them enqueue first, so that batches stay large. A lone caller
 * does not pay for this. Called and returns with the mutex held. */
static void gather(struct hf__session *s)
{
    if (s->last_n > 1) {
        let_go(s);
        hf__thread_yield();
        hf__mutex_lock(&s->mutex);
    }
}

static void wake_sleepers(struct hf__session *s)
{
    for (int i = 0; i < s->n_sleepers; i++) {
        hf__unpark_end(s->sleepers[i]);
    }
    s->n_sleepers = 0;
}

/* Lead one batch, with or without `own` in it. Called and returns with the
 * mutex held. */
static void lead(struct hf__session *s, struct hf__request *own)
{
    bool again = false;
    int n = 0;
    int left = 0;

    s->lead = HF__LEAD_LEADER;
    s->chosen = NULL;
    gather(s);
    n = hf__batch_take(s);
    s->last_n = n;
    if (n > 0) {
        let_go(s);
        hf__batch_run(s, n);
        hf__mutex_lock(&s->mutex);
        left = complete_batch(s, n, own, &again);
    }
    if (left > 0 || again || s->n_sleepers > 0) {
        /* This thread still leads, so no other touches the batch. */
        let_go(s);
        wake_sleepers(s);
        for (int i = 0; i < left; i++) {
            s->batch[i]->done(s->batch[i]);
        }
        if (again) {
            hf__park(&s->idle_parker, hf__parker_seen(&s->idle_parker),
                     hf__after_ms(hf__now(), AGAIN_PAUSE_MS));
        }
        hf__mutex_lock(&s->mutex);
    }
    if (own != NULL) {
        disengage(own);
    }
    pass_on(s);
}

static void runner_main(void *arg)
{
    struct hf__session *s = arg;

    hf__mutex_lock(&s->mutex);
    while (!s->is_closing) {
        unsigned seen = hf__parker_seen(&s->runner_parker);

        if (s->lead == HF__LEAD_RUNNER) {
            lead(s, NULL);
            continue;
        }
        let_go(s);
        hf__park(&s->runner_parker, seen, HF__NEVER);
        hf__mutex_lock(&s->mutex);
    }
    let_go(s);
}

/* ---- callers */

static void enqueue(struct hf__session *s, struct hf__request *q)
{
    HF_ASSERT(q->progress == HF__PROGRESS_IDLE ||
              q->progress == HF__PROGRESS_DONE);
    q->progress = HF__PROGRESS_QUEUED;
    q->again = 0;
    q->op.result = HF_EUNAVAIL;
    hf__list_push(&s->queue, &q->link);
}

/* Under the mutex: the caller stops waiting. */
static enum hf__ending detach(struct hf__session *s, struct hf__request *q)
{
    disengage(q);
    q->parker = NULL;
    if (q->progress != HF__PROGRESS_QUEUED) {
        HF_ASSERT(q->done != NULL);
        return HF__ENDING_DETACHED;
    }
    hf__list_remove(&q->link);
    q->progress = HF__PROGRESS_IDLE;
    if (s->chosen == q) {
        pass_on(s);
    }
    return HF__ENDING_WITHDRAWN;
}

/* Returns whether this caller may lead: it was chosen, or it has time to lead
 * and is here before the runner. Under the mutex. */
static bool may_lead(struct hf__session *s, struct hf__request *q)
{
    if (s->lead == HF__LEAD_BEGUN && s->chosen == q) {
        pass_on(s);
    }
    if (s->lead == HF__LEAD_CHOSEN) {
        return s->chosen == q;
    }
    return (s->lead == HF__LEAD_RUNNER || s->lead == HF__LEAD_BEGUN) &&
           !s->is_closing && hf__before(hf__now(), q->lead_until) && engage(q);
}

/* The last moment at which a caller with this limit may begin to lead; 0:
 * never. */
static hf__time lead_limit(const struct hf__session *s,
                           const struct hf__parker *parker, hf__time limit)
{
    if (s->is_runners || hf__parker_is_ready_item(parker) || limit.ns == 0) {
        return (hf__time){0};
    }
    return hf__after_ms(limit, LEAD_SLACK_MS - s->settings->io_timeout_ms);
}

void hf__session_begin(struct hf__session *session, struct hf__request *q,
                       struct hf__parker *parker, hf__time limit)
{
    HF_AUTO(let_go_auto) struct hf__session *s = hold(session);

    if (s->is_closing) {
        q->op.result = HF_EUNAVAIL;
        q->progress = HF__PROGRESS_DONE;
        return;
    }
    q->parker = parker;
    q->lead_until = lead_limit(s, parker, limit);
    enqueue(s, q);
    if (s->lead != HF__LEAD_NOBODY) {
        return;
    }
    hf__time now = q->lead_until.ns == 0 ? HF__NEVER : hf__now();
    if (hf__before(now, q->lead_until)) {
        appoint(s, q, now);
    } else {
        s->lead = HF__LEAD_BEGUN;
        s->chosen = q;
    }
}

bool hf__session_advance(struct hf__session *session, struct hf__request *q)
{
    HF_AUTO(let_go_auto) struct hf__session *s = hold(session);

    if (q->progress != HF__PROGRESS_DONE && may_lead(s, q)) {
        lead(s, q);
    }
    if (q->progress != HF__PROGRESS_DONE) {
        return false;
    }
    q->parker = NULL;
    return true;
}

enum hf__ending hf__session_leave(struct hf__session *session,
                                  struct hf__request *q)
{
    HF_AUTO(let_go_auto) struct hf__session *s = hold(session);

    if (q->progress != HF__PROGRESS_DONE) {
        return detach(s, q);
    }
    q->parker = NULL;
    return HF__ENDING_RAN;
}

bool hf__session_poll(struct hf__session *s, struct hf__request *q,
                      hf__time limit, enum hf__ending *ret_ending)
{
    *ret_ending = HF__ENDING_RAN;
    if (hf__session_advance(s, q)) {
        return true;
    }
    if (hf__before(hf__now(), limit)) {
        return false;
    }
    *ret_ending = hf__session_leave(s, q);
    return true;
}

void hf__session_submit(struct hf__session *s, struct hf__request *q)
{
    bool is_refused = false;

    q->parker = NULL;
    hf__mutex_lock(&s->mutex);
    is_refused = s->is_closing;
    if (!is_refused) {
        HF_ASSERT(s->runner.is_running);
        enqueue(s, q);
        if (s->lead == HF__LEAD_NOBODY || s->lead == HF__LEAD_BEGUN) {
            pass_on(s);
        }
    }
    let_go(s);
    if (is_refused) {
        q->op.result = HF_EUNAVAIL;
        q->progress = HF__PROGRESS_DONE;
        q->done(q);
    }
}

/* ---- opening and closing */

int hf__session_connect(struct hf__session *s, int64_t limit_ms, hf_error *err)
{
    return hf__batch_connect(s, hf__after_ms(hf__now(), limit_ms), err);
}

int hf__session_start_runner(struct hf__session *s)
{
    if (atomic_load(&s->has_runner)) {
        return HF_OK; /* as for every acquire but the first */
    }
    HF_SCOPED_LOCK(&s->mutex);
    return start_runner(s);
}

/* Take everything out of the queue and fail it; under the mutex. Requests
 * without a waiting caller go to `unwaited`. */
static void fail_queue(struct hf__session *s, struct hf__link *unwaited)
{
    struct hf__link *link = NULL;

    if (s->chosen != NULL) {
        disengage(s->chosen);
        s->chosen = NULL;
    }
    s->lead = HF__LEAD_NOBODY;
    while ((link = hf__list_pop(&s->queue)) != NULL) {
        struct hf__request *q = HF__ELEMENT(link, struct hf__request, link);

        q->op.result = HF_EUNAVAIL;
        q->progress = HF__PROGRESS_DONE;
        if (q->parker != NULL) {
            hf__unpark(q->parker);
        } else {
            hf__list_push(unwaited, &q->link);
        }
    }
}

void hf__session_close(struct hf__session *s)
{
    struct hf__link unwaited;
    struct hf__link *link = NULL;

    hf__list_init(&unwaited);
    hf__mutex_lock(&s->mutex);
    s->is_closing = true;
    while (s->lead == HF__LEAD_LEADER) {
        unsigned seen = hf__parker_seen(&s->idle_parker);

        if (s->is_executing) {
            hf__conn_interrupt(&s->conn);
        }
        let_go(s);
        hf__park(&s->idle_parker, seen, hf__after_ms(hf__now(), 20));
        hf__mutex_lock(&s->mutex);
    }
    fail_queue(s, &unwaited);
    hf__unpark(&s->runner_parker);
    let_go(s);

    while ((link = hf__list_pop(&unwaited)) != NULL) {
        struct hf__request *q = HF__ELEMENT(link, struct hf__request, link);

        q->done(q);
    }
    hf__thread_stop(&s->runner);
    hf__conn_close(&s->conn);
}

void hf__session_fini(struct hf__session *s)
{
    hf__mutex_fini(&s->mutex);
}

struct hf__server_info hf__session_server_info(struct hf__session *s)
{
    HF_SCOPED_LOCK(&s->mutex);
    return s->server_info;
}
