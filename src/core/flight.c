/* SPDX-License-Identifier: MIT */
/*
 * The stages of an asynchronous acquire: connected, not started before
 * (once_ms), granted, marked as started; and the way back. This file decides
 * what comes next and what its caller is told; each stage is stepped by who
 * knows it. Runs on the stepper's thread, at its ends on users'.
 */
#include "src/core/flight.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/core/api.h"
#include "src/core/cancel.h"
#include "src/core/claim.h"
#include "src/core/parting.h"

enum stage {
    STAGE_READY, /* wait for the renewal session */
    STAGE_PEEK,  /* has it been started? */
    STAGE_CLAIM,
    STAGE_MARK,   /* it is being started */
    STAGE_UNMARK, /* and taken back */
    STAGE_LET_GO  /* what was won is given back */
};

struct hf__flight {
    struct hf__job job;
    struct hf__notice notice;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf__claim *claim;
    hf_cancel *cancel; /* NULL: none */
    struct hf__follower follower;
    atomic_bool is_called_off;
    bool is_marked; /* the start counts */
    bool is_told;
    enum stage stage;
    struct hf__unready unready;
    struct hf__once_ask ask;
    struct hf__parting parting;
    int result;
    hf_error err;
    hf_acquire_fn fn;
    void *arg;
};

static void flight_free(struct hf__flight *f)
{
    struct hf_client *client = f->client;

    if (f->claim != NULL) {
        hf__claim_unref(f->claim);
    }
    hf__hold_free(f->lock);
    hf__free(f);
    hf__client_unref(client);
}

/* Nobody wants the lock any more. */
static bool is_stopped(const struct hf__flight *f)
{
    return atomic_load(&f->is_called_off) ||
           (f->cancel != NULL && atomic_load(&f->cancel->is_fired) != 0);
}

/* ---- stages: each gives true when the next step can be taken at once */

static bool go_on(struct hf__flight *f, enum stage stage)
{
    f->stage = stage;
    return true;
}

/* Its caller can be told. */
static bool arrive(struct hf__flight *f, int r, bool *ret_is_over)
{
    f->result = r;
    f->err.status = r; /* what was tried last may have said another */
    *ret_is_over = true;
    return false;
}

static int tell_cancelled(const struct hf__flight *f, hf_error *err)
{
    return hf__fail(err, HF_CANCELLED, "the wait for \"%.*s\" was cancelled",
                    f->claim->key.length - f->claim->key.name_at,
                    f->claim->key.bytes + f->claim->key.name_at);
}

static bool ask_once(struct hf__flight *f, enum hf__once_do what)
{
    f->ask =
        (struct hf__once_ask){.client = f->client,
                              .once = f->lock->once,
                              .what = what,
                              .owner = &f->claim->owner,
                              .parker = &f->job.member.parker,
                              .err = what == HF__ONCE_UNDO ? NULL : &f->err};
    return true;
}

static bool begin_claim(struct hf__flight *f, bool *ret_is_over)
{
    int r = HF_OK;

    if (f->lock->once != NULL) {
        hf__claim_set_limits(f->claim); /* the look had its own time */
    }
    r = hf__claim_start(f->claim, &f->err);
    return r == HF_OK ? go_on(f, STAGE_CLAIM) : arrive(f, r, ret_is_over);
}

static bool step_ready(struct hf__flight *f, bool *ret_is_over)
{
    if (is_stopped(f)) {
        hf__client_prepare_leave(f->client, &f->unready);
        return arrive(f, tell_cancelled(f, &f->err), ret_is_over);
    }
    if (!hf__client_prepare_step(f->client, &f->unready)) {
        return false;
    }
    if (f->unready.result != HF_OK) {
        return arrive(f, f->unready.result, ret_is_over);
    }
    return f->lock->once == NULL
               ? begin_claim(f, ret_is_over)
               : ask_once(f, HF__ONCE_PEEK) && go_on(f, STAGE_PEEK);
}

static bool step_peek(struct hf__flight *f, bool *ret_is_over,
                      hf__time *ret_until)
{
    bool is_vain = is_stopped(f);

    if (is_vain) {
        hf__once_hurry(&f->ask, (hf__time){1}); /* it need not be answered */
        f->ask.err = NULL;
    }
    if (!hf__once_step(&f->ask, ret_until)) {
        return false;
    }
    if (is_vain) {
        return arrive(f, tell_cancelled(f, &f->err), ret_is_over);
    }
    return f->ask.result == HF_OK ? begin_claim(f, ret_is_over)
                                  : arrive(f, f->ask.result, ret_is_over);
}

/* What was won is let go; its caller is told r, unless it has been. */
static bool turn_back(struct hf__flight *f, int r)
{
    f->result = r;
    if (f->is_marked) {
        f->is_marked = false;
        return ask_once(f, HF__ONCE_UNDO) && go_on(f, STAGE_UNMARK);
    }
    f->parting = (struct hf__parting){.parker = &f->job.member.parker};
    hf__hold_leave(f->lock, &f->parting);
    if (f->parting.stage != HF__PARTING_ENDED) { /* nobody else holds on */
        hf__hold_waive(f->lock);
    }
    return go_on(f, STAGE_LET_GO);
}

static bool step_claim(struct hf__flight *f, bool *ret_is_over,
                       hf__time *ret_until)
{
    int r = HF_OK;

    if (atomic_load(&f->is_called_off)) {
        atomic_store(&f->claim->is_called_off, 1);
    }
    if (!hf__claim_step(f->claim, ret_until)) {
        return false;
    }
    r = hf__claim_finish(f->claim, &f->lock->handle, &f->err);
    if (r != HF_OK || f->lock->once == NULL) {
        return arrive(f, r, ret_is_over);
    }
    if (is_stopped(f)) {
        return turn_back(f, tell_cancelled(f, &f->err));
    }
    return ask_once(f, HF__ONCE_MARK) && go_on(f, STAGE_MARK);
}

static bool step_mark(struct hf__flight *f, bool *ret_is_over,
                      hf__time *ret_until)
{
    if (!hf__once_step(&f->ask, ret_until)) {
        return false;
    }
    if (f->ask.result != HF_OK) {
        return turn_back(f, f->ask.result);
    }
    f->is_marked = true;
    f->err = (hf_error)HF_ERROR_INIT; /* of the tries before */
    return arrive(f, HF_OK, ret_is_over);
}

static bool step_unmark(struct hf__flight *f, hf__time *ret_until)
{
    return hf__once_step(&f->ask, ret_until) && turn_back(f, f->result);
}

static bool step_let_go(struct hf__flight *f, bool *ret_is_over,
                        hf__time *ret_until)
{
    f->parting.limit =
        hf__earlier(f->parting.limit, hf__client_close_by(f->client));
    if (!hf__parting_step(&f->parting, ret_until)) {
        return false;
    }
    return arrive(f, f->result, ret_is_over);
}

static bool step_stage(struct hf__flight *f, bool *ret_is_over,
                       hf__time *ret_until)
{
    switch (f->stage) {
    case STAGE_READY:
        return step_ready(f, ret_is_over);
    case STAGE_PEEK:
        return step_peek(f, ret_is_over, ret_until);
    case STAGE_CLAIM:
        return step_claim(f, ret_is_over, ret_until);
    case STAGE_MARK:
        return step_mark(f, ret_is_over, ret_until);
    case STAGE_UNMARK:
        return step_unmark(f, ret_until);
    case STAGE_LET_GO:
        return step_let_go(f, ret_is_over, ret_until);
    }
    HF_ASSERT(false && "a stage of no kind");
    return false;
}

static bool step(struct hf__job *j, hf__time *ret_until)
{
    struct hf__flight *f = HF__ELEMENT(j, struct hf__flight, job);
    bool is_over = false;

    if (f->stage == STAGE_MARK || f->stage == STAGE_UNMARK) {
        hf__time close_by = hf__client_close_by(f->client);

        if (!hf__is_never(close_by)) {
            hf__once_hurry(&f->ask, close_by);
        }
    }
    while (step_stage(f, &is_over, ret_until)) {
        /* The next stage. */
    }
    return is_over;
}

/* ---- the ends */

static void call_off(struct hf__job *j)
{
    struct hf__flight *f = HF__ELEMENT(j, struct hf__flight, job);

    atomic_store(&f->is_called_off, true);
    hf__unpark(&j->member.parker);
}

static void count(struct hf_client *client, int r, bool is_shared)
{
    struct hf__counters *counters = &client->counters;

    atomic_fetch_sub(&client->waiting, 1);
    if (r == HF_OK) {
        hf__count(is_shared ? &counters->reentered : &counters->acquired, 1);
    } else {
        hf__count_refusal(counters, r);
    }
}

static void end(struct hf__job *j)
{
    struct hf__flight *f = HF__ELEMENT(j, struct hf__flight, job);

    if (f->is_told) {
        flight_free(f);
        return;
    }
    if (f->cancel != NULL) {
        hf__cancel_unfollow(f->cancel, &f->follower);
    }
    count(f->client, f->result, false);
    hf__board_post(&f->client->board, &f->notice);
}

/* The grant came, but nobody wants it any more. */
static void come_back(struct hf__flight *f)
{
    f->is_told = true;
    hf__count(&f->client->counters.cancelled, 1);
    hf__stepper_adopt(&f->client->stepper, &f->job);
    f->job.is_over = false;
    (void)turn_back(f, HF_CANCELLED);
    hf__stepper_add(&f->client->stepper, &f->job);
}

static bool is_unwanted(const struct hf__flight *f)
{
    return f->result == HF_OK &&
           (is_stopped(f) || !hf__is_never(hf__client_close_by(f->client)));
}

static void tell(struct hf__notice *n)
{
    struct hf__flight *f = HF__ELEMENT(n, struct hf__flight, notice);
    hf_acquire_fn fn = f->fn;
    void *arg = f->arg;
    hf_error err = f->err;

    if (is_unwanted(f)) {
        (void)tell_cancelled(f, &err);
        come_back(f);
        fn(arg, HF_CANCELLED, NULL, &err);
        return;
    }
    if (f->result == HF_OK) {
        hf_lock *lock = HF_MOVE(f->lock);

        flight_free(f);
        fn(arg, HF_OK, lock, &err);
        return;
    }
    int r = f->result;

    flight_free(f);
    fn(arg, r, NULL, &err);
}

/* ---- the start */

static int build(struct hf__flight *f, const char *name,
                 const hf_acquire_opts *opts, hf_error *err)
{
    hf_acquire_opts own = *opts;
    int r = HF_OK;

    own.cancel = NULL; /* it is followed, nobody sleeps there */
    f->lock = hf__hold_new();
    if (f->lock != NULL && opts->once_ms != 0) {
        r = hf__once_new(f->client, name, opts, &f->lock->once, err);
    }
    if (r != HF_OK) {
        return r;
    }
    r = f->lock == NULL ? (int)HF_ENOMEM
                        : hf__claim_new(f->client, name, &own, &f->claim);
    if (r != HF_OK) {
        return hf__fail(err, r, "out of memory");
    }
    f->claim->parker = &f->job.member.parker;
    if (opts->cancel != NULL) {
        f->cancel = opts->cancel;
        f->claim->stop = &opts->cancel->is_fired;
    }
    return HF_OK;
}

int hf__flight_new(struct hf_client *client, const char *name,
                   const hf_acquire_opts *opts, struct hf__flight **ret_flight,
                   hf_error *err)
{
    struct hf__flight *f = hf__alloc(sizeof *f);
    int r = HF_OK;

    if (f == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    f->client = hf__client_ref(client);
    f->err = (hf_error)HF_ERROR_INIT;
    hf__list_init(&f->notice.link);
    f->notice.tell = tell;
    f->job.step = step;
    f->job.end = end;
    f->job.call_off = call_off;
    hf__stepper_adopt(&client->stepper, &f->job);
    f->unready.parker = &f->job.member.parker;
    f->unready.err = &f->err;
    f->follower.parker = &f->job.member.parker;
    r = build(f, name, opts, err);
    if (r == HF_OK && (hf__stepper_start(&client->stepper) != HF_OK ||
                       hf__session_start_runner(hf__client_session(
                           client, &f->claim->key)) != HF_OK)) {
        r = hf__fail(err, HF_EUNAVAIL,
                     "the system gives no thread for asynchronous calls: "
                     "raise the limit (ulimit -u)");
    }
    if (r != HF_OK) {
        flight_free(f);
        return r;
    }
    *ret_flight = f;
    return HF_OK;
}

void hf__flight_start(struct hf__flight *f, const hf_acquire_opts *opts,
                      hf_acquire_fn fn, void *arg)
{
    int r = HF_OK;

    f->fn = fn;
    f->arg = arg;
    atomic_fetch_add(&f->client->waiting, 1);
    r = hf__reenter(f->client, hf__handle_name(f->claim->handle), opts, f->lock,
                    &f->err);
    if (r != HF_BUSY) {
        f->result = r;
        count(f->client, r, true);
        hf__board_post(&f->client->board, &f->notice);
        return;
    }
    if (f->cancel != NULL) {
        hf__cancel_follow(f->cancel, &f->follower);
    }
    hf__stepper_add(&f->client->stepper, &f->job);
}
