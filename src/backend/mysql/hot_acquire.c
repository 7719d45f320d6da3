/* SPDX-License-Identifier: MIT */
/*
 * The two statements that acquire: one for rows that are there and free, and
 * one for any. As in hot.c, columns are set from left to right, and what a
 * condition reads is set last. Called by the session's thread.
 */
#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/hot.h"
#include "src/backend/mysql/row.h"

#include <string.h>

/* What differs between the rows of a unit, as an expression; its own words in
 * all rows if it does not. */
static void add_each(struct hf__text *t, const struct hf__unit *u,
                     void (*add)(struct hf__text *, const struct hf__op *),
                     bool is_same)
{
    if (u->n == 1 || is_same) {
        add(t, u->ops[0]);
        return;
    }
    hf__text_add(t, "ELT(FIELD(name_key");
    for (int i = 0; i < u->n; i++) {
        hf__text_add(t, ",");
        hf__text_key(t, &u->ops[i]->key);
    }
    hf__text_add(t, ")");
    for (int i = 0; i < u->n; i++) {
        hf__text_add(t, ",");
        add(t, u->ops[i]);
    }
    hf__text_add(t, ")");
}

static void add_token(struct hf__text *t, const struct hf__op *op)
{
    hf__text_token(t, &op->token);
}

static void add_bell(struct hf__text *t, const struct hf__op *op)
{
    hf__bell_take(t, &op->token);
}

static void add_label(struct hf__text *t, const struct hf__op *op)
{
    hf__text_string(t, op->owner->label);
}

static void add_thread(struct hf__text *t, const struct hf__op *op)
{
    hf__text_string(t, op->owner->thread);
}

static void add_note(struct hf__text *t, const struct hf__op *op)
{
    hf__text_string(t, op->owner->note);
}

static void add_owners(struct hf__text *t, const struct hf__unit *u)
{
    const struct hf__owner *first = u->ops[0]->owner;
    bool is_label = true;
    bool is_thread = true;
    bool is_note = true;

    for (int i = 1; i < u->n; i++) {
        const struct hf__owner *o = u->ops[i]->owner;

        is_label = is_label && strcmp(o->label, first->label) == 0;
        is_thread = is_thread && strcmp(o->thread, first->thread) == 0;
        is_note = is_note && strcmp(o->note, first->note) == 0;
    }
    hf__text_add(t, "host=");
    hf__text_string(t, first->host);
    hf__text_addf(t, ",pid=%lld,label=", (long long)first->pid);
    add_each(t, u, add_label, is_label);
    hf__text_add(t, ",thread=");
    add_each(t, u, add_thread, is_thread);
    hf__text_add(t, ",note=");
    add_each(t, u, add_note, is_note);
}

/*
 * Rows that were given back and whose fence is behind the clock, which is
 * nearly all: they get the same fence, so that the reply says it for all of
 * them. Whatever else there is, ACQUIRE_ANY finds out; also who takes over what
 * nobody gave back. To read the clock takes the server as long as all the rest:
 * acquired_at has it for the columns after it.
 */
int hf__hot_ask_acquire(struct hf__mysql *s, const struct hf__unit *u)
{
    const struct hf__op *op = u->ops[0];
    struct hf__text *t = &s->sql;
    long long lease_us = op->lease_us;
    int replies = s->server.has_inner_bells ? 0 : hf__hot_take_bells(s, u);

    hf__text_addf(t,
                  "UPDATE " HF__HOT_TABLE " SET acquired_at=" HF__SQL_NOW
                  ",fence=LAST_INSERT_ID(acquired_at),keep_until=%s+%lld,"
                  "detached=%d,",
                  op->keep_us > 0 ? "acquired_at" : "0", (long long)op->keep_us,
                  op->is_detached);
    add_owners(t, u);
    hf__text_addf(t,
                  ",revision=revision+1,expires=acquired_at+%lld,"
                  "changed_at=GREATEST(changed_at,acquired_at),token=",
                  lease_us);
    add_each(t, u, add_token, false);
    hf__text_add(t, " WHERE ");
    hf__hot_add_keys(t, u->ops, u->n);
    hf__text_add(t, " AND crowd=0 AND expires=0 AND fence<" HF__SQL_NOW
                    " AND keep_until<=" HF__SQL_NOW);
    if (s->server.has_inner_bells && hf__hot_rings(s, u)) {
        /* Of a row that is locked by now and not committed yet, so that nobody
         * can ask for it before. */
        hf__text_add(t, " AND COALESCE(");
        add_each(t, u, add_bell, false);
        hf__text_add(t, ",0)>=0");
    }
    hf__text_add(t, ";");
    return replies + 1;
}

static void add_values(struct hf__text *t, const struct hf__op *op)
{
    hf__text_add(t, "(");
    hf__text_key(t, &op->key);
    hf__text_add(t, ",");
    hf__text_token(t, &op->token);
    hf__text_addf(t,
                  ",GREATEST(1," HF__SQL_NOW ")," HF__SQL_NOW "+%lld,"
                  "%s+%lld," HF__SQL_NOW "," HF__SQL_NOW ",%d,",
                  (long long)op->lease_us, op->keep_us > 0 ? HF__SQL_NOW : "0",
                  (long long)op->keep_us, op->is_detached);
    hf__mysql_owner_values(t, op->owner);
    hf__text_add(t, ")");
}

/* Whether the row may be taken, and, once the token is set, whether it was. */
#define MAY_TAKE                                                               \
    "crowd=0 AND (token=VALUES(token) OR (expires<=" HF__SQL_NOW               \
    " AND keep_until<=" HF__SQL_NOW "))"
#define IS_OURS "token=VALUES(token) AND expires>" HF__SQL_NOW
#define IF_TAKEN(column)                                                       \
#column "=IF(token=VALUES(token),VALUES(" #column ")," #column "),"
#define FACTS_IF_TAKEN                                                         \
    IF_TAKEN(keep_until)                                                       \
    IF_TAKEN(label) IF_TAKEN(host) IF_TAKEN(pid) IF_TAKEN(thread) IF_TAKEN(note)

/* In the column detached, beside its own 1. */
#define TOOK_OVER "2"

static const char take_if_free[] =
    " ON DUPLICATE KEY UPDATE "
    "fence=IF(" MAY_TAKE " AND NOT(" IS_OURS "),"
    "GREATEST(fence+1," HF__SQL_NOW "),fence),"
    "acquired_at=IF(" MAY_TAKE " AND NOT(" IS_OURS "),"
    "VALUES(acquired_at),acquired_at),"
    "detached=IF(" MAY_TAKE " AND NOT(" IS_OURS "),"
    "VALUES(detached)+" TOOK_OVER "*(expires>0 AND token<>VALUES(token)),"
    "IF(token=VALUES(token),VALUES(detached),detached)),"
    "token=IF(" MAY_TAKE ",VALUES(token),token)," FACTS_IF_TAKEN
    "revision=revision+(token=VALUES(token)),"
    "expires=IF(token=VALUES(token),IF(" HF__SQL_NOW
    ">=changed_at,VALUES(expires),GREATEST(expires,VALUES(expires))),expires),"
    "changed_at=IF(token=VALUES(token),"
    "GREATEST(changed_at,VALUES(changed_at)),changed_at);";

int hf__hot_ask_acquire_any(struct hf__mysql *s, const struct hf__unit *u)
{
    struct hf__text *t = &s->sql;
    int replies = hf__hot_take_bells(s, u);

    hf__text_add(t, "INSERT INTO holdfast_lock(name_key,token,fence,expires,"
                    "keep_until,acquired_at,changed_at,detached,label,host,"
                    "pid,thread,note) VALUES");
    for (int i = 0; i < u->n; i++) {
        hf__text_add(t, i == 0 ? "" : ",");
        add_values(t, u->ops[i]);
    }
    hf__text_add(t, take_if_free);
    hf__hot_ask_rows(s, u->ops, u->n);
    return replies + 2;
}
