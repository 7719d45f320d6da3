/* SPDX-License-Identifier: MIT */
/*
 * Cells: each is one hash, which one script reads or changes; WAIT goes out
 * behind a change where replicas are waited for. This file decides what is
 * known of a change when the connection ends. What a read shows may be on no
 * replica yet, as what an INSPECT tells. Called by the session's thread.
 */
#include "src/backend/redis/redis.h"

#include "src/base/error.h"

static void add(struct hf__redis *s, const struct hf__cell_op *op,
                bool with_text)
{
    static const char *const words[] = {[HF__CELL_GET] = "get",
                                        [HF__CELL_PUT] = "put",
                                        [HF__CELL_DELETE] = "delete"};
    struct hf__script_keys keys;
    struct hf__args args;

    hf__script_begin(&args, HF__SCRIPT_CELL, with_text, &op->key, &keys);
    hf__args_word(&args, words[op->what]);
    if (op->what != HF__CELL_GET) {
        hf__args_token(&args, &op->writer);
        hf__args_number(&args, (int64_t)op->expected);
        hf__args_word(&args, s->wait_replicas > 0 ? "1" : "0");
    }
    if (op->what == HF__CELL_PUT) {
        hf__args_bytes(&args, op->length > 0 ? op->value : (const void *)"",
                       op->length);
    }
    hf__bytes_add(&s->peer.resp.out, &args);
}

/* HF_OK; else the session is dead. */
static int ask(struct hf__redis *s, struct hf__cell_op *op, bool with_text,
               hf__time deadline, struct hf__answer *a)
{
    struct hf__resp *resp = &s->peer.resp;
    bool is_change = op->what != HF__CELL_GET;
    redisReply *reply = NULL;
    int64_t ms = 0;
    int r;

    *a = (struct hf__answer){0};
    add(s, op, with_text);
    if (is_change && s->wait_replicas > 0) {
        ms = hf__confirm_add(s, deadline);
    }
    hf__resp_mark(resp);
    if (hf__resp_queue(resp) != HF_OK) {
        op->result =
            hf__fail(op->err, HF_ENOMEM, "out of memory for a command");
        return HF_OK;
    }
    if (ms > 0) {
        hf__confirm_owe(s, ms);
    }
    op->result = is_change ? HF_EUNKNOWN : HF_EUNAVAIL;
    (void)hf__resp_flush(resp); /* the reply will tell */
    r = hf__peer_reply(&s->peer, &s->rest, &s->head, deadline, &reply);
    if (r != HF_OK) {
        op->result = resp->has_sent ? op->result : (int)HF_EUNAVAIL;
        return r;
    }
    hf__answer_cell(reply, op, a);
    freeReplyObject(reply);
    return s->confirm.is_owed ? hf__confirm_hear(s, deadline) : HF_OK;
}

static int run(struct hf__redis *s, struct hf__cell_op *op, hf__time deadline)
{
    struct hf__answer answer;
    int r;

    r = ask(s, op, false, deadline, &answer);
    if (r == HF_OK && answer.has_no_script) {
        r = ask(s, op, true, deadline, &answer);
    }
    if (s->wait_replicas > 0 && op->what != HF__CELL_GET) {
        hf__confirm_cell(s, op);
    }
    if (r == HF_OK && answer.is_elsewhere) {
        r = hf__redis_leave(s);
    }
    s->heard_at = hf__now();
    return r;
}

int hf__redis_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                   hf_error *err)
{
    struct hf__redis *s = state;
    int r = hf__redis_begin(s, hf__now(), deadline, err);

    if (r != HF_OK) {
        return r;
    }
    r = run(s, op, deadline);
    if (r != HF_OK) {
        hf__error_copy(err, &s->peer.err);
    }
    return r;
}
