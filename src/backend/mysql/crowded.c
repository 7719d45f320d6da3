/* SPDX-License-Identifier: MIT */
/*
 * One operation of any kind on a name in any state: read it whole, decide,
 * write if nobody has changed it since, else again. Where that fails more
 * than once, those who try wait for one another for a moment; whoever stops
 * in the middle delays them, and keeps nothing locked. Called by the session's
 * thread.
 */
#include "src/backend/mysql/crowded.h"

#include "src/base/error.h"

#define ATTEMPTS 8
/* After so many they come one by one, where the server can see to it. */
#define COURTEOUS 2

static int decide(struct hf__mysql_change *c, const struct hf__mysql_name *name)
{
    switch (c->op->kind) {
    case HF__OP_RENEW:
        return hf__mysql_crowd_renew(c, name);
    case HF__OP_RELEASE:
        return hf__mysql_crowd_release(c, name);
    case HF__OP_HANDOVER:
        return hf__mysql_crowd_handover(c, name);
    case HF__OP_RAISE:
        return hf__mysql_crowd_raise(c, name);
    case HF__OP_ACQUIRE:
        return hf__mysql_crowd_acquire(c, name);
    case HF__OP_INSPECT:
        return hf__mysql_crowd_inspect(c, name);
    case HF__OP_BREAK:
        return hf__mysql_crowd_break(c, name);
    }
    HF_ASSERT(false && "an operation of no kind");
    return HF_OK;
}

static int attempt(struct hf__mysql_change *c)
{
    HF_AUTO(hf__mysql_name_fini) struct hf__mysql_name name = {0};
    struct hf__mysql *s = c->s;
    struct hf__op *op = c->op;
    int r = HF_OK;

    *c = (struct hf__mysql_change){.s = s, .op = op};
    if (op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE) {
        r = hf__mysql_crowd_try_own(c);
        if (r != HF_OK || c->is_done || !c->is_raced) {
            return r;
        }
    }
    *c = (struct hf__mysql_change){.s = s, .op = op};
    op->result = HF_EUNAVAIL;
    r = hf__mysql_name_read(s, &op->key, &name);
    if (r == HF_OK && s->reply.error == 0 && !name.row.is_there &&
        op->kind == HF__OP_ACQUIRE) {
        r = hf__mysql_name_make(s, &op->key, &name);
    }
    if (r != HF_OK || s->reply.error != 0) {
        return hf__mysql_refused(s, op, r);
    }
    return decide(c, &name);
}

/* ---- one by one */

static void add_turn(struct hf__text *t, const struct hf__key *key)
{
    hf__text_add(t, "CONCAT('hc.',SHA1(CONCAT(DATABASE(),'/',");
    hf__text_key(t, key);
    hf__text_add(t, ")))");
}

/* Its answer does not matter. */
static int ask_turn(struct hf__mysql *s, const struct hf__op *op,
                    const char *call, const char *end)
{
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, call);
    add_turn(&s->sql, &op->key);
    hf__text_add(&s->sql, end);
    r = hf__wire_run(s);
    return r == HF_ENOMEM ? HF_OK : r;
}

static int take_turn(struct hf__mysql *s, const struct hf__op *op)
{
    return ask_turn(s, op, "DO GET_LOCK(", ",0.2)");
}

static int give_turn(struct hf__mysql *s, const struct hf__op *op)
{
    return ask_turn(s, op, "DO RELEASE_LOCK(", ")");
}

int hf__mysql_crowded(struct hf__mysql *s, struct hf__op *op)
{
    struct hf__mysql_change c = {.s = s, .op = op};
    bool has_turn = false;
    int r = HF_OK;

    c.is_raced = true;
    for (int i = 0; i < ATTEMPTS && r == HF_OK && c.is_raced; i++) {
        if (i == COURTEOUS && s->server.has_bells) {
            r = take_turn(s, op);
            has_turn = true;
        }
        if (r == HF_OK) {
            r = attempt(&c);
        }
    }
    if (r == HF_OK && c.is_raced) {
        op->result =
            hf__fail(op->err, HF__AGAIN, "too many change this lock at once");
    }
    return r == HF_OK && has_turn ? give_turn(s, op) : r;
}
