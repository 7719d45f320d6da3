/* SPDX-License-Identifier: MIT */
/*
 * Runs one operation of any kind on a name in any state: read the whole name,
 * let the engine decide, write if nobody has changed the name since, else try
 * again. If that fails more than once, the sessions that try take turns by an
 * advisory lock; one that stops with the turn delays the others, but keeps no
 * row locked. Called by the session's thread.
 */
#include "src/backend/postgres/fast_path.h"
#include "src/backend/table/marks.h"
#include "src/base/error.h"
#include "src/base/map.h"

#define ATTEMPTS 8
/* After so many attempts sessions take turns, if the server is not behind a
 * pooler. */
#define COURTEOUS 2
/* Makes the key of this turn differ from that of the turn to wait. */
#define COURTESY UINT64_C(0x636f757274657379)

static const struct hf__pg_statement show_ticket = {
    HF__PG_SHOW,
    "UPDATE holdfast_ticket SET asked=greatest(asked," HF__PG_NOW ")"
    " WHERE name_key=$1::bytea AND seq=$2::bigint"};

static const struct hf__pg_statement take_turn = {
    HF__PG_UNPREPARED, "SELECT pg_advisory_lock($1::bigint)"};
static const struct hf__pg_statement give_turn = {
    HF__PG_UNPREPARED, "SELECT pg_advisory_unlock($1::bigint)"};

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
    hf__table_name_fini(&((struct hf__pg *)state)->t.name);
}

static int take_rows(struct hf__pg *s, const PGresult *rows,
                     const struct hf__key *key)
{
    put_down(s);
    hf__table_name_init(&s->t.name, key);
    return hf__pg_name_read(rows, key, &s->t.name);
}

/* Read the name from the server. is_new: first insert a record, if there is
 * none. */
static int read_anew(struct hf__pg *s, const struct hf__key *key, bool is_new,
                     hf_error *err)
{
    int r;

    hf__pg_begin_packet(s);
    if (is_new) {
        hf__pg_fast_ask_record(s, key);
        hf__pg_end_group(s);
    }
    hf__pg_ask_names(s, &key, 1);
    r = hf__pg_send(s);
    r = r == HF_OK ? hf__pg_skip(s) : r;
    return r == HF_OK && !s->reply.is_refused
               ? take_rows(s, s->reply.rows, key)
               : hf__pg_failed(s, err, r, HF_EUNAVAIL);
}

static int load(void *state, const struct hf__key *key, const struct hf__op *op,
                bool to_change, struct hf__name **ret_name, hf_error *err)
{
    struct hf__pg *s = state;
    const PGresult *seen = s->seen;
    const struct hf__participant *own;
    int r;

    (void)to_change;
    s->seen = NULL; /* for a second attempt it may be out of date */
    r = seen != NULL ? take_rows(s, seen, key) : read_anew(s, key, false, err);
    if (r == HF_OK && !s->t.name.name.is_there && op->kind == HF__OP_ACQUIRE) {
        r = read_anew(s, key, true, err);
        if (r == HF_OK && !s->t.name.name.is_there) {
            r = HF__RACED; /* deleted between the two statements */
        }
    }
    if (r == HF_OK) {
        hf__table_forget_strays(&s->t.name, op);
    }
    own = hf__participants_find(&s->t.name.name.grants, &op->token);
    s->own_ends_us = own == NULL ? INT64_MAX : own->ends_us;
    *ret_name = &s->t.name.name;
    return r;
}

static int commit(void *state, const struct hf__op *op, struct hf__name *name,
                  struct hf__outcome *out)
{
    (void)out;
    return hf__pg_commit(state, op, name);
}

/* Refresh the ticket's last-seen time. Nothing depends on the result: its claim
 * is here to ask again. */
static void show(void *state, const struct hf__participant *ticket)
{
    struct hf__pg *s = state;
    int r;

    if (!hf__table_shows(&s->t.name, ticket)) {
        return;
    }
    hf__pg_begin_packet(s);
    hf__pg_ask(s, &show_ticket);
    hf__pg_put_key(s, s->t.name.key);
    hf__pg_put_i64(s, (int64_t)ticket->fence);
    r = hf__pg_run(s);
    if (r != HF_OK || s->reply.is_refused) {
        (void)hf__pg_failed(s, s->t.err, r, HF_EUNAVAIL);
    }
}

static const struct hf__primitives primitives = {
    .rules = rules,
    .load = load,
    .put_down = put_down,
    .commit = commit,
    .show = show,
};

/* ---- one by one */

/* Take or give back the turn; a refusal does no harm. */
static int ask_turn(struct hf__pg *s, const struct hf__pg_statement *statement,
                    const struct hf__key *key)
{
    uint64_t turn = hf__hash(key->bytes, key->length) ^ s->server.schema;
    int r;

    hf__pg_begin_packet(s);
    hf__pg_ask(s, statement);
    hf__pg_put_i64(s, (int64_t)(turn ^ COURTESY));
    r = hf__pg_run(s);
    return r == HF_ENOMEM ? HF_OK : r;
}

int hf__pg_decide(struct hf__pg *s, struct hf__op *op, PGresult *seen)
{
    struct hf__outcome out;
    bool has_turn = false;
    int r = HF__RACED;

    s->t.lost = HF_OK;
    s->seen = seen;
    for (int i = 0; i < ATTEMPTS && r == HF__RACED && s->t.lost == HF_OK; i++) {
        if (i == COURTEOUS && s->t.has_wake_locks) {
            s->t.lost = ask_turn(s, &take_turn, &op->key);
            has_turn = true;
        }
        if (s->t.lost == HF_OK) {
            r = hf__engine_apply(&primitives, s, op, &out);
        }
    }
    if (r == HF__RACED) {
        op->result =
            hf__fail(op->err, HF__AGAIN,
                     "too many clients change this lock at the same time");
    } else if (r != HF_OK) {
        op->result = r;
    } else {
        hf__outcome_tell(&out, op);
    }
    return s->t.lost == HF_OK && has_turn ? ask_turn(s, &give_turn, &op->key)
                                          : s->t.lost;
}
