/* SPDX-License-Identifier: MIT */
/*
 * Loading a name, as far as the operation needs it: its rows become the grants
 * and tickets in s->name. The engine decides what becomes of the name, and
 * commit.c writes that. Called by the session's thread.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/sqlite/transaction.h"

#include <stdlib.h>
#include <string.h>

/* ---- columns */

enum column {
    COLUMN_KEY,
    COLUMN_FENCE,
    COLUMN_TOKEN,
    COLUMN_EXPIRES,
    COLUMN_KEEP_UNTIL,
    COLUMN_KEEP_US,
    COLUMN_BOOT,
    COLUMN_SIDE,
    COLUMN_ACQUIRED_AT,
    COLUMN_FREED_AT,
    COLUMN_BROKEN,
    COLUMN_LABEL,
    COLUMN_HOST,
    COLUMN_PID,
    COLUMN_THREAD,
    COLUMN_NOTE,
    /* of holdfast_lock: */
    COLUMN_BESIDE,
    COLUMN_LINE,
    /* of holdfast_beside: */
    COLUMN_MODE = COLUMN_BESIDE,
    COLUMN_SLOTS,
    COLUMN_SLOT,
    COLUMN_IS_BROKEN
};

enum ticket_column {
    TICKET_TOKEN,
    TICKET_MODE,
    TICKET_SLOTS,
    TICKET_BOOT,
    TICKET_SIDE,
    TICKET_SINCE,
    TICKET_ASKED,
    TICKET_OWNER
};

/* Bounded, as the record may have been edited by hand. */
static int64_t time_of(sqlite3_stmt *statement, enum column column)
{
    return hf__time_bounded(sqlite3_column_int64(statement, (int)column));
}

/* The type is checked first, as reading a blob as text converts it. */
static const char *text_of(sqlite3_stmt *statement, int column)
{
    const unsigned char *text =
        sqlite3_column_type(statement, column) == SQLITE_TEXT
            ? sqlite3_column_text(statement, column)
            : NULL;

    return text != NULL ? (const char *)text : "";
}

static void copy_text(char *to, size_t size, sqlite3_stmt *statement,
                      int column)
{
    const char *text = text_of(statement, column);

    hf__local_copy_text(to, size, text, strlen(text));
}

static bool read_token(sqlite3_stmt *statement, int at,
                       struct hf__token *ret_token)
{
    bool is_blob = sqlite3_column_type(statement, at) == SQLITE_BLOB;
    const void *bytes = sqlite3_column_blob(statement, at);
    int size = sqlite3_column_bytes(statement, at);

    if (!is_blob || size != (int)sizeof ret_token->bytes || bytes == NULL) {
        return false;
    }
    memcpy(ret_token->bytes, bytes, sizeof ret_token->bytes);
    return true;
}

static bool read_lock_mode(sqlite3_stmt *statement, int at,
                           struct hf__lock_mode *ret_lock_mode)
{
    return sqlite3_column_type(statement, at) == SQLITE_INTEGER &&
           hf__lock_mode_from(sqlite3_column_int64(statement, at),
                              sqlite3_column_int64(statement, at + 1),
                              ret_lock_mode);
}

static void read_owner(sqlite3_stmt *statement, int at, struct hf__owner *owner)
{
    copy_text(owner->label, sizeof owner->label, statement, at);
    copy_text(owner->host, sizeof owner->host, statement, at + 1);
    owner->pid = sqlite3_column_int64(statement, at + 2);
    copy_text(owner->thread, sizeof owner->thread, statement, at + 3);
    copy_text(owner->note, sizeof owner->note, statement, at + 4);
}

/* ---- rows: grants */

static bool read_fence(sqlite3_stmt *statement, uint64_t *ret_fence)
{
    int64_t fence = sqlite3_column_int64(statement, COLUMN_FENCE);

    *ret_fence = (uint64_t)fence;
    return sqlite3_column_type(statement, COLUMN_FENCE) == SQLITE_INTEGER &&
           fence > 0 && fence < (int64_t)HF__FENCE_END;
}

/* The life that a record names; 0: it names none, or one of another side
 * file. */
static uint64_t life_of(const struct hf__sqlite *s, const char *text)
{
    size_t length = strlen(s->life) - HF__LIFE_DIGITS;
    char *end = NULL;
    uint64_t life;

    if (strncmp(text, s->life, length) != 0) {
        return 0;
    }
    life = strtoull(text + length, &end, 16);
    return end == text + length + HF__LIFE_DIGITS && *end == '\0' ? life : 0;
}

static struct hf__terms terms_of(sqlite3_stmt *statement)
{
    return (struct hf__terms){
        .boot = text_of(statement, COLUMN_BOOT),
        .expires_us = time_of(statement, COLUMN_EXPIRES),
        .keep_until_us = time_of(statement, COLUMN_KEEP_UNTIL),
        .keep_us = time_of(statement, COLUMN_KEEP_US),
        .since_us = time_of(statement, COLUMN_ACQUIRED_AT)};
}

/* The part that is the same for both kinds of grants. */
static struct hf__participant *add_grant(struct hf__sqlite *s,
                                         sqlite3_stmt *statement, int slot)
{
    struct hf__participant *g = hf__participants_add(&s->name.grants, slot);
    /* Out of memory, a text that has to be converted is NULL, too. It must not
     * count as an empty boot id, which matches nothing. */
    bool has_boot =
        sqlite3_column_type(statement, COLUMN_BOOT) == SQLITE_TEXT &&
        sqlite3_column_text(statement, COLUMN_BOOT) != NULL;
    const struct hf__terms terms = terms_of(statement);
    const char *side = text_of(statement, COLUMN_SIDE);

    if (g == NULL) {
        return NULL;
    }
    g->holder_lives = -1;
    g->life = life_of(s, side);
    g->is_detached = *side == '\0';
    g->since_us = terms.since_us > 0 ? terms.since_us : 0;
    read_owner(statement, COLUMN_LABEL, &g->owner);
    if (!read_token(statement, COLUMN_TOKEN, &g->token) ||
        !read_fence(statement, &g->fence) || !has_boot) {
        g->state = HF__PARTICIPANT_DAMAGED;
    } else {
        hf__local_lease_state(&s->local, &terms, &s->name, g);
    }
    return g;
}

/* A value that is not an integer proves nothing, so the table is read. */
static bool flag_of(sqlite3_stmt *statement, enum column column)
{
    return sqlite3_column_int64(statement, (int)column) != 0 ||
           sqlite3_column_type(statement, (int)column) != SQLITE_INTEGER;
}

static int take_name(struct hf__sqlite *s, sqlite3_stmt *statement)
{
    struct hf__name *name = &s->name;
    const struct hf__terms terms = terms_of(statement);
    int64_t freed_at = time_of(statement, COLUMN_FREED_AT);

    name->is_there = true;
    s->has_row = true;
    name->is_damaged = !read_fence(statement, &name->fence);
    name->broken = (uint64_t)sqlite3_column_int64(statement, COLUMN_BROKEN);
    name->touched_us = terms.since_us > freed_at ? terms.since_us : freed_at;
    name->keep_until_us = hf__local_kept_until(&s->local, &terms, name);
    s->has_holders = flag_of(statement, COLUMN_BESIDE);
    s->has_waiters = flag_of(statement, COLUMN_LINE);
    if (name->is_damaged) {
        name->fence = 0;
    } else if (sqlite3_column_type(statement, COLUMN_TOKEN) != SQLITE_NULL) {
        struct hf__participant *g = add_grant(s, statement, -1);

        name->is_damaged = g != NULL && g->state == HF__PARTICIPANT_DAMAGED;
        return g != NULL ? SQLITE_OK : SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

/* Is there another holder in this slot? We never write two into one slot. */
static bool is_slot_taken(const struct hf__name *name,
                          const struct hf__participant *g)
{
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *other = name->grants.list[i];

        if (other != g && other->slot == g->slot &&
            hf__participant_holds(other) && hf__participant_holds(g)) {
            return true;
        }
    }
    return false;
}

static int take_grant(struct hf__sqlite *s, sqlite3_stmt *statement)
{
    int64_t slot = sqlite3_column_int64(statement, COLUMN_SLOT);
    struct hf__lock_mode lock_mode = {0};
    bool is_ours = read_lock_mode(statement, COLUMN_MODE, &lock_mode) &&
                   (lock_mode.mode != HF__MODE_SLOTS ||
                    (slot >= 0 && slot < lock_mode.slots));
    bool has_slot = is_ours && lock_mode.mode == HF__MODE_SLOTS;
    struct hf__participant *g =
        add_grant(s, statement, has_slot ? (int)slot : -1);

    if (g == NULL) {
        return SQLITE_NOMEM;
    }
    /* A row with an invalid mode still does not hold the name alone. */
    g->lock_mode =
        is_ours ? lock_mode : (struct hf__lock_mode){HF__MODE_SHARED, 0};
    if (!is_ours || (has_slot && is_slot_taken(&s->name, g))) {
        g->state = HF__PARTICIPANT_DAMAGED;
    } else if (sqlite3_column_int64(statement, COLUMN_IS_BROKEN) != 0) {
        g->state = HF__PARTICIPANT_BROKEN;
        g->ends_us = g->is_past ? s->now_us - s->wall_us : g->ends_us;
    }
    return SQLITE_OK;
}

/* ---- rows: tickets */

/* A ticket without a readable token is skipped, and one without a readable mode
 * counts as ended, so that neither blocks the queue. */
static int take_ticket(struct hf__sqlite *s, sqlite3_stmt *statement,
                       bool with_owner)
{
    int64_t since = sqlite3_column_int64(statement, TICKET_SINCE);
    struct hf__token token;
    struct hf__participant *t = NULL;

    if (!read_token(statement, TICKET_TOKEN, &token) ||
        hf__token_is_zero(&token)) {
        return SQLITE_OK;
    }
    t = hf__participants_add(&s->name.waiters, -1);
    if (t == NULL) {
        return SQLITE_NOMEM;
    }
    t->token = token;
    t->since_us = since > 0 ? since : 0;
    t->seen_us = sqlite3_column_int64(statement, TICKET_ASKED);
    t->life = life_of(s, text_of(statement, TICKET_SIDE));
    t->is_past =
        !hf__local_is_same_clock(&s->local, text_of(statement, TICKET_BOOT));
    hf__local_ticket_state(&s->local, s->now_us, t);
    if (!read_lock_mode(statement, TICKET_MODE, &t->lock_mode)) {
        t->state = HF__PARTICIPANT_ENDED;
    }
    if (with_owner) {
        read_owner(statement, TICKET_OWNER, &t->owner);
    }
    return SQLITE_OK;
}

/* ---- a name */

/* This many tickets are read where only the next in the queue matters. */
#define HEADS 4

static int ended(int rc)
{
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int read_name(struct hf__sqlite *s, const struct hf__key *key)
{
    sqlite3_stmt *statement =
        HF__SQL_WITH(s, HF__SQL_GET, hf__value_of_key(key));
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        rc = take_name(s, statement);
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

static struct hf__value token_of(const struct hf__op *op)
{
    return op != NULL ? hf__value_of_token(&op->token)
                      : hf__value_of_text(NULL);
}

/* Choose the token's own grants only, or all. A shared claim skips the shared
 * grants of others unless they have expired. */
static sqlite3_stmt *choose_grants(struct hf__sqlite *s,
                                   const struct hf__key *key,
                                   const struct hf__op *op, bool only_own)
{
    struct hf__value token = token_of(op);
    bool minds_all = op == NULL || op->lock_mode.mode != HF__MODE_SHARED ||
                     !s->name.is_partial;

    return only_own
               ? HF__SQL_WITH(s, HF__SQL_HOLDERS_OF, hf__value_of_key(key),
                              token)
               : HF__SQL_WITH(s, HF__SQL_HOLDERS, hf__value_of_key(key), token,
                              hf__value_of(minds_all), hf__value_of(s->now_us));
}

static int read_grants(struct hf__sqlite *s, const struct hf__key *key,
                       const struct hf__op *op, bool only_own)
{
    sqlite3_stmt *statement = choose_grants(s, key, op, only_own);
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    while (rc == SQLITE_ROW && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        int r = take_grant(s, statement);

        rc = r == SQLITE_OK ? rc : r;
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

/* Must every ticket be read? If not, only the next in the queue and the token's
 * own ticket matter. */
static bool minds_all_waiters(const struct hf__name *name,
                              const struct hf__op *op)
{
    if (op != NULL && op->kind == HF__OP_INSPECT &&
        op->ret_participants == NULL && hf__name_is_had_alone(name)) {
        return false;
    }
    return op == NULL || op->ret_participants != NULL ||
           op->lock_mode.mode != HF__MODE_EXCLUSIVE ||
           op->queueing == HF__QUEUE_BEHIND_SHARED;
}

static int read_tickets(struct hf__sqlite *s, const struct hf__key *key,
                        const struct hf__op *op, enum hf__statement which)
{
    bool with_owner = op != NULL && op->ret_participants != NULL;
    bool is_whole = minds_all_waiters(&s->name, op);
    sqlite3_stmt *statement =
        which == HF__SQL_WAITERS_OF
            ? HF__SQL_WITH(s, which, hf__value_of_key(key), token_of(op))
            : HF__SQL_WITH(s, which, hf__value_of_key(key));
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    while (rc == SQLITE_ROW &&
           (which == HF__SQL_WAITERS_OF || is_whole ||
            hf__name_waiting(&s->name, op) < HEADS) &&
           (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        int r = take_ticket(s, statement, with_owner);

        rc = r == SQLITE_OK ? rc : r;
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

static int read_line(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__op *op)
{
    int rc = read_tickets(s, key, op, HF__SQL_WAITERS);

    if (rc == SQLITE_OK && !minds_all_waiters(&s->name, op) &&
        hf__name_waiting(&s->name, op) >= HEADS &&
        hf__participants_find(&s->name.waiters, &op->token) == NULL) {
        rc = read_tickets(s, key, op, HF__SQL_WAITERS_OF);
    }
    return rc;
}

int hf__sqlite_read(struct hf__sqlite *s, const struct hf__key *key,
                    const struct hf__op *op, enum hf__extent extent)
{
    bool is_part = op != NULL && extent == HF__WHAT_MATTERS;
    bool only_own = false;
    int rc;

    s->has_row = false;
    s->has_holders = false;
    s->has_waiters = false;
    s->name.now_us = s->now_us;
    s->name.wall_us = s->wall_us;
    rc = read_name(s, key);
    /* Is the token's own grant all that is needed beside the name's row? */
    only_own =
        is_part && (op->kind == HF__OP_RENEW || op->kind == HF__OP_RAISE ||
                    (op->kind == HF__OP_RELEASE && !s->has_waiters));
    s->name.is_partial =
        (only_own && (s->has_holders || s->has_waiters)) ||
        (is_part && s->has_holders && op->kind == HF__OP_ACQUIRE &&
         op->lock_mode.mode == HF__MODE_SHARED);
    if (rc == SQLITE_OK && s->has_holders) {
        rc = read_grants(s, key, op, only_own);
    }
    if (rc == SQLITE_OK && s->has_waiters && !only_own) {
        rc = read_line(s, key, op);
    }
    return rc;
}

void hf__sqlite_put_down(void *state)
{
    hf__name_fini(&((struct hf__sqlite *)state)->name);
}

int hf__sqlite_load(void *state, const struct hf__key *key,
                    const struct hf__op *op, bool to_change,
                    struct hf__name **ret_name, hf_error *err)
{
    struct hf__sqlite *s = state;
    enum hf__extent extent =
        s->name.is_partial ? HF__ALL_OF_IT : HF__WHAT_MATTERS;

    (void)to_change;
    (void)err;
    hf__name_fini(&s->name);
    s->rc = hf__sqlite_read(s, key, op, extent);
    s->is_unfit |= hf__sql_is_fatal(s, s->rc);
    s->name.fence_floor = hf__fence_floor(s, s->name.is_there);
    *ret_name = &s->name;
    return s->rc == SQLITE_OK ? HF_OK : HF__ABORTED;
}
