/* SPDX-License-Identifier: MIT */
/*
 * Whether what a batch gave may be believed for as long as its lease is: the
 * leader must have heard of the session late enough (evidence.c). Who listens
 * keeps asking for that, each T/32, so that there is evidence at any time. On
 * a slow network it is a little old: then the lease counts from a little before
 * the write. If there is none, as after a long stop of the process, the
 * connection is cut:
 * where the next one is made, the session is taken over, of which the leader
 * hears at once; and a write shows that he is the leader still. Of a server
 * that stands alone nothing is to be proven: it is asked less often, for
 * whether it is silent. Called by the session's thread.
 */
#include "src/backend/zookeeper/zookeeper.h"
#include "src/base/error.h"

#include <limits.h>

#define PULSES_PER_T 32
#define SIGNS_PER_T  16 /* where there is nothing to prove */
#define SOON_PER_T   16 /* what is due by then is awaited, not forced */
#define LATE_PART    4  /* of a lease that counts from earlier, at most */

static bool has_lease(const struct hf__op *op)
{
    return op->result == HF_OK &&
           (op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_RENEW);
}

bool hf__zk_shows_life(int rc)
{
    return rc == ZOK || rc == ZBADVERSION || rc == ZNONODE || rc == ZNOAUTH;
}

/* Sleep until the connection is no longer that one. */
static int await_another(struct hf__zk *s, unsigned connection,
                         hf__time deadline, hf_error *err)
{
    struct hf__zk_front *f = &s->front;

    for (;;) {
        unsigned seen = hf__parker_seen(&f->parker);

        if (hf__zk_connection(f) != connection || !hf__zk_is_connected(f)) {
            return hf__zk_ready(f, deadline, err);
        }
        if (hf__is_interrupted(&s->head) || !hf__before(hf__now(), deadline)) {
            return HF_BUSY;
        }
        hf__park(&f->parker, seen, deadline);
    }
}

static int let_pass(struct hf__zk *s, hf__time until)
{
    struct hf__zk_front *f = &s->front;

    while (hf__before(hf__now(), until)) {
        unsigned seen = hf__parker_seen(&f->parker);

        if (hf__is_interrupted(&s->head)) {
            return HF_BUSY;
        }
        hf__park(&f->parker, seen, until);
    }
    return HF_OK;
}

/* A write in vain, which takes a majority all the same. True: it was answered,
 * and the lease that counts from there is proven. */
static bool write_proves(struct hf__zk *s, hf__time from, hf__time deadline,
                         hf_error *err)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(&s->front, 1);
    hf__time sent = hf__now();

    if (calls == NULL) {
        return false;
    }
    hf__zk_set(calls, 0, "/", "", 0, INT_MAX);
    if (hf__zk_await(calls, deadline, err) != HF_OK) {
        return false;
    }
    int rc = hf__zk_answer(calls, 0)->rc;
    hf__time due =
        hf__zk_provable_from(&s->front, from, s->head.facts.lease_us);
    return hf__zk_shows_life(rc) && !hf__before(sent, due);
}

/* What is read first is judged: another connection may come in between. */
static int find_evidence(struct hf__zk *s, hf__time from, hf__time deadline,
                         hf_error *err)
{
    struct hf__zk_front *f = &s->front;
    unsigned connection = hf__zk_connection(f);
    bool is_connected = hf__zk_is_connected(f);
    hf__time due = hf__zk_provable_from(f, from, s->head.facts.lease_us);
    hf__time now = hf__now();
    hf__time soon =
        hf__after_ns(now, hf__zk_timeout_ms(f) * HF__MS / SOON_PER_T);

    if (!is_connected) {
        return hf__zk_ready(f, deadline, err); /* another is coming */
    }
    if (!hf__before(now, due)) {
        return HF_OK;
    }
    if (!hf__before(due, hf__earlier(soon, deadline)) &&
        hf__zk_reconnect(f, connection)) {
        return await_another(s, connection, deadline, err);
    }
    return hf__before(due, deadline) ? let_pass(s, due) : (int)HF_BUSY;
}

static bool prove(struct hf__zk *s, hf__time from, hf__time deadline,
                  hf_error *err)
{
    return find_evidence(s, from, deadline, err) == HF_OK &&
           write_proves(s, from, deadline, err);
}

static bool is_proven(struct hf__zk *s, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err)
{
    int64_t lease_us = s->head.facts.lease_us;
    hf__time sent = ops[0]->sent;
    hf__time from = hf__zk_proven_from(&s->front, sent, lease_us);

    if (s->is_alone || !hf__before(from, sent)) {
        return true;
    }
    if (hf__before(from, hf__after_ns(sent, -lease_us * 1000 / LATE_PART))) {
        return prove(s, sent, deadline, err);
    }
    for (int i = 0; i < n; i++) {
        ops[i]->sent = has_lease(ops[i]) ? from : ops[i]->sent;
    }
    return true;
}

static void doubt(struct hf__op *op)
{
    op->result = hf__fail(
        op->err, op->kind == HF__OP_RENEW ? (int)HF_EUNAVAIL : (int)HF_EUNKNOWN,
        "the ensemble may have heard of this session too long ago for "
        "a lease to begin now");
}

int hf__zk_prove(struct hf__zk *s, struct hf__op *ops[], int n,
                 hf__time deadline, hf_error *err)
{
    bool is_any = false;

    for (int i = 0; i < n; i++) {
        is_any |= has_lease(ops[i]);
    }
    if (!is_any) {
        return HF_OK;
    }
    bool is_believed = hf__zk_is_over(&s->front, err) == HF_OK &&
                       is_proven(s, ops, n, deadline, err);
    /* What ended it meanwhile may have made all older than it was. */
    int r = hf__zk_is_over(&s->front, err);

    for (int i = 0; i < n && (r != HF_OK || !is_believed); i++) {
        if (has_lease(ops[i])) {
            doubt(ops[i]);
        }
    }
    return r;
}

/* ---- so that there is evidence */

/* False: nothing was sent, for want of memory. */
static bool ask_for_life(struct hf__zk_front *f)
{
    HF_AUTO(hf__zk_calls_drop_auto)
    struct hf__zk_calls *calls = hf__zk_calls_new(f, 1);

    if (calls == NULL) {
        return false;
    }
    hf__zk_exists(calls, 0, "/", NULL); /* that it is answered is noted */
    return hf__zk_answer(calls, 0)->was_sent;
}

/* When to be called again; HF__NEVER: with the next news of the link. */
static hf__time pulse(struct hf__zk *s)
{
    struct hf__zk_front *f = &s->front;
    int64_t t_ns = (int64_t)hf__zk_timeout_ms(f) * HF__MS;
    int64_t apart_ns = t_ns / (s->is_alone ? SIGNS_PER_T : PULSES_PER_T);
    unsigned connection = hf__zk_connection(f);
    bool is_pending = s->pulse.connection == connection &&
                      hf__before(hf__zk_heard_at(f), s->pulse.sent);
    hf__time last = s->is_alone ? hf__later(s->pulse.sent, hf__zk_heard_at(f))
                                : s->pulse.sent;
    hf__time due = hf__after_ns(last, apart_ns);

    if (!hf__zk_is_connected(f)) {
        return hf__zk_mind_silence(f, s->pulse.sent);
    }
    if (is_pending) {
        return hf__earlier(hf__zk_mind_silence(f, s->pulse.sent),
                           hf__after_ns(hf__now(), apart_ns));
    }
    if (hf__before(hf__now(), due)) {
        return due;
    }
    hf__time now = hf__now();
    if (ask_for_life(f)) {
        s->pulse.connection = connection;
        s->pulse.sent = now;
    }
    return hf__after_ns(now, apart_ns);
}

void hf__zk_doze(struct hf__zk *s, unsigned seen, hf__time until)
{
    struct hf__parker *parker = &s->front.parker;

    while (hf__parker_seen(parker) == seen && hf__before(hf__now(), until) &&
           !hf__is_interrupted(&s->head)) {
        hf__park(parker, seen, hf__earlier(pulse(s), until));
    }
}
