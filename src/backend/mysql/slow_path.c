/* SPDX-License-Identifier: MIT */
/*
 * One operation of any kind on a name in any state: read the whole name, let
 * the engine decide, and write if nobody has changed it since; else try again.
 * After two failures the clients that try take turns by a user lock, each
 * waiting for it a moment. A client that stops in the middle delays the others
 * and leaves nothing locked. Called by the session's thread.
 */
#include "src/backend/mysql/commit.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/table/marks.h"
#include "src/base/error.h"

#define ATTEMPTS 8
/* After this many attempts the clients take turns, if the server can do
 * that. */
#define COURTEOUS 2

/* ---- what the engine asks of a store */

static struct hf__rules rules(void *state)
{
    (void)state;
    return (struct hf__rules){
        .damaged = "the rows of this lock in holdfast_lock or "
                   "holdfast_beside were changed by somebody else and make "
                   "no sense; delete them when nobody uses the lock"};
}

static void put_down(void *state)
{
    hf__table_name_fini(&((struct hf__mysql *)state)->t.name);
}

/* with_record: insert the name's record first, if it has none. */
static int read(struct hf__mysql *s, const struct hf__key *key,
                bool with_record, hf_error *err)
{
    struct hf__watch of_key = {.key = *key};
    struct hf__watch *w[1] = {&of_key};
    int r;

    put_down(s);
    hf__table_name_init(&s->t.name, key);
    hf__mysql_packet_begin(s);
    if (with_record) {
        hf__text_add(&s->sql, "INSERT INTO holdfast_lock(name_key) VALUES(");
        hf__text_key(&s->sql, key);
        hf__text_add(&s->sql, ") ON DUPLICATE KEY UPDATE name_key=name_key;");
    }
    hf__mysql_name_ask_watched(s, w, 1, HF__TO_DECIDE);
    r = hf__wire_run(s);
    r = r == HF_OK ? hf__mysql_name_take(s, &s->t.name) : r;
    return r != HF_OK || s->reply.error != 0
               ? hf__mysql_refused(s, err, r, HF_EUNAVAIL)
               : HF_OK;
}

static int load(void *state, const struct hf__key *key, const struct hf__op *op,
                bool to_change, struct hf__name **ret_name, hf_error *err)
{
    struct hf__mysql *s = state;
    int r = read(s, key, false, err);

    (void)to_change;
    if (r == HF_OK && !s->t.name.name.is_there && op->kind == HF__OP_ACQUIRE) {
        r = read(s, key, true, err);
        if (r == HF_OK && !s->t.name.name.is_there) {
            r = HF__RACED; /* it was deleted between two statements */
        }
    }
    if (r == HF_OK) {
        hf__table_forget_strays(&s->t.name, op);
    }
    *ret_name = &s->t.name.name;
    return r;
}

static int commit(void *state, const struct hf__op *op, struct hf__name *name,
                  struct hf__outcome *out)
{
    (void)name;
    (void)out;
    return hf__mysql_commit(state, op, NULL);
}

/* Refresh the ticket's last-seen time; nothing depends on the result. */
static void show(void *state, const struct hf__participant *ticket)
{
    struct hf__mysql *s = state;
    int r;

    if (!hf__table_shows(&s->t.name, ticket)) {
        return;
    }
    hf__mysql_packet_begin(s);
    hf__text_add(&s->sql, "UPDATE holdfast_ticket SET asked=GREATEST(asked,"
                          "" HF__SQL_NOW ") WHERE name_key=");
    hf__text_key(&s->sql, s->t.name.key);
    hf__text_addf(&s->sql, " AND seq=%llu", (unsigned long long)ticket->fence);
    r = hf__wire_run(s);
    if (r != HF_OK || s->reply.error != 0) {
        (void)hf__mysql_refused(s, s->t.err, r, HF_EUNAVAIL);
    }
}

static const struct hf__primitives primitives = {
    .rules = rules,
    .load = load,
    .put_down = put_down,
    .commit = commit,
    .show = show,
};

/* ---- changing a grant without reading it */

/* Renew or release a grant that shares its name, in one round trip. HF__RACED:
 * the grant is not there as it should be. */
static int try_own(struct hf__mysql *s, struct hf__op *op)
{
    struct hf__name *name = &s->t.name.name;
    struct hf__participant *own;
    bool is_renewal = op->kind == HF__OP_RENEW;
    int r;

    hf__table_name_init(&s->t.name, &op->key);
    own = hf__participants_add(&name->grants, -1);
    if (own == NULL) {
        return HF__RACED;
    }
    own->token = op->token;
    own->lock_mode = op->lock_mode;
    own->is_detached = op->is_detached;
    own->marks = is_renewal ? HF__MARK_LEASE : HF__MARK_GONE;
    name->marks = is_renewal ? 0 : HF__MARK_TOUCHED;
    name->marks |= op->reopens ? HF__MARK_KEEP : 0;
    r = hf__mysql_commit(s, op, is_renewal ? &op->slot : NULL);
    put_down(s);
    return r;
}

/* ---- an attempt */

/* HF__RACED: try again. */
static int attempt(struct hf__mysql *s, struct hf__op *op)
{
    struct hf__outcome out = {.result = HF_OK};
    bool is_tried = (op->kind == HF__OP_RENEW || op->kind == HF__OP_RELEASE) &&
                    op->lock_mode.mode != HF__MODE_EXCLUSIVE;
    int r = is_tried ? try_own(s, op) : HF__RACED;

    if (r != HF__RACED) {
        op->result = r;
        return r;
    }
    r = hf__engine_apply(&primitives, s, op, &out);
    if (r == HF_OK && s->t.lost == HF_OK) {
        hf__outcome_tell(&out, op);
    } else {
        op->result = r == HF_OK ? HF_EUNAVAIL : r;
    }
    return r;
}

/* ---- taking turns */

static void add_turn(struct hf__text *t, const struct hf__key *key)
{
    hf__text_add(t, "CONCAT('hc.',SHA1(CONCAT(DATABASE(),'/',");
    hf__text_key(t, key);
    hf__text_add(t, ")))");
}

/* The answer does not matter. */
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

int hf__mysql_slow(struct hf__mysql *s, struct hf__op *op)
{
    bool has_turn = false;
    int r = HF__RACED;

    s->t.lost = HF_OK;
    for (int i = 0; i < ATTEMPTS && r == HF__RACED && s->t.lost == HF_OK; i++) {
        if (i == COURTEOUS && s->t.has_wake_locks) {
            s->t.lost = take_turn(s, op);
            has_turn = true;
        }
        if (s->t.lost == HF_OK) {
            r = attempt(s, op);
        }
    }
    if (r == HF__RACED) {
        op->result =
            hf__fail(op->err, HF__AGAIN,
                     "too many clients change this lock at the same time");
    }
    return s->t.lost == HF_OK && has_turn ? give_turn(s, op) : s->t.lost;
}
