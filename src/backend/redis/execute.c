/* SPDX-License-Identifier: MIT */
/*
 * execute(): the batch is one pipeline, in the order of the operations' kinds,
 * with one command for several of a kind. An operation that fails does not
 * affect the others, and a command that is refused as a whole is sent again for
 * each operation alone. Scripts that the server does not know are sent again
 * with their text.
 *
 * cell(): each cell is a hash, which one script reads or changes; a WAIT is
 * sent behind a change if replicas are waited for. A read, like INSPECT, may
 * show what no replica has yet.
 *
 * This file decides what is known of each operation when a connection ends.
 * Called by the session's thread.
 */
#include "src/backend/redis/redis.h"

#include "src/base/error.h"

#include <string.h>

/* ---- execute() */

/* Results within this file only. SENT: no answer yet. TEXTLESS: not begun,
 * because the server does not know the script. ALONE: not begun, because the
 * server refused it together with others. */
enum { SENT = 101, TEXTLESS, ALONE };

/* Texts for several operations, then each alone, then texts for those, and once
 * more if the first of them, which had the text, was refused. */
#define AGAIN_MAX 4

/* The operations of a batch that have the result `wanted`, kind by kind. */
struct round {
    struct hf__op **ops;
    int n;
    int wanted;
    int most;           /* operations in one command */
    bool is_to_confirm; /* replicas must confirm one of those taken so far */
    int kind;
    int i;
};

static struct round begin_round(const struct hf__redis *s, struct hf__op **ops,
                                int n, int wanted)
{
    return (struct round){.ops = ops,
                          .n = n,
                          .wanted = wanted,
                          .most = s->is_apart ? 1 : HF__MANY_MAX,
                          .kind = HF__OP_RENEW};
}

/* The next one; NULL: none is left. The caller may change the results of those
 * already taken. */
static struct hf__op *next_of(struct round *round)
{
    for (; round->kind <= HF__OP_BREAK; round->kind++, round->i = 0) {
        while (round->i < round->n) {
            struct hf__op *op = round->ops[round->i++];

            if ((int)op->kind == round->kind && op->result == round->wanted) {
                return op;
            }
        }
    }
    return NULL;
}

static void set_results(struct hf__op *const ops[], int n, int result)
{
    for (int i = 0; i < n; i++) {
        ops[i]->result = result;
    }
}

static void change_results(struct hf__op **ops, int n, int from, int to)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == from) {
            ops[i]->result = to;
        }
    }
}

static bool go_together(const struct hf__op *a, const struct hf__op *b)
{
    return a->kind == b->kind && hf__many_can(a) && hf__many_can(b);
}

/* The operations of the next command; returns how many, 0: none is left. The
 * results of earlier ones may have changed since the last call. */
static int next_command(struct round *round, struct hf__op *ops[HF__MANY_MAX])
{
    int n = 0;

    for (struct round ahead = *round; n < round->most; *round = ahead) {
        struct hf__op *op = next_of(&ahead);

        if (op == NULL || (n > 0 && !go_together(ops[0], op))) {
            return n;
        }
        ops[n++] = op;
        ahead.is_to_confirm |= hf__confirm_is_for(op);
    }
    return n;
}

/* Send the operations that have that result, all at once; with_text: the first
 * use of each script has its text, which makes it known. HF_OK; HF_ENOMEM: none
 * was sent. */
static int say(struct hf__redis *s, struct round round, bool with_text,
               hf__time deadline)
{
    struct hf__resp *resp = &s->peer.resp;
    struct hf__ask ask = {.client = s->client};
    struct round all = round;
    struct hf__op *ops[HF__MANY_MAX];
    int last = 0; /* the last script: 1 + kind; for several, −1 − kind */
    int64_t ms = 0;
    int n;

    while ((n = next_command(&round, ops)) > 0) {
        int script = n > 1 ? -1 - (int)ops[0]->kind : 1 + (int)ops[0]->kind;

        ask.with_text = with_text && script != last;
        last = script;
        if (n > 1) {
            hf__many_add(&resp->out, ops, n, &ask);
        } else {
            hf__ask_add(&resp->out, ops[0], &ask);
        }
    }
    if (s->wait_replicas > 0 && round.is_to_confirm) {
        ms = hf__confirm_add(s, deadline);
    }
    hf__resp_mark(resp);
    if (hf__resp_queue(resp) != HF_OK) {
        change_results(all.ops, all.n, all.wanted, HF_ENOMEM);
        return HF_ENOMEM;
    }
    if (ms > 0) {
        hf__confirm_owe(s, ms);
    }
    change_results(all.ops, all.n, all.wanted, SENT);
    (void)hf__resp_flush(resp); /* the replies tell */
    return HF_OK;
}

/* The reply comes from a proxy to several servers, each of which has a part of
 * the names: it refuses by CROSSSLOT, or in words that no server uses. An error
 * in a script of ours is not meant: that is one operation's. */
static bool is_too_wide(const redisReply *reply)
{
    return strncmp(hf__redis_words(reply), "CROSSSLOT", 9) == 0 ||
           (!hf__redis_knows(reply) && hf__redis_words(reply) == reply->str &&
            strstr(reply->str, "user_script") == NULL);
}

/* Was the whole command refused, but its operations may be sent alone? None was
 * begun: a user that may not use one of the keys is refused before the script
 * runs. */
static bool is_refused(struct hf__redis *s, const redisReply *reply, int n)
{
    if (n == 1 || reply->type != REDIS_REPLY_ERROR) {
        return false;
    }
    if (is_too_wide(reply)) {
        s->is_apart = true;
        return true;
    }
    return strncmp(reply->str, "NOPERM", 6) == 0;
}

static void read_replies(const redisReply *reply, struct hf__op *const ops[],
                         int n, bool *ret_is_elsewhere)
{
    struct hf__answer answer;

    for (int i = 0; i < n; i++) {
        hf__answer_read(n > 1 ? hf__many_reply(reply, i, n) : reply, ops[i],
                        &answer);
        *ret_is_elsewhere |= answer.is_elsewhere;
        if (answer.has_no_script) {
            ops[i]->result = TEXTLESS;
        } else {
            hf__answer_give(&answer, ops[i]);
        }
    }
}

/* Take the replies of the operations that were sent, as they come: a server
 * that cannot deliver its replies accepts no more commands. *ret_is_elsewhere:
 * the server is no longer the master. HF_OK; else the session is dead. */
static int hear(struct hf__redis *s, struct round round, hf__time deadline,
                bool *ret_is_elsewhere)
{
    struct hf__op *ops[HF__MANY_MAX];
    int n;

    while ((n = next_command(&round, ops)) > 0) {
        redisReply *reply = NULL;
        int r = hf__peer_reply(&s->peer, &s->rest, &s->head, deadline, &reply);

        if (r != HF_OK) {
            return r;
        }
        if (is_refused(s, reply, n)) {
            set_results(ops, n, ALONE);
        } else {
            read_replies(reply, ops, n, ret_is_elsewhere);
        }
        freeReplyObject(reply);
    }
    return s->confirm.is_owed ? hf__confirm_hear(s, deadline) : HF_OK;
}

static bool is_any(struct hf__op *const ops[], int n, int result)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == result) {
            return true;
        }
    }
    return false;
}

/* Set the results when no more replies will come. An INSPECT changed nothing;
 * an operation whose script was missing was not begun. */
static void close_open(struct hf__op **ops, int n, bool has_sent)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->result == SENT) {
            ops[i]->result = has_sent && ops[i]->kind != HF__OP_INSPECT
                                 ? HF_EUNKNOWN
                                 : HF_EUNAVAIL;
        }
    }
    change_results(ops, n, TEXTLESS, HF__AGAIN);
    change_results(ops, n, ALONE, HF__AGAIN);
}

/* Below that time since the last reply a connection is not idle. */
#define BUSY_MS 1

/* Has the server closed an idle connection? Then nothing was sent yet. An
 * unexpected reply would be taken for the answer to the next command. On a
 * connection in constant use only bytes that were read already are checked. */
static void look(struct hf__redis *s, hf__time now)
{
    struct hf__peer *p = &s->peer;
    bool is_idle = !hf__before(now, hf__after_ms(s->heard_at, BUSY_MS));
    redisReply *reply = NULL;

    if (p->state != HF__PEER_READY) {
        return;
    }
    if (is_idle && hf__resp_fill(&p->resp) != HF_OK) {
        hf__peer_fail(p, HF_EUNAVAIL, "the server has closed the connection");
    } else if (hf__resp_next(&p->resp, &reply) != HF_OK || reply != NULL) {
        hf__peer_fail(p, HF_EUNAVAIL,
                      "the server sent a reply to nothing that was asked");
        freeReplyObject(reply);
    }
}

/* Call before the session is used: ends its waiting, and finds out whether the
 * server has closed the connection. HF_OK; else the session is dead and err is
 * set. */
static int begin(struct hf__redis *s, hf__time now, hf__time deadline,
                 hf_error *err)
{
    int r = HF_OK;

    if (s->peer.state == HF__PEER_READY) {
        r = hf__redis_wait_leave(s, deadline, err);
    }
    if (r != HF_OK) {
        return r;
    }
    look(s, now);
    if (s->peer.state == HF__PEER_READY) {
        return HF_OK;
    }
    hf__error_copy(err, &s->peer.err);
    return HF_EUNAVAIL;
}

/* The server is no longer the master: make the session dead. Returns its
 * status. */
static int leave(struct hf__redis *s)
{
    hf__peer_fail(&s->peer, HF_EUNAVAIL, "it is a replica, or was the master");
    return s->peer.status;
}

/* Send again the operations that have the result all.wanted: those to be sent
 * alone, or those that need the text. HF_OK also if there were none. */
static int run_again(struct hf__redis *s, struct round all, hf__time deadline,
                     bool *ret_is_elsewhere)
{
    if (!is_any(all.ops, all.n, all.wanted)) {
        return HF_OK;
    }
    if (say(s, all, all.wanted == TEXTLESS, deadline) != HF_OK) {
        return HF_OK; /* the operations have the result */
    }
    all.wanted = SENT;
    return hear(s, all, deadline, ret_is_elsewhere);
}

/* Send again until all have been answered. */
static int run_rest(struct hf__redis *s, struct hf__op *ops[], int n,
                    hf__time deadline, bool *ret_is_elsewhere)
{
    bool is_alone = false;
    int r = HF_OK;

    for (int i = 0; r == HF_OK && i < AGAIN_MAX; i++) {
        struct round round = begin_round(s, ops, n, TEXTLESS);

        if (is_any(ops, n, ALONE)) {
            is_alone = true;
            round.wanted = ALONE;
        }
        round.most = is_alone ? 1 : round.most;
        r = run_again(s, round, deadline, ret_is_elsewhere);
    }
    return r;
}

static int run(struct hf__redis *s, struct hf__op *ops[], int n,
               hf__time deadline)
{
    bool is_elsewhere = false;
    int r;

    if (s->wait_replicas > 0) {
        hf__confirm_begin(s, ops, n);
    }
    r = say(s, begin_round(s, ops, n, HF_EUNAVAIL), false, deadline);
    if (r != HF_OK) {
        return HF_OK; /* the operations have the result */
    }
    r = hear(s, begin_round(s, ops, n, SENT), deadline, &is_elsewhere);
    r = r == HF_OK ? run_rest(s, ops, n, deadline, &is_elsewhere) : r;
    if (s->wait_replicas > 0) {
        r = hf__confirm(s, ops, n, r, deadline);
    }
    if (r == HF_OK && is_elsewhere) {
        r = leave(s);
    }
    s->heard_at = hf__now();
    return r;
}

int hf__redis_execute(void *state, struct hf__op *ops[], int n,
                      hf__time deadline, hf_error *err)
{
    struct hf__redis *s = state;
    int r = begin(s, n > 0 ? ops[0]->sent : hf__now(), deadline, err);

    if (r != HF_OK) {
        return r;
    }
    r = run(s, ops, n, deadline);
    close_open(ops, n, s->peer.resp.has_sent);
    if (r != HF_OK) {
        hf__error_copy(err, &s->peer.err);
    }
    return r;
}

/* ---- cell() */

static void add_cell(struct hf__redis *s, const struct hf__cell_op *op,
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
static int ask_cell(struct hf__redis *s, struct hf__cell_op *op, bool with_text,
                    hf__time deadline, struct hf__answer *a)
{
    struct hf__resp *resp = &s->peer.resp;
    bool is_change = op->what != HF__CELL_GET;
    redisReply *reply = NULL;
    int64_t ms = 0;
    int r;

    *a = (struct hf__answer){0};
    add_cell(s, op, with_text);
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
    (void)hf__resp_flush(resp); /* the reply tells */
    r = hf__peer_reply(&s->peer, &s->rest, &s->head, deadline, &reply);
    if (r != HF_OK) {
        op->result = resp->has_sent ? op->result : (int)HF_EUNAVAIL;
        return r;
    }
    hf__answer_cell(reply, op, a);
    freeReplyObject(reply);
    return s->confirm.is_owed ? hf__confirm_hear(s, deadline) : HF_OK;
}

static int run_cell(struct hf__redis *s, struct hf__cell_op *op,
                    hf__time deadline)
{
    struct hf__answer answer;
    int r;

    r = ask_cell(s, op, false, deadline, &answer);
    if (r == HF_OK && answer.has_no_script) {
        r = ask_cell(s, op, true, deadline, &answer);
    }
    if (s->wait_replicas > 0 && op->what != HF__CELL_GET) {
        hf__confirm_cell(s, op);
    }
    if (r == HF_OK && answer.is_elsewhere) {
        r = leave(s);
    }
    s->heard_at = hf__now();
    return r;
}

int hf__redis_cell(void *state, struct hf__cell_op *op, hf__time deadline,
                   hf_error *err)
{
    struct hf__redis *s = state;
    int r = begin(s, hf__now(), deadline, err);

    if (r != HF_OK) {
        return r;
    }
    r = run_cell(s, op, deadline);
    if (r != HF_OK) {
        hf__error_copy(err, &s->peer.err);
    }
    return r;
}
