/* SPDX-License-Identifier: MIT */
/*
 * The statements of the fast path. The server evaluates each condition in the
 * statement that writes, so that nothing can come in between. It sets columns
 * from left to right, and later ones see the new values of earlier ones, so a
 * column that a condition reads is set last. Rows are found by their primary
 * key, and no others are locked. Called by the session's thread.
 */
#include "src/backend/mysql/fast_path.h"

#include "src/backend/mysql/row.h"
#include "src/backend/mysql/sql.h"
#include "src/base/error.h"

#include <string.h>

/* A statement that waited for the row's lock has an old clock: it must not
 * shorten a lease that a later statement gave. */
#define EXTEND                                                                 \
    "expires=IF(" HF__SQL_NOW ">=changed_at," HF__SQL_NOW                      \
    "+%lld,GREATEST(expires," HF__SQL_NOW "+%lld)),"
#define TOUCH "changed_at=GREATEST(changed_at," HF__SQL_NOW "),"

/* ---- parts of statements */

static void add_keys(struct hf__text *t, struct hf__op *const ops[], int n)
{
    hf__text_add(t, "name_key IN(");
    for (int i = 0; i < n; i++) {
        hf__text_add(t, i == 0 ? "" : ",");
        hf__text_key(t, &ops[i]->key);
    }
    hf__text_add(t, ")");
}

/* A token belongs to one claim only, so two lists mean the same as pairs. */
static void add_owned(struct hf__text *t, struct hf__op *const ops[], int n)
{
    add_keys(t, ops, n);
    hf__text_add(t, " AND token IN(");
    for (int i = 0; i < n; i++) {
        hf__text_add(t, i == 0 ? "" : ",");
        hf__text_token(t, &ops[i]->token);
    }
    hf__text_add(t, ")");
}

/* A grant that outlives its session has no wake lock: nobody would drop it. */
static bool has_wake_locks(const struct hf__mysql *s, const struct hf__unit *u)
{
    return s->t.has_wake_locks && !u->ops[0]->is_detached;
}

/* Returns the number of replies. */
static int take_wake_locks(struct hf__mysql *s, const struct hf__unit *u)
{
    if (!has_wake_locks(s, u)) {
        return 0;
    }
    for (int i = 0; i < u->n; i++) {
        hf__text_add(&s->sql, i == 0 ? "DO " : ",");
        hf__mysql_wake_lock_take(&s->sql, u->form == HF__FORM_HANDOVER
                                              ? &u->ops[i]->next_token
                                              : &u->ops[i]->token);
    }
    hf__text_add(&s->sql, ";");
    return 1;
}

/* ---- the statements */

static int ask_renew(struct hf__mysql *s, const struct hf__unit *u)
{
    long long lease_us = u->ops[0]->lease_us;

    hf__text_add(&s->sql, "UPDATE " HF__FAST_TABLE " SET ");
    hf__text_addf(&s->sql, EXTEND TOUCH "detached=%d,", lease_us, lease_us,
                  u->ops[0]->is_detached);
    hf__text_add(&s->sql, "revision=revision+1 WHERE ");
    add_owned(&s->sql, u->ops, u->n);
    hf__text_add(&s->sql, " AND expires>" HF__SQL_NOW ";");
    return 1;
}

static int ask_release(struct hf__mysql *s, const struct hf__unit *u)
{
    hf__text_add(&s->sql,
                 "UPDATE " HF__FAST_TABLE
                 " SET freed=token,token=" HF__SQL_NOBODY ",expires=0," TOUCH);
    hf__text_add(&s->sql, u->ops[0]->reopens ? "keep_until=0," : "");
    hf__text_add(&s->sql, "revision=revision+1 WHERE ");
    add_owned(&s->sql, u->ops, u->n);
    hf__text_add(&s->sql, ";");
    if (!s->t.has_wake_locks) {
        return 1;
    }
    for (int i = 0; i < u->n; i++) {
        hf__text_add(&s->sql, i == 0 ? "DO " : ",");
        hf__mysql_wake_lock_drop(&s->sql, &u->ops[i]->token);
    }
    hf__text_add(&s->sql, ";");
    return 2;
}

/* Write what a new holder sets, except fence, token and lease. */
static void add_facts(struct hf__text *t, const struct hf__op *op)
{
    if (op->keep_us > 0) {
        hf__text_addf(t, "keep_until=" HF__SQL_NOW "+%lld,",
                      (long long)op->keep_us);
    } else {
        hf__text_add(t, "keep_until=0,");
    }
    hf__text_addf(t, "detached=%d,", op->is_detached);
    hf__mysql_owner_set(t, op->owner);
    hf__text_add(t, ",revision=revision+1,");
}

static int ask_handover(struct hf__mysql *s, const struct hf__unit *u)
{
    const struct hf__op *op = u->ops[0];
    long long lease_us = op->lease_us;
    int replies = take_wake_locks(s, u);

    hf__text_add(&s->sql, "UPDATE " HF__FAST_TABLE " SET fence=LAST_INSERT_ID("
                          "GREATEST(fence+1," HF__SQL_NOW ")),"
                          "acquired_at=" HF__SQL_NOW ",");
    add_facts(&s->sql, op);
    hf__text_addf(&s->sql,
                  "expires=" HF__SQL_NOW "+%lld," TOUCH "token=", lease_us);
    hf__text_token(&s->sql, &op->next_token);
    hf__text_add(&s->sql, " WHERE crowd=0 AND ");
    add_owned(&s->sql, u->ops, 1);
    hf__text_add(&s->sql, " AND expires>" HF__SQL_NOW ";");
    if (!s->t.has_wake_locks) {
        return replies + 1;
    }
    hf__text_add(&s->sql, "DO IF(ROW_COUNT()=1,");
    hf__mysql_wake_lock_drop(&s->sql, &op->token);
    hf__text_add(&s->sql, ",");
    hf__mysql_wake_lock_drop(&s->sql, &op->next_token);
    hf__text_add(&s->sql, ");");
    return replies + 2;
}

void hf__fast_ask_rows(struct hf__mysql *s, struct hf__op *const ops[], int n)
{
    hf__text_add(&s->sql, "SELECT " HF__MYSQL_ROW_COLUMNS
                          " FROM " HF__FAST_TABLE " WHERE ");
    add_keys(&s->sql, ops, n);
    hf__text_add(&s->sql, ";");
}

bool hf__fast_are_alike(const struct hf__op *a, const struct hf__op *b)
{
    switch (a->kind) {
    case HF__OP_RENEW:
        return a->lease_us == b->lease_us && a->is_detached == b->is_detached;
    case HF__OP_RELEASE:
        return a->reopens == b->reopens;
    case HF__OP_ACQUIRE:
        return a->lease_us == b->lease_us && a->keep_us == b->keep_us &&
               a->is_detached == b->is_detached &&
               a->owner->pid == b->owner->pid &&
               strcmp(a->owner->host, b->owner->host) == 0;
    case HF__OP_INSPECT:
        return true;
    case HF__OP_HANDOVER:
    case HF__OP_RAISE:
    case HF__OP_BREAK:
        break;
    }
    return false;
}

/* ---- the replies */

bool hf__fast_is_open(const struct hf__op *op)
{
    return op->result == HF__OPEN || op->result == HF__UNDONE;
}

static int refuse_damaged(const struct hf__op *op)
{
    return hf__fail(op->err, HF_EPROTO,
                    "the row of this lock in holdfast_lock was changed by "
                    "somebody else and makes no sense; delete it when nobody "
                    "uses the lock");
}

static void hear_acquired(struct hf__mysql *s, enum hf__form form,
                          struct hf__op *op, const struct hf__mysql_row *row)
{
    if (row->is_damaged) {
        op->result = refuse_damaged(op);
    } else if (hf__token_equal(&row->token, &op->token)) {
        if (form == HF__FORM_ACQUIRE && row->fence != op->fence) {
            return; /* granted by an earlier attempt: renew its lease */
        }
        op->result = HF_OK;
        op->fence = row->fence;
        op->took_over = row->took_over;
        return;
    } else if (row->crowd != 0 || op->queueing == HF__QUEUE_ALWAYS) {
        op->result = HF__SLOW;
    } else if (form == HF__FORM_ACQUIRE &&
               hf__mysql_row_is_free_for(row, &op->token)) {
        return; /* expired and not released, or its fence is not behind the
                   clock: ACQUIRE_ANY takes it */
    } else {
        op->result = HF_BUSY;
        hf__mysql_row_tell(row, op->ret_record);
    }
    op->fence = row->fence;
    hf__mysql_wake_lock_leave(s, &op->token);
}

static void lose(struct hf__op *op, const struct hf__mysql_row *row)
{
    op->result = HF_LOST;
    op->ret_reason = hf__reason_for(op->fence, row->fence, row->broken);
    op->fence = row->fence;
    hf__mysql_row_tell(row, op->ret_record);
}

/* Did the statement before renew or release it? */
static bool was_done(const struct hf__op *op, const struct hf__mysql_row *row)
{
    return op->kind == HF__OP_RENEW
               ? hf__token_equal(&row->token, &op->token) && row->expires_in > 0
               : hf__token_equal(&row->freed, &op->token);
}

static void hear_owned(struct hf__op *op, const struct hf__mysql_row *row)
{
    if (row->is_damaged) {
        op->result = refuse_damaged(op);
    } else if (op->result == HF__OPEN && was_done(op, row)) {
        op->result = HF_OK;
    } else if (row->crowd != 0) {
        op->result = HF__SLOW;
    } else {
        lose(op, row);
    }
}

static void hear_inspected(struct hf__op *op, const struct hf__mysql_row *row)
{
    if (row->crowd != 0) {
        op->result = HF__SLOW;
        return;
    }
    op->result = row->is_damaged ? refuse_damaged(op) : HF_OK;
    op->fence = row->fence;
    hf__mysql_row_tell(row, op->ret_record);
}

static void decide(struct hf__mysql *s, enum hf__form form, struct hf__op *op,
                   const struct hf__mysql_row *row)
{
    if (op->kind == HF__OP_ACQUIRE) {
        hear_acquired(s, form, op, row);
    } else if (op->kind == HF__OP_INSPECT) {
        hear_inspected(op, row);
    } else {
        hear_owned(op, row);
    }
}

static struct hf__op *find(struct hf__op *const ops[], int n,
                           const struct hf__key *key)
{
    int low = 0;

    while (n > 0) {
        int order = hf__key_compare(key, &ops[low + n / 2]->key);

        if (order == 0) {
            return ops[low + n / 2];
        }
        low += order > 0 ? n / 2 + 1 : 0;
        n = order > 0 ? n - n / 2 - 1 : n / 2;
    }
    return NULL;
}

/* There is no row: nobody ever had the name, or somebody deleted it just
 * now. */
static void decide_missing(struct hf__mysql *s, enum hf__form form,
                           struct hf__op *op)
{
    static const struct hf__mysql_row none;

    if (op->kind != HF__OP_ACQUIRE) {
        decide(s, form, op, &none);
    } else if (form == HF__FORM_ACQUIRE_ANY) {
        op->result = HF__AGAIN;
        hf__mysql_wake_lock_leave(s, &op->token);
    }
}

void hf__fast_hear_rows(struct hf__mysql *s, const struct hf__unit *u)
{
    struct hf__mysql_row row;

    for (hf__mysql_row_read(s, &row); row.is_there;
         hf__mysql_row_read(s, &row)) {
        struct hf__op *op = find(u->ops, u->n, &row.key);

        if (op != NULL && hf__fast_is_open(op)) {
            decide(s, u->form, op, &row);
        }
    }
    for (int i = 0; i < u->n; i++) {
        if (hf__fast_is_open(u->ops[i])) {
            decide_missing(s, u->form, u->ops[i]);
        }
    }
}

/* If as many rows were written as the unit has, all its operations succeeded.
 * HF__UNDONE: none was written. A number between says not which were. */
static void hear_written(struct hf__mysql *s, const struct hf__unit *u)
{
    struct hf__op *op = u->ops[0];

    if (s->reply.affected == (uint64_t)u->n) {
        for (int i = 0; i < u->n; i++) {
            u->ops[i]->result = HF_OK;
            if (u->form == HF__FORM_HANDOVER || u->form == HF__FORM_ACQUIRE) {
                u->ops[i]->fence = s->reply.insert_id;
            }
        }
    } else if (u->form == HF__FORM_HANDOVER) {
        op->result = HF__SLOW;
    } else {
        for (int i = 0; i < u->n; i++) {
            if (u->form == HF__FORM_ACQUIRE) {
                u->ops[i]->fence =
                    s->reply.affected == 0 ? 0 : s->reply.insert_id;
            }
            u->ops[i]->result = s->reply.affected == 0 ? HF__UNDONE : HF__OPEN;
        }
    }
}

/* The reply to taking wake locks comes first, and says nothing. */
int hf__fast_writes_at(const struct hf__mysql *s, const struct hf__unit *u)
{
    return has_wake_locks(s, u) &&
           (u->form == HF__FORM_HANDOVER || u->form == HF__FORM_ACQUIRE_ANY ||
            (u->form == HF__FORM_ACQUIRE && !s->server.has_inner_wake_locks));
}

void hf__fast_hear(struct hf__mysql *s, const struct hf__unit *u, int which)
{
    int at = which - hf__fast_writes_at(s, u);

    if (u->form == HF__FORM_INSPECT ||
        (u->form == HF__FORM_ACQUIRE_ANY && at == 1)) {
        hf__fast_hear_rows(s, u);
    } else if (u->form != HF__FORM_ACQUIRE_ANY && at == 0) {
        hear_written(s, u);
    }
}

/* Write a column's value as an expression that chooses by the row; or, if it is
 * the same in all rows of the unit, the plain value. */
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

static void add_wake_lock(struct hf__text *t, const struct hf__op *op)
{
    hf__mysql_wake_lock_take(t, &op->token);
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
 * This statement takes the rows that were released and whose fence is behind
 * the clock, which are nearly all. They all get the same fence, so one reply
 * gives it for each. ACQUIRE_ANY handles all other cases, also taking over a
 * lock that nobody released. Reading the clock takes the server as long as all
 * the rest, so the columns after acquired_at use that in place of the clock.
 */
static int ask_acquire(struct hf__mysql *s, const struct hf__unit *u)
{
    const struct hf__op *op = u->ops[0];
    struct hf__text *t = &s->sql;
    long long lease_us = op->lease_us;
    int replies = s->server.has_inner_wake_locks ? 0 : take_wake_locks(s, u);

    hf__text_addf(t,
                  "UPDATE " HF__FAST_TABLE " SET acquired_at=" HF__SQL_NOW
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
    add_keys(t, u->ops, u->n);
    hf__text_add(t, " AND crowd=0 AND expires=0 AND fence<" HF__SQL_NOW
                    " AND keep_until<=" HF__SQL_NOW);
    if (s->server.has_inner_wake_locks && has_wake_locks(s, u)) {
        /* By now the row is locked and not committed, so nobody can ask for
         * this wake lock before we have it. */
        hf__text_add(t, " AND COALESCE(");
        add_each(t, u, add_wake_lock, false);
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

/* MAY_TAKE: the row may be taken. IS_OURS: our claim has it already. IF_TAKEN,
 * once the token is set: it was taken. */
#define MAY_TAKE                                                               \
    "crowd=0 AND (token=VALUES(token) OR (expires<=" HF__SQL_NOW               \
    " AND keep_until<=" HF__SQL_NOW "))"
#define IS_OURS "token=VALUES(token) AND expires>" HF__SQL_NOW
#define IF_TAKEN(column)                                                       \
#column "=IF(token=VALUES(token),VALUES(" #column ")," #column "),"
#define FACTS_IF_TAKEN                                                         \
    IF_TAKEN(keep_until)                                                       \
    IF_TAKEN(label) IF_TAKEN(host) IF_TAKEN(pid) IF_TAKEN(thread) IF_TAKEN(note)

/* Added to the column detached (0 or 1) if the lock was taken over. */
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

static int ask_acquire_any(struct hf__mysql *s, const struct hf__unit *u)
{
    struct hf__text *t = &s->sql;
    int replies = take_wake_locks(s, u);

    hf__text_add(t, "INSERT INTO holdfast_lock(name_key,token,fence,expires,"
                    "keep_until,acquired_at,changed_at,detached,label,host,"
                    "pid,thread,note) VALUES");
    for (int i = 0; i < u->n; i++) {
        hf__text_add(t, i == 0 ? "" : ",");
        add_values(t, u->ops[i]);
    }
    hf__text_add(t, take_if_free);
    hf__fast_ask_rows(s, u->ops, u->n);
    return replies + 2;
}

int hf__fast_ask(struct hf__mysql *s, const struct hf__unit *u)
{
    switch (u->form) {
    case HF__FORM_RENEW:
        return ask_renew(s, u);
    case HF__FORM_RELEASE:
        return ask_release(s, u);
    case HF__FORM_HANDOVER:
        return ask_handover(s, u);
    case HF__FORM_ACQUIRE:
        return ask_acquire(s, u);
    case HF__FORM_ACQUIRE_ANY:
        return ask_acquire_any(s, u);
    case HF__FORM_INSPECT:
        break;
    }
    hf__fast_ask_rows(s, u->ops, u->n);
    return 1;
}
