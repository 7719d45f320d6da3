/* SPDX-License-Identifier: MIT */
/*
 * Acquires several names. A round tries all missing names in one batch. It
 * keeps those that come, in the order of the stored keys, before the first one
 * that it did not get, and gives the rest back. That one name is then waited
 * for like any other (claim.c), while the timer thread has what is kept
 * renewed, and the next round tries the names after it. The kept names only
 * grow in number, so this ends; if one of them is lost meanwhile, it starts
 * again from the beginning. Runs on the caller's thread.
 */
#include "src/core/many.h"

#include "src/base/error.h"
#include "src/core/cancel.h"
#include "src/core/claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank is a name's index in the order of the stored keys. */
struct many {
    struct hf_client *client;
    const char *const *names;
    const hf_acquire_opts *opts;
    struct hf_lock *lock;
    int n;
    int kept;                              /* names granted, from rank 0 on */
    int order[HF_MANY_MAX];                /* rank to the caller's index */
    struct hf__claim *claims[HF_MANY_MAX]; /* of this round, by rank */
    bool is_started[HF_MANY_MAX];          /* the claim was started */
    struct hf__claim *queued;              /* the claim waited for by itself */
    struct hf__parker own_parker;
    struct hf__parker *parker; /* own, or the cancel object's */
    const atomic_int *stop;    /* the cancel object's flag; NULL: none */
    /* the store has told of holders, and has answered every request since */
    bool is_heard;
    /* when the wait for holders ends, for all names together */
    hf__time patience;
    hf__time answer_by; /* the call returns by then */
    hf_error err;
};

/* ---- the order of names */

struct named {
    const char *name;
    int at;
};

/* All keys of a client have the same prefix, so they sort as the names do. */
static int compare(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name,
                  ((const struct named *)b)->name);
}

static void sort(const char *const *names, int n, struct named *ret_sorted)
{
    for (int i = 0; i < n; i++) {
        ret_sorted[i] = (struct named){names[i], i};
    }
    /* cppcheck-suppress uninitvar; it was filled just now */
    qsort(ret_sorted, (size_t)n, sizeof *ret_sorted, compare);
}

int hf__many_check(const char *const *names, int n, hf_error *err)
{
    struct named sorted[HF_MANY_MAX];

    if (names == NULL || n < 1 || n > HF_MANY_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "%d names: a lock needs 1 to %d of them", n,
                        HF_MANY_MAX);
    }
    for (int i = 0; i < n; i++) {
        int r = hf__name_check(names[i], err);

        if (r != HF_OK) {
            return r;
        }
    }
    sort(names, n, sorted);
    for (int i = 1; i < n; i++) {
        if (compare(&sorted[i - 1], &sorted[i]) == 0) {
            return hf__fail(err, HF_EINVAL, "\"%s\" is named twice",
                            sorted[i].name);
        }
    }
    return HF_OK;
}

static struct hf_lock *part(struct many *m, int rank)
{
    return &m->lock->parts[m->order[rank]];
}

static const char *name_of(const struct many *m, int rank)
{
    return m->names[m->order[rank]];
}

/* ---- claims */

/* Make a claim that waits up to wait_ms. The library renews its grant while
 * other names are waited for, and max_hold_ms does not run yet: see
 * begin_hold(). */
static int new_claim(struct many *m, int rank, int64_t wait_ms,
                     struct hf__claim **ret_claim)
{
    hf_acquire_opts opts = *m->opts;
    int r = HF_OK;

    opts.wait_ms = wait_ms;
    opts.auto_renew = 1;
    opts.max_hold_ms = 0;
    r = hf__claim_new(m->client, name_of(m, rank), &opts, ret_claim);
    if (r != HF_OK) {
        return hf__fail(&m->err, r, "out of memory");
    }
    (*ret_claim)->is_heard = m->is_heard;
    (*ret_claim)->patience = m->patience;
    (*ret_claim)->answer_by = m->answer_by;
    (*ret_claim)->parker = m->parker;
    return HF_OK;
}

/* A store's error text need not contain the name, so add it. */
static void name_failure(struct many *m, int rank)
{
    hf_error plain = m->err;
    char name[HF_NAME_MAX + 3];

    (void)snprintf(name, sizeof name, "\"%s\"", name_of(m, rank));
    if (plain.status < 0 && strstr(plain.text, name) == NULL) {
        (void)hf__fail_native(&m->err, plain.status, plain.native, "%s: %s",
                              name, plain.text);
        memcpy(m->err.sqlstate, plain.sqlstate, sizeof plain.sqlstate);
    }
}

static bool is_stopped(const struct many *m)
{
    return m->stop != NULL && atomic_load(m->stop) != 0;
}

/* ---- keeping and giving back */

/* The next name by rank is granted. */
static void keep(struct many *m)
{
    struct hf_lock *next = part(m, m->kept);

    hf__grant_listen(next->grant, &next->listener, m->parker);
    m->kept++;
}

/* A kept grant has been lost. */
static bool is_torn(const struct many *m)
{
    for (int rank = 0; rank < m->kept; rank++) {
        int state = atomic_load(&m->lock->parts[m->order[rank]].grant->state);

        if (state != (int)HF_STATE_HELD && state != (int)HF_STATE_AT_RISK) {
            return true;
        }
    }
    return false;
}

/* Give back everything from that rank on, in one batch. No caller has used it,
 * so the names open at once. What is not confirmed within io_timeout, or until
 * `by`, is settled in the background. */
static void give_back(struct many *m, int from, hf__time by)
{
    struct hf_lock *locks[HF_MANY_MAX];
    int n = 0;

    for (int rank = from; rank < m->n; rank++) {
        if (part(m, rank)->grant != NULL) {
            locks[n++] = part(m, rank);
        }
    }
    for (int i = 0; i < n; i++) {
        hf__lock_waive(locks[i]);
    }
    if (n > 0) {
        int r = hf__lock_release_all(locks, n, by, NULL);

        m->is_heard = m->is_heard && r >= 0;
    }
    for (int i = 0; i < n; i++) {
        hf__lock_clear(locks[i]);
    }
    m->kept = from < m->kept ? from : m->kept;
}

/* ---- a round */

/* Note what the store's answer tells: others have the name, it is granted now,
 * or there was no answer. */
static void hear(struct many *m, int r)
{
    if (r == HF_BUSY || r == HF_OK) {
        m->is_heard = m->opts->wait_ms != 0;
    } else if (r != HF__AGAIN) {
        m->is_heard = false;
    }
}

/* The claim can only sleep although it has no attempt under way: another
 * attempt of this client for the name is, or the store did not answer. */
static bool is_idle(const struct hf__claim *c)
{
    return (c->stage == HF__STAGE_TURN || c->stage == HF__STAGE_PAUSE) &&
           !hf__claim_is_unknown(c);
}

/* Step the claims that have not ended, until each has its answer or can only
 * sleep. */
static bool step_all(void *arg, hf__time *ret_until)
{
    struct many *m = arg;
    int busy = 0;

    for (int rank = m->kept; rank < m->n; rank++) {
        struct hf__claim *c = m->claims[rank];
        hf__time until = HF__NEVER;

        if (c->stage != HF__STAGE_ENDED && !hf__claim_step(c, &until)) {
            *ret_until = hf__earlier(*ret_until, until);
            busy += !is_idle(c);
        }
    }
    return busy == 0;
}

/* Cancel the claims that can only sleep: never block while holding names that
 * others need. */
static void call_off_rest(struct many *m)
{
    for (int rank = m->kept; rank < m->n && m->is_started[rank]; rank++) {
        hf__time until = HF__NEVER;
        bool is_ended = m->claims[rank]->stage == HF__STAGE_ENDED;

        if (!is_ended) {
            hf__claim_call_off(m->claims[rank]);
            is_ended = hf__claim_step(m->claims[rank], &until);
            HF_ASSERT(is_ended); /* it was only sleeping */
        }
    }
}

/* What a claim's result means for the round. */
static int answer_of(const struct many *m, const struct hf__claim *c)
{
    if (c->result == HF_CANCELLED && !is_stopped(m) &&
        !hf__claim_is_unknown(c)) {
        return HF__AGAIN; /* call_off_rest() cancelled it */
    }
    return c->result;
}

/* How much a result counts in a round: most of all a final failure, which may
 * hide a grant; then a result that makes us give up everything; then a name
 * that was not granted. */
static int weight_of(int r)
{
    if (r == HF_OK) {
        return 0;
    }
    if (r == HF_BUSY || r == HF_EUNAVAIL || r == HF__AGAIN) {
        return 1;
    }
    return r > 0 ? 2 : 3;
}

/* The rank whose result decides the round: the first of those that count most;
 * n if all were granted. */
static int find_verdict(const struct many *m)
{
    int verdict = m->n;
    int most = 1;

    for (int rank = m->n - 1; rank >= m->kept; rank--) {
        int weight = weight_of(answer_of(m, m->claims[rank]));

        if (weight >= most) {
            verdict = rank;
            most = weight;
        }
    }
    return verdict;
}

/* Create and start a claim for each missing name. */
static int begin_round(struct many *m)
{
    int r = HF_OK;

    for (int rank = m->kept; rank < m->n && r == HF_OK; rank++) {
        r = new_claim(m, rank, 0, &m->claims[rank]);
        if (r == HF_OK) {
            r = hf__claim_start(m->claims[rank], &m->err);
            m->is_started[rank] = r == HF_OK;
        }
    }
    return r;
}

/* At least one of the claims got no answer. */
static bool has_missed(const struct many *m)
{
    for (int rank = m->kept; rank < m->n && m->claims[rank] != NULL; rank++) {
        const struct hf__claim *c = m->claims[rank];

        if (c->failures > 0 && c->result != HF_OK && c->result != HF_BUSY) {
            return true;
        }
    }
    return false;
}

/* All claims that were started have ended: take their grants. */
static void end_round(struct many *m, int verdict)
{
    for (int rank = m->kept; rank < m->n && m->claims[rank] != NULL; rank++) {
        struct hf__claim *c = m->claims[rank];

        if (m->is_started[rank]) {
            int r = hf__claim_finish(c, &part(m, rank)->grant,
                                     rank == verdict ? &m->err : NULL);

            (void)r; /* it is in c->result */
        }
        m->is_started[rank] = false;
        m->claims[rank] = NULL;
        hf__claim_unref(c);
    }
}

/* HF_OK: all names are granted. HF_BUSY, HF_EUNAVAIL or HF__AGAIN (not asked):
 * the first missing name was not. Otherwise all must be given back. */
static int try_rest(struct many *m)
{
    int verdict = m->n;
    int r = begin_round(m);

    if (r == HF_OK) {
        hf__run_steps(m->parker, step_all, m);
    }
    call_off_rest(m);
    if (r == HF_OK) {
        verdict = find_verdict(m);
        r = verdict == m->n ? (int)HF_OK : answer_of(m, m->claims[verdict]);
    }
    hear(m, has_missed(m) ? (int)HF_EUNAVAIL : r);
    end_round(m, verdict);
    if (verdict < m->n) {
        name_failure(m, verdict);
    }
    while (m->kept < verdict && part(m, m->kept)->grant != NULL) {
        keep(m);
    }
    return r;
}

/* ---- waiting for one name */

static bool step_queued(void *arg, hf__time *ret_until)
{
    struct many *m = arg;

    if (is_torn(m)) {
        hf__claim_call_off(m->queued);
    }
    return hf__claim_step(m->queued, ret_until);
}

/* Wait for the first missing name. HF_OK: it is kept. HF_LOST: a kept name was
 * lost meanwhile. Otherwise the reason why all must be given back. */
static int queue(struct many *m)
{
    struct hf__claim *c = NULL;
    int r = new_claim(m, m->kept, m->opts->wait_ms, &c);

    r = r == HF_OK ? hf__claim_start(c, &m->err) : r;
    if (r == HF_OK) {
        m->queued = c;
        hf__run_steps(m->parker, step_queued, m);
        r = hf__claim_finish(c, &part(m, m->kept)->grant, &m->err);
        name_failure(m, m->kept);
    }
    if (c != NULL) {
        hf__claim_unref(c);
    }
    hear(m, r);
    if (r == HF_OK) {
        keep(m);
    }
    return r == HF_CANCELLED && !is_stopped(m) ? (int)HF_LOST : r;
}

/* The time is over: with holders in the way, or (wait_ms 0) with a store that
 * did not answer in time. */
static int too_late(const struct many *m)
{
    return m->opts->wait_ms == 0 ? (int)HF_EUNAVAIL : (int)HF_TIMEDOUT;
}

/* HF_OK: the next name may be asked for. Otherwise why not. */
static int go_on(struct many *m)
{
    const char *name = name_of(m, m->kept);

    if (is_torn(m)) {
        return HF_LOST;
    }
    if (is_stopped(m)) {
        return hf__fail(&m->err, HF_CANCELLED,
                        "the wait for \"%s\" was cancelled", name);
    }
    if (m->kept > 0 && !hf__before(hf__now(), m->answer_by)) {
        return hf__fail(&m->err, too_late(m),
                        "\"%s\" was granted when no time was left for \"%s\"",
                        name_of(m, m->kept - 1), name);
    }
    return HF_OK;
}

/* HF_OK: all names are kept. HF_LOST: start again. Names granted beyond the one
 * to wait for are given back before the wait. If everything is given up,
 * acquire() gives them back with the rest, in one batch and one io_timeout. */
static int fill(struct many *m)
{
    while (m->kept < m->n) {
        int r = go_on(m);

        if (r == HF_OK) {
            /* For the last name, a claim that waits does the round itself. */
            r = m->kept == m->n - 1 ? (int)HF__AGAIN : try_rest(m);
            if (r == HF__AGAIN || r == HF_EUNAVAIL ||
                (r == HF_BUSY && m->opts->wait_ms != 0)) {
                give_back(m, m->kept, m->answer_by);
                r = queue(m);
            }
        }
        if (r != HF_OK) {
            return r;
        }
    }
    return HF_OK;
}

/* ---- all of it */

/* The holder has all names now, so max_hold_ms and auto_renew count from now
 * on. */
static void begin_hold(struct hf__grant *h, const hf_acquire_opts *opts)
{
    hf__time now = hf__now();
    unsigned actions = 0;

    hf__mutex_lock(&h->mutex);
    hf__grant_fsm_begin(&h->fsm, opts->max_hold_ms, opts->auto_renew != 0, now);
    actions = hf__grant_feed(
        h, (struct hf__fsm_event){.kind = HF__FSM_TICK, .now = now});
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, actions);
}

/* All names are granted and now belong to the caller. HF_LOST if one has been
 * lost by now. */
static int hand_over(struct many *m)
{
    for (int i = 0; i < m->n; i++) {
        struct hf_lock *own = &m->lock->parts[i];

        hf__grant_listen(own->grant, &own->listener, &m->lock->parker);
        begin_hold(own->grant, m->opts);
    }
    m->lock->grant = m->lock->parts[0].grant;
    return hf_held(m->lock) != 0 ? (int)HF_OK : (int)HF_LOST;
}

/* After HF_LOST: HF_OK if there is time to start again. */
static int fail_lost(struct many *m)
{
    m->lock->grant = NULL;
    if (m->opts->wait_ms != 0 && hf__before(hf__now(), m->patience)) {
        return HF_OK;
    }
    return hf__fail(&m->err, too_late(m),
                    "one of the %d names was lost again before all were got",
                    m->n);
}

static int acquire(struct many *m)
{
    for (;;) {
        int r = fill(m);

        r = r == HF_OK ? hand_over(m) : r;
        if (r == HF_OK) {
            return r;
        }
        give_back(m, 0, HF__NEVER);
        r = r == HF_LOST ? fail_lost(m) : r;
        if (r != HF_OK) {
            return r;
        }
    }
}

int hf__many_acquire(struct hf_client *client, const char *const *names,
                     const hf_acquire_opts *opts, struct hf_lock *lock,
                     hf_error *err)
{
    hf__time now = hf__now();
    struct named sorted[HF_MANY_MAX];
    struct many m = {.client = client,
                     .names = names,
                     .opts = opts,
                     .lock = lock,
                     .n = lock->n_parts,
                     .err = HF_ERROR_INIT};
    int r = HF_OK;

    m.patience = opts->wait_ms == HF_FOREVER ? HF__NEVER
                                             : hf__after_ms(now, opts->wait_ms);
    m.answer_by = hf__later(m.patience, hf__client_limit(client));
    m.parker = &m.own_parker;
    if (opts->cancel != NULL) {
        m.parker = &opts->cancel->parker;
        m.stop = &opts->cancel->is_fired;
    }
    sort(names, m.n, sorted);
    for (int i = 0; i < m.n; i++) {
        m.order[i] = sorted[i].at;
    }
    /* This counts against the call's time; if it is cancelled already, it costs
     * no I/O. */
    r = is_stopped(&m) ? (int)HF_OK : hf__client_prepare(client, &m.err);
    r = r == HF_OK ? acquire(&m) : r;
    if (r != HF_OK) {
        hf__error_copy(err, &m.err);
    }
    return r;
}
