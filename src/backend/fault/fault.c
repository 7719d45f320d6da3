/* SPDX-License-Identifier: MIT */
/*
 * fault+X: the store X behind a bad network. Each X that is asked for gets a
 * decorated vtable with X's capabilities and options; its session state has X's
 * own state at its end. The plan decides which call meets which fault; this
 * file carries the fault out. In a batch the operation that is hit is sent
 * alone, and those around it unchanged: without rules all calls pass untouched.
 * Nothing is allocated once a session is open.
 * Thread: as the store behind it.
 */
#include "src/backend/cell.h"
#include "src/backend/conn.h"
#include "src/backend/fault/plan.h"
#include "src/backend/registry.h"

#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/wake.h"

#include <stdio.h>
#include <string.h>

enum { STORES_MAX = 16, OPTIONS_MAX = 32, URL_OPTIONS_MAX = 64 };

struct session {
    struct hf__head head;
    /* This is NULL until the inner state may be closed and interrupted. */
    _Atomic(const struct hf__backend *) inner;
    struct hf__fault_plan *plan;
    struct hf__parker parker;
    bool is_lost; /* a reply was lost: the session ends after the batch */
    _Alignas(max_align_t) unsigned char state[]; /* the inner session's state */
};

struct decorated {
    struct hf__backend backend;
    const struct hf__backend *inner;
    const char *options[OPTIONS_MAX + 1];
    char scheme[32];
};

static const char *const own_options[] = {"fault", "seed"};
enum { N_OWN = 2 };

static struct hf__process_mutex table_mutex;
static struct decorated table[STORES_MAX]; /* only grows; searched by `inner` */

static struct hf__head *inner_head(struct session *s)
{
    return (struct hf__head *)(void *)s->state;
}

/* Tell the inner session which call runs. Only interrupt() tells it of an
 * interrupt: copying the flag here could undo that. */
static void *enter(struct session *s)
{
    inner_head(s)->generation = s->head.generation;
    return s->state;
}

/* Pause for `ms`. Returns false if the deadline or an interrupt came first. */
static bool let_pass(struct session *s, int64_t ms, hf__time deadline)
{
    hf__time end = hf__after_ms(hf__now(), ms);

    for (;;) {
        unsigned seen = hf__parker_seen(&s->parker);
        hf__time now = hf__now();

        if (!hf__before(now, end)) {
            return true;
        }
        if (!hf__before(now, deadline) || hf__is_interrupted(&s->head)) {
            return false;
        }
        hf__park(&s->parker, seen, hf__earlier(end, deadline));
    }
}

static int fail_lost(hf_error *err, int status)
{
    return hf__fail(err, status, "the connection was lost (injected fault)");
}

/* ---- operations */

static int execute_inner(struct session *s, struct hf__op *ops[], int n,
                         hf__time deadline, hf_error *err)
{
    return n == 0 ? HF_OK : s->inner->execute(enter(s), ops, n, deadline, err);
}

/* Apply a copy of the operation, whose reply reaches no caller. */
static int execute_unseen(struct session *s, const struct hf__op *op,
                          hf__time deadline)
{
    struct hf__op copy = *op;
    struct hf__op *one = &copy;

    copy.ret_record = NULL;
    copy.ret_participants = NULL;
    copy.err = NULL;
    copy.result = HF_EUNAVAIL;
    return execute_inner(s, &one, 1, deadline, NULL);
}

/* Run the one operation that is hit. A negative result means that the following
 * ones cannot be sent. */
static int execute_hit(struct session *s, struct hf__op *op,
                       struct hf__fault fault, hf__time deadline, hf_error *err)
{
    int r = HF_OK;

    switch (fault.what) {
    case HF__FAULT_DIE:
        return fail_lost(err, HF_EUNAVAIL);
    case HF__FAULT_AGAIN:
        op->result = hf__fail(op->err, HF__AGAIN, "asked to try again (fault)");
        return HF_OK;
    case HF__FAULT_DUPLICATE:
        r = execute_inner(s, &op, 1, deadline, err);
        return r < 0 ? r : execute_unseen(s, op, deadline);
    case HF__FAULT_DELAY:
        if (let_pass(s, fault.pause_ms, deadline)) {
            return execute_inner(s, &op, 1, deadline, err);
        }
        break;
    case HF__FAULT_LATE_REPLY:
        r = execute_inner(s, &op, 1, deadline, err);
        if (r < 0 || let_pass(s, fault.pause_ms, deadline)) {
            return r;
        }
        break;
    case HF__FAULT_LOSE_REPLY:
        r = execute_unseen(s, op, deadline);
        break;
    case HF__FAULT_LOSE_REQUEST:
    case HF__FAULT_MOVE: /* only for an open */
    case HF__FAULT_NONE:
        break;
    }
    op->result = HF_EUNKNOWN;
    s->is_lost = true;
    return r;
}

static int fault_execute(void *state, struct hf__op *ops[], int n,
                         hf__time deadline, hf_error *err)
{
    struct session *s = state;
    int from = 0;

    for (int i = 0; i < n; i++) {
        struct hf__fault fault = hf__fault_next(s->plan, (int)ops[i]->kind);
        if (fault.what == HF__FAULT_NONE) {
            continue;
        }
        int r = execute_inner(s, ops + from, i - from, deadline, err);
        if (r == HF_OK) {
            r = execute_hit(s, ops[i], fault, deadline, err);
        }
        if (r < 0) {
            return r;
        }
        from = i + 1;
    }
    int r = execute_inner(s, ops + from, n - from, deadline, err);
    return r == HF_OK && s->is_lost ? fail_lost(err, HF_EUNKNOWN) : r;
}

/* ---- the other calls */

/* Carry out a fault before the inner call; if it returns a negative status, the
 * call is not made. */
static int before(struct session *s, struct hf__fault fault, hf__time deadline,
                  hf_error *err)
{
    bool is_lost = fault.what == HF__FAULT_DIE ||
                   fault.what == HF__FAULT_LOSE_REQUEST ||
                   (fault.what == HF__FAULT_DELAY &&
                    !let_pass(s, fault.pause_ms, deadline));

    return is_lost ? fail_lost(err, HF_EUNAVAIL) : HF_OK;
}

/* Carry out a fault after the inner call; if it returns a negative status, the
 * caller gets no result. */
static int after(struct session *s, struct hf__fault fault, hf__time deadline,
                 hf_error *err)
{
    bool is_lost = fault.what == HF__FAULT_LOSE_REPLY ||
                   (fault.what == HF__FAULT_LATE_REPLY &&
                    !let_pass(s, fault.pause_ms, deadline));

    return is_lost ? fail_lost(err, HF_EUNAVAIL) : HF_OK;
}

static int fault_wait(void *state, struct hf__watch *w[], int n,
                      hf__time deadline, hf_error *err)
{
    struct session *s = state;
    struct hf__fault fault;
    int r;

    if (n == 0) { /* no wait, it only ends watches; a plan counts waits */
        return s->inner->wait(enter(s), w, n, deadline, err);
    }
    fault = hf__fault_next(s->plan, HF__FAULT_WAIT);
    r = before(s, fault, deadline, err);
    if (r == HF_OK) {
        r = s->inner->wait(enter(s), w, n, deadline, err);
    }
    return r != HF_OK ? r : after(s, fault, deadline, err);
}

static int fault_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                      void *arg, hf__time deadline, hf_error *err)
{
    struct session *s = state;
    struct hf__fault fault = hf__fault_next(s->plan, HF__FAULT_LIST);
    int r = before(s, fault, deadline, err);

    if (r == HF_OK) {
        r = s->inner->list(enter(s), prefix, fn, arg, deadline, err);
    }
    return r != HF_OK ? r : after(s, fault, deadline, err);
}

static int fault_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                    hf__time deadline, hf_error *err)
{
    struct session *s = state;
    struct hf__fault fault = hf__fault_next(s->plan, HF__FAULT_GC);
    int r = before(s, fault, deadline, err);

    if (r == HF_OK) {
        r = s->inner->gc(enter(s), prefix, g, deadline, err);
    }
    return r != HF_OK ? r : after(s, fault, deadline, err);
}

/* Apply a copy of the operation, whose reply reaches no caller. */
static int cell_unseen(struct session *s, const struct hf__cell_op *op,
                       hf__time deadline)
{
    struct hf__cell_op copy = *op;

    copy.err = NULL;
    return s->inner->cell(enter(s), &copy, deadline, NULL);
}

static int fault_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                      hf_error *err)
{
    struct session *s = state;
    struct hf__fault fault = hf__fault_next(s->plan, HF__FAULT_CELL);
    int r = HF_OK;

    if (fault.what == HF__FAULT_DIE) {
        return fail_lost(err, HF_EUNAVAIL);
    }
    if (fault.what == HF__FAULT_AGAIN) {
        op->result = hf__fail(op->err, HF__AGAIN, "asked to try again (fault)");
        return HF_OK;
    }
    if (fault.what == HF__FAULT_LOSE_REPLY) {
        r = cell_unseen(s, op, deadline);
    } else if (before(s, fault, deadline, err) == HF_OK) {
        r = s->inner->cell(enter(s), op, deadline, err);
        if (fault.what == HF__FAULT_DUPLICATE && r == HF_OK) {
            r = cell_unseen(s, op, deadline);
        }
        if (r < 0 || after(s, fault, deadline, err) == HF_OK) {
            return r;
        }
    }
    op->result = HF_EUNKNOWN;
    return r < 0 ? r : fail_lost(err, HF_EUNKNOWN);
}

static int fault_check(void *state, hf__check_fn fn, void *arg,
                       hf__time deadline, hf_error *err)
{
    struct session *s = state;
    struct hf__fault fault = hf__fault_next(s->plan, HF__FAULT_CHECK);
    int r = before(s, fault, deadline, err);

    if (r == HF_OK) {
        r = s->inner->check(enter(s), fn, arg, deadline, err);
    }
    return r != HF_OK ? r : after(s, fault, deadline, err);
}

static void fault_interrupt(void *state)
{
    struct session *s = state;
    const struct hf__backend *inner = s->inner;

    if (inner != NULL) {
        atomic_store(&inner_head(s)->interrupted,
                     atomic_load(&s->head.interrupted));
        inner->interrupt(s->state);
    }
    hf__unpark(&s->parker);
}

static int fault_lock_fds(void *state, int *fds, int max)
{
    struct session *s = state;

    return s->inner->lock_fds(enter(s), fds, max);
}

/* ---- opening */

static bool is_own(const char *name)
{
    return strcmp(name, own_options[0]) == 0 ||
           strcmp(name, own_options[1]) == 0;
}

static int open_inner(struct session *s, const struct hf__url *url,
                      const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__url_option kept[URL_OPTIONS_MAX];
    struct hf__url inner_url = *url;

    inner_url.scheme = url->scheme + strlen(HF__FAULT_SCHEME);
    inner_url.options = kept;
    inner_url.n_options = 0;
    HF_ASSERT(url->n_options <= URL_OPTIONS_MAX); /* hf__url_parse checks it */
    for (size_t i = 0; i < url->n_options; i++) {
        if (!is_own(url->options[i].name)) {
            kept[inner_url.n_options++] = url->options[i];
        }
    }
    inner_head(s)->stale_session = s->head.stale_session;
    inner_head(s)->client = s->head.client;
    inner_head(s)->only_listens = s->head.only_listens;
    return s->inner->open(enter(s), &inner_url, allow, deadline, err);
}

static int fault_open(void *state, const struct hf__url *url, const char *allow,
                      hf__time deadline, hf_error *err)
{
    struct session *s = state;
    int r = hf__fault_plan_of(url, &s->plan, err);

    if (r != HF_OK) {
        return r;
    }
    struct hf__fault fault = hf__fault_next(s->plan, HF__FAULT_OPEN);
    r = before(s, fault, deadline, err);
    if (r != HF_OK) {
        return r;
    }
    const struct hf__backend *inner =
        hf__backend_find(url->scheme + strlen(HF__FAULT_SCHEME));
    HF_ASSERT(inner != NULL); /* it was found when it was decorated */
    s->inner = inner->of == NULL ? inner : inner->of(url);
    r = open_inner(s, url, allow, deadline, err);
    if (r != HF_OK) {
        return r;
    }
    s->head.server_info = inner_head(s)->server_info;
    s->head.server_info.server_id = fault.what == HF__FAULT_MOVE ? 2 : 1;
    return after(s, fault, deadline, err);
}

static void fault_close(void *state)
{
    struct session *s = state;

    if (s->inner != NULL) {
        s->inner->close(enter(s));
        s->head.stale_session = inner_head(s)->stale_session;
    }
}

/* HF_CAP_PUSH and HF__CAP_MOVES are removed, so that no session listens for
 * breaks: a plan cannot foresee when its calls come. */
static unsigned fault_caps(const struct hf__url *url)
{
    const struct hf__backend *inner =
        hf__backend_find(url->scheme + strlen(HF__FAULT_SCHEME));

    HF_ASSERT(inner != NULL); /* it was found when it was decorated */
    return hf__caps_of(inner, url) & ~(HF_CAP_PUSH | HF__CAP_MOVES);
}

static void decorate(struct decorated *d, const struct hf__backend *inner)
{
    size_t n = 0;

    (void)snprintf(d->scheme, sizeof d->scheme, HF__FAULT_SCHEME "%s",
                   inner->scheme);
    for (size_t i = 0; inner->options[i] != NULL; i++) {
        HF_ASSERT(n < OPTIONS_MAX - N_OWN);
        d->options[n++] = inner->options[i];
    }
    for (size_t i = 0; i < N_OWN; i++) {
        d->options[n++] = own_options[i];
    }
    d->inner = inner;
    d->backend = (struct hf__backend){
        .scheme = d->scheme,
        .caps = inner->caps & ~(HF_CAP_PUSH | HF__CAP_MOVES),
        .caps_of = fault_caps,
        .size = sizeof(struct session) + inner->size,
        .options = d->options,
        .open = fault_open,
        .close = fault_close,
        .execute = fault_execute,
        .wait = inner->wait != NULL ? fault_wait : NULL,
        .list = inner->list != NULL ? fault_list : NULL,
        .gc = inner->gc != NULL ? fault_gc : NULL,
        .cell = inner->cell != NULL ? fault_cell : NULL,
        .check = fault_check,
        .interrupt = fault_interrupt,
        .lock_fds = inner->lock_fds != NULL ? fault_lock_fds : NULL,
    };
}

const struct hf__backend *hf__fault_over(const struct hf__backend *inner)
{
    size_t i = 0;

    HF_SCOPED_LOCK(hf__process_mutex(&table_mutex));
    while (table[i].inner != NULL && table[i].inner != inner) {
        i++;
        HF_ASSERT(i < STORES_MAX);
    }
    if (table[i].inner == NULL) {
        decorate(&table[i], inner);
    }
    return &table[i].backend;
}
