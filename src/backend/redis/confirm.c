/* SPDX-License-Identifier: MIT */
/*
 * wait_replicas=: a grant, renewal or raise counts once that many replicas have
 * it. WAIT is sent behind the scripts, in the same packet: it is about what
 * this connection wrote. This file decides how long it may take, and what to do
 * with operations that too few replicas confirm: a grant is given back, since
 * its caller was told nothing, and a renewal does not count. A replica may
 * still have the grant, but not its release: so the claim is kept as unanswered
 * until its release is confirmed, too. Called by the session's thread.
 */
#include "src/backend/redis/redis.h"

#include "src/base/error.h"

#include <inttypes.h>

/* The part of the batch's time that WAIT may take, so that there is time to
 * give grants back; and a limit, because later commands of this connection wait
 * behind it. */
#define WAIT_PARTS  2
#define WAIT_MAX_MS 1000

/* A result within this file only: granted, and to be given back. */
enum { UNCONFIRMED = 111 };

void hf__confirm_begin(struct hf__redis *s, struct hf__op *ops[], int n)
{
    s->confirm =
        (struct hf__confirm){.status = HF_EUNKNOWN, .why = HF_ERROR_INIT};
    for (int i = 0; i < n; i++) {
        if (ops[i]->kind == HF__OP_HANDOVER) {
            ops[i]->result = hf__fail(ops[i]->err, HF_ENOTSUP,
                                      "there is no hand-over where replicas "
                                      "are waited for");
        }
    }
}

bool hf__confirm_is_for(const struct hf__op *op)
{
    return op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_RENEW ||
           op->kind == HF__OP_RAISE ||
           (op->kind == HF__OP_RELEASE && op->is_unanswered);
}

int64_t hf__confirm_add(struct hf__redis *s, hf__time deadline)
{
    int64_t left_ms = hf__ms_until(deadline, hf__now());
    int64_t ms = 1; /* 0 would wait for ever */
    struct hf__args args;

    if (left_ms >= WAIT_PARTS) {
        ms = left_ms / WAIT_PARTS;
        ms = ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms;
    }
    hf__args_begin(&args, "WAIT");
    hf__args_number(&args, s->wait_replicas);
    hf__args_number(&args, ms);
    hf__bytes_add(&s->peer.resp.out, &args);
    return ms;
}

void hf__confirm_owe(struct hf__redis *s, int64_t ms)
{
    s->confirm = (struct hf__confirm){
        .is_owed = true, .ms = ms, .status = HF_EUNKNOWN, .why = HF_ERROR_INIT};
}

static void take(struct hf__redis *s, const redisReply *reply)
{
    struct hf__confirm *c = &s->confirm;

    c->is_owed = false;
    if (reply->type == REDIS_REPLY_INTEGER) {
        c->is_done = reply->integer >= s->wait_replicas;
        (void)hf__fail(&c->why, HF_EUNKNOWN,
                       "confirmed by %lld of %d replicas within %" PRId64 " ms",
                       reply->integer, s->wait_replicas, c->ms);
    } else if (reply->type == REDIS_REPLY_ERROR) {
        int r = hf__redis_error(reply, NULL, &c->why);

        c->status = r == HF_EAUTH ? r : (int)HF_EUNKNOWN;
    }
}

int hf__confirm_hear(struct hf__redis *s, hf__time deadline)
{
    redisReply *reply = NULL;
    int r = hf__peer_reply(&s->peer, &s->rest, &s->head, deadline, &reply);

    if (r == HF_OK) {
        take(s, reply);
        freeReplyObject(reply);
    }
    return r;
}

static int tell(const struct hf__redis *s, const struct hf__op *op, int status,
                const char *what)
{
    HF_ASSERT(status < 0);
    return hf__fail(op->err, status, "%.*s: %s; %s",
                    (int)(op->key.length - op->key.name_at),
                    op->key.bytes + op->key.name_at,
                    s->confirm.why.text[0] == '\0'
                        ? "no replica confirmed it in time"
                        : s->confirm.why.text,
                    what);
}

/* A cell's change is not taken back, for somebody may have read it. */
void hf__confirm_cell(const struct hf__redis *s, struct hf__cell_op *op)
{
    const struct hf__op told = {.key = op->key, .err = op->err};

    if (op->result == HF_OK && !s->confirm.is_done) {
        op->result = tell(s, &told, HF_EUNKNOWN,
                          "it is in force on this server all the same");
    }
}

/* A grant that is lost here may still exist on a replica, so a release that
 * found nothing is in doubt, too. */
static bool is_in_doubt(const struct hf__op *op)
{
    return hf__confirm_is_for(op) &&
           (op->result == HF_OK ||
            (op->kind == HF__OP_RELEASE && op->result == HF_LOST));
}

/* Returns how many must be given back. */
static int doubt(struct hf__redis *s, struct hf__op *ops[], int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        if (!is_in_doubt(ops[i])) {
            continue;
        }
        if (ops[i]->kind == HF__OP_ACQUIRE) {
            ops[i]->result = UNCONFIRMED;
            count++;
        } else {
            ops[i]->result = tell(s, ops[i], s->confirm.status,
                                  "it may have it all the same");
        }
    }
    return count;
}

static struct hf__op release_of(const struct hf__op *op)
{
    return (struct hf__op){.kind = HF__OP_RELEASE,
                           .key = op->key,
                           .token = op->token,
                           .fence = op->fence,
                           .lock_mode = op->lock_mode,
                           .reopens = true};
}

static void add_releases(struct hf__redis *s, struct hf__op *ops[], int n)
{
    const struct hf__ask ask = {.client = s->client};

    for (int i = 0; i < n; i++) {
        if (ops[i]->result == UNCONFIRMED) {
            const struct hf__op release = release_of(ops[i]);

            hf__ask_add(&s->peer.resp.out, &release, &ask);
        }
    }
}

/* On this server the claim is now undone, and waiters were woken; a replica
 * that got the grant may lack the release. */
static int take_release(struct hf__redis *s, struct hf__op *op,
                        hf__time deadline)
{
    const struct hf__op release = release_of(op);
    struct hf__answer answer;
    redisReply *reply = NULL;
    int r = hf__peer_reply(&s->peer, &s->rest, &s->head, deadline, &reply);

    if (r != HF_OK) {
        return r;
    }
    hf__answer_read(reply, &release, &answer);
    freeReplyObject(reply);
    op->result = answer.result == HF_OK || answer.result == HF_LOST
                     ? tell(s, op, s->confirm.status, "it was given back here")
                     : tell(s, op, HF_EUNKNOWN, "it could not be given back");
    return HF_OK;
}

static int give_back(struct hf__redis *s, struct hf__op *ops[], int n,
                     hf__time deadline)
{
    int r;

    add_releases(s, ops, n);
    r = hf__resp_queue(&s->peer.resp);
    if (r == HF_OK) {
        (void)hf__resp_flush(&s->peer.resp); /* the replies tell */
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        if (ops[i]->result == UNCONFIRMED) {
            r = take_release(s, ops[i], deadline);
        }
    }
    return r;
}

int hf__confirm(struct hf__redis *s, struct hf__op *ops[], int n, int r,
                hf__time deadline)
{
    if (s->confirm.is_done || doubt(s, ops, n) == 0) {
        return r;
    }
    r = r == HF_OK ? give_back(s, ops, n, deadline) : r;
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == UNCONFIRMED) {
            ops[i]->result = tell(s, ops[i], HF_EUNKNOWN,
                                  "whether it is in force is not known");
        }
    }
    return r == HF_ENOMEM ? (int)HF_OK : r;
}
