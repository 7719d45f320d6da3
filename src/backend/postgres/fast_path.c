/* SPDX-License-Identifier: MIT */
/*
 * The statements of the fast path. The server checks each condition in the
 * statement that writes, so that nothing can come in between. Rows are found by
 * their primary key, and locked in its order: two batches that overlap may wait
 * for each other, but never in a circle. A statement that waited for a row has
 * an old clock, which must not shorten a lease that a later one gave. Called by
 * the session's thread.
 */
#include "src/backend/postgres/fast_path.h"

#include "src/backend/postgres/errors.h"
#include "src/base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- words: v, what differs from operation to operation, and the clock */

/* The arrays are sorted by key. Only the first one is unnested, the others are
 * indexed: for the server each unnested one would be another list to join. */
#define OF(items)                                                              \
    "(SELECT k," items                                                         \
    " FROM unnest($1::bytea[]) WITH ORDINALITY u(k,i)) v," HF__PG_CLOCK
#define OWNED                                                                  \
    OF("($2::bytea[])[i] AS t,($3::bigint[])[i] AS lease,"                     \
       "($4::bigint[])[i] AS d")
#define GIVEN_BACK OF("($2::bytea[])[i] AS t,($3::bigint[])[i] AS reopens")
#define TAKEN                                                                  \
    OF("($2::bytea[])[i] AS own,($3::bytea[])[i] AS t,"                        \
       "($4::bigint[])[i] AS bell,($5::bigint[])[i] AS lease,"                 \
       "($6::bigint[])[i] AS keep,($7::bigint[])[i] AS d,"                     \
       "($8::text[])[i] AS label,($9::text[])[i] AS host,"                     \
       "($10::bigint[])[i] AS pid,($11::text[])[i] AS thread,"                 \
       "($12::text[])[i] AS note")

/* This is not an equality, for then the planner would read a small table whole,
 * look for each row in the list, and keep that plan while the table grows. */
#define IS_V "x.name_key>=v.k AND x.name_key<=v.k"

/* Prolongs the lease of row x. */
#define PROLONG                                                                \
    "expires=CASE WHEN n>=x.changed_at THEN n+v.lease "                        \
    "ELSE greatest(x.expires,n+v.lease) END,"                                  \
    "changed_at=greatest(x.changed_at,n),"                                     \
    "detached=CASE v.d WHEN 1 THEN 1 ELSE x.detached END"

static const char renew[] =
    "UPDATE holdfast_lock x SET revision=x.revision+1," PROLONG " FROM " OWNED
    " WHERE " IS_V " AND x.token=v.t AND x.expires>n"
    " RETURNING x.name_key,x.fence,-1::bigint";

/* For a grant beside others the name's record changes too, so that a session
 * which found that grant over has to read again. */
#define CHANGE_RECORD                                                          \
    "WITH u AS (UPDATE holdfast_lock x SET revision=x.revision+1"
#define OF_CROWD " WHERE " IS_V " AND x.crowd&1=1 RETURNING v.*,n) "

static const char renew_one_of_several[] = CHANGE_RECORD
    " FROM " OWNED OF_CROWD "UPDATE holdfast_beside x SET " PROLONG
    " FROM u v WHERE " IS_V " AND x.token=v.t"
    " AND x.ended=0 AND x.expires>n"
    " RETURNING x.name_key,x.fence,x.slot::bigint";

static const char release[] =
    "UPDATE holdfast_lock x SET revision=x.revision+1,token='',expires=0,"
    "keep_until=CASE v.reopens WHEN 1 THEN 0 ELSE x.keep_until END,"
    "changed_at=greatest(x.changed_at,n) FROM " GIVEN_BACK " WHERE " IS_V
    " AND x.token=v.t"
    " RETURNING x.name_key,x.fence,-1::bigint";

/* The column crowd stays as it is, though the last grant beside others may be
 * gone: this statement does not see grants that came while it waited. The next
 * session that reads the name sees to it. */
static const char release_one_of_several[] = CHANGE_RECORD
    ",changed_at=greatest(x.changed_at,n) FROM " GIVEN_BACK OF_CROWD
    "DELETE FROM holdfast_beside x USING u v"
    " WHERE " IS_V " AND x.token=v.t AND x.ended=0"
    " RETURNING x.name_key,x.fence,-1::bigint";

/* Bit 1 of the column detached tells RETURNING that the last grant was not
 * given back. The wake lock is taken once the row is locked, and before anybody
 * sees the grant. */
#define TAKE                                                                   \
    "UPDATE holdfast_lock x SET revision=x.revision+1,token=v.t,"              \
    "fence=greatest(x.fence+1,n),acquired_at=n,expires=n+v.lease,"             \
    "keep_until=CASE WHEN v.keep>0 THEN n+v.keep ELSE 0 END,"                  \
    "changed_at=greatest(x.changed_at,n),detached=v.d+"                        \
    "CASE WHEN x.expires>0 AND x.token<>v.own THEN 2 ELSE 0 END,"              \
    "label=v.label,host=v.host,pid=v.pid,thread=v.thread,note=v.note"          \
    " FROM " TAKEN " WHERE " IS_V " AND x.crowd=0"                             \
    " AND length(x.token) IN (0,16)"                                           \
    " AND x.fence BETWEEN 0 AND 9007199254740990"
#define RETURNING_TAKEN                                                        \
    " RETURNING x.name_key,x.fence,x.detached>>1,"                             \
    "CASE WHEN v.bell<>0 THEN pg_try_advisory_lock(v.bell) END"

static const char handover[] =
    TAKE " AND x.token=v.own AND x.expires>n" RETURNING_TAKEN;
static const char acquire[] =
    TAKE " AND greatest(x.expires,x.keep_until)<=n" RETURNING_TAKEN;

/* Revisions of a new record begin at the clock, so that they differ from those
 * of a deleted record of that name: no session takes one for the other, nor its
 * tickets. */
static const struct hf__pg_statement make = {
    HF__PG_MAKE,
    "INSERT INTO holdfast_lock(name_key,revision) SELECT k,n FROM "
    "unnest($1::bytea[]) k," HF__PG_CLOCK " ORDER BY k ON CONFLICT DO NOTHING"};

/* ---- their parameters */

enum field {
    END,
    KEY, /* bytes from here on */
    TOKEN,
    NEW_TOKEN,
    BELL, /* numbers from here on */
    LEASE,
    KEEP,
    DETACHED,
    REOPENS,
    PID,
    LABEL, /* texts from here on */
    HOST,
    THREAD,
    NOTE
};

static const enum field of_owned[] = {KEY, TOKEN, LEASE, DETACHED, END};
static const enum field of_given_back[] = {KEY, TOKEN, REOPENS, END};
static const enum field of_taken[] = {KEY,    TOKEN,    NEW_TOKEN, BELL, LEASE,
                                      KEEP,   DETACHED, LABEL,     HOST, PID,
                                      THREAD, NOTE,     END};

static const struct form {
    struct hf__pg_statement statement;
    const enum field *fields;
} forms[] = {
    [HF__PG_FAST_RENEW] = {{HF__PG_RENEW, renew}, of_owned},
    [HF__PG_FAST_RENEW_ONE_OF_SEVERAL] = {{HF__PG_RENEW_ONE_OF_SEVERAL,
                                           renew_one_of_several},
                                          of_owned},
    [HF__PG_FAST_RELEASE] = {{HF__PG_RELEASE, release}, of_given_back},
    [HF__PG_FAST_RELEASE_ONE_OF_SEVERAL] = {{HF__PG_RELEASE_ONE_OF_SEVERAL,
                                             release_one_of_several},
                                            of_given_back},
    [HF__PG_FAST_HANDOVER] = {{HF__PG_HANDOVER, handover}, of_taken},
    [HF__PG_FAST_ACQUIRE] = {{HF__PG_ACQUIRE, acquire}, of_taken},
    [HF__PG_FAST_MAKE] = {{HF__PG_ACQUIRE, acquire}, of_taken},
};

static const struct hf__token *taker(const struct hf__op *op)
{
    return op->kind == HF__OP_HANDOVER ? &op->next_token : &op->token;
}

/* A detached grant takes no wake lock: the grant may outlive this session, the
 * lock would not. */
static int64_t take_wake_lock(struct hf__pg *s, const struct hf__op *op)
{
    return op->is_detached ? 0 : hf__pg_wake_lock_take(s, taker(op));
}

static unsigned type_of(enum field field)
{
    return field >= LABEL  ? HF__PG_TEXT
           : field >= BELL ? HF__PG_INT8
                           : HF__PG_BYTEA;
}

static void put_item(struct hf__pg *s, enum field field,
                     const struct hf__op *op)
{
    static const struct hf__owner nobody;
    const struct hf__owner *o = op->owner != NULL ? op->owner : &nobody;
    const struct hf__token *token = field == TOKEN ? &op->token : taker(op);
    const char *texts[] = {o->label, o->host, o->thread, o->note};
    int64_t numbers[] = {op->lease_us, op->keep_us, op->is_detached,
                         op->reopens, o->pid};

    if (field >= LABEL) {
        hf__pg_item(s, texts[field - LABEL], strlen(texts[field - LABEL]));
    } else if (field >= LEASE) {
        hf__pg_item_i64(s, numbers[field - LEASE]);
    } else if (field == BELL) {
        hf__pg_item_i64(s, take_wake_lock(s, op));
    } else if (field == KEY) {
        hf__pg_item(s, op->key.bytes, op->key.length);
    } else {
        hf__pg_item(s, token->bytes, sizeof token->bytes);
    }
}

static void put_array(struct hf__pg *s, const struct hf__pg_unit *u,
                      enum field field)
{
    hf__pg_put_array(s, type_of(field), u->n);
    for (int i = 0; i < u->n; i++) {
        put_item(s, field, u->ops[i]);
    }
}

enum hf__pg_form hf__pg_form_of(const struct hf__op *op)
{
    bool is_alone = op->lock_mode.mode == HF__MODE_EXCLUSIVE;

    switch (op->kind) {
    case HF__OP_RENEW:
        return is_alone ? HF__PG_FAST_RENEW : HF__PG_FAST_RENEW_ONE_OF_SEVERAL;
    case HF__OP_RELEASE:
        if (is_alone) {
            return HF__PG_FAST_RELEASE;
        }
        return op->reopens ? HF__PG_FAST_NOT
                           : HF__PG_FAST_RELEASE_ONE_OF_SEVERAL;
    case HF__OP_HANDOVER:
        return HF__PG_FAST_HANDOVER;
    case HF__OP_ACQUIRE:
        return is_alone ? HF__PG_FAST_ACQUIRE : HF__PG_FAST_NOT;
    case HF__OP_RAISE:
    case HF__OP_INSPECT:
    case HF__OP_BREAK:
        break;
    }
    return HF__PG_FAST_NOT;
}

void hf__pg_fast_ask(struct hf__pg *s, const struct hf__pg_unit *u)
{
    const struct form *f = &forms[u->form];

    if (u->form == HF__PG_FAST_MAKE) {
        hf__pg_ask(s, &make);
        put_array(s, u, KEY);
    }
    hf__pg_ask(s, &f->statement);
    for (const enum field *field = f->fields; *field != END; field++) {
        put_array(s, u, *field);
    }
    hf__pg_end_group(s);
}

void hf__pg_fast_ask_record(struct hf__pg *s, const struct hf__key *key)
{
    hf__pg_ask(s, &make);
    hf__pg_put_array(s, HF__PG_BYTEA, 1);
    hf__pg_item(s, key->bytes, key->length);
}

/* ---- what is heard */

int hf__pg_failed(struct hf__pg *s, hf_error *err, int r, int if_lost)
{
    enum hf__pg_error_class class;

    if (r == HF_ENOMEM) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (r != HF_OK) {
        s->t.lost = hf__pg_dead(s, err);
        return if_lost;
    }
    class = hf__pg_error_class(s);
    r = hf__pg_refusal(s, err);
    if (class == HF__PG_SESSION) {
        s->t.lost = hf__pg_refusal(s, s->t.err);
    }
    if (strcmp(s->reply.sqlstate, "55P03") == 0 && !s->hurries) {
        return r; /* it was waited for long enough */
    }
    return class == HF__PG_AGAIN || class == HF__PG_UNKNOWN_PREPARED ? HF__AGAIN
                                                                     : r;
}

static int compare(const void *key, const void *op)
{
    return hf__key_compare(key, &(*(struct hf__op *const *)op)->key);
}

static void hear_row(struct hf__pg *s, const struct hf__pg_unit *u, int row)
{
    size_t length = 0;
    const char *bytes = hf__pg_bytes(s, row, 0, &length);
    const struct hf__key key = {bytes, (uint16_t)length, 0};
    struct hf__op **at =
        bsearch(&key, u->ops, (size_t)u->n, sizeof *u->ops, compare);
    struct hf__op *op;

    if (at == NULL) {
        return;
    }
    op = *at;
    op->result = HF_OK;
    op->fence = (uint64_t)hf__pg_i64(s, row, 1);
    op->slot = -1;
    if (op->kind == HF__OP_ACQUIRE) {
        op->took_over = hf__pg_i64(s, row, 2) != 0;
    } else if (op->kind == HF__OP_RENEW) {
        op->slot = (int)hf__pg_i64(s, row, 2);
    }
}

/* Operations that were not applied took no wake lock either. */
static void leave(struct hf__pg *s, const struct hf__pg_unit *u)
{
    for (int i = 0; i < u->n; i++) {
        if (u->form >= HF__PG_FAST_HANDOVER && u->ops[i]->result != HF_OK) {
            (void)hf__pg_wake_lock_forget(s, taker(u->ops[i]));
        }
    }
}

static void refuse(struct hf__pg *s, struct hf__pg_unit *u)
{
    u->is_refused = true;
    for (int i = 0; i < u->n; i++) {
        u->ops[i]->result = hf__pg_failed(s, u->ops[i]->err, HF_OK, 0);
    }
}

int hf__pg_fast_hear(struct hf__pg *s, struct hf__pg_unit *u)
{
    int replies = u->form == HF__PG_FAST_MAKE ? 2 : 1;

    u->is_refused = false;
    for (int i = 0; i < replies; i++) {
        int r = hf__pg_next(s);

        if (r != HF_OK) {
            return r;
        }
        if (s->reply.is_refused) {
            refuse(s, u);
        }
    }
    for (int i = 0; i < u->n && !u->is_refused; i++) {
        u->ops[i]->result = HF__PG_OPEN;
    }
    for (int i = 0; i < s->reply.n_rows && !u->is_refused; i++) {
        hear_row(s, u, i);
    }
    leave(s, u);
    return HF_OK;
}
