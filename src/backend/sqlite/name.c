/* SPDX-License-Identifier: MIT */
/*
 * Reading a name, no further than it matters. What becomes of it is the
 * engine's to decide, and commit.c's to write. Called by the session's thread.
 */
#include "src/backend/sqlite/name.h"

#include "src/backend/sqlite/row.h"

/* So many who wait are read where it matters only who comes next. */
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
        rc = hf__row_read_name(s, statement);
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

static struct hf__value token_of(const struct hf__op *op)
{
    return op != NULL ? hf__value_of_token(&op->token)
                      : hf__value_of_text(NULL);
}

/* Those of the token alone; or but the shared, whom a shared claim does not
 * mind unless they are over. */
static sqlite3_stmt *choose_grants(struct hf__sqlite *s,
                                   const struct hf__key *key,
                                   const struct hf__op *op, bool only_own)
{
    struct hf__value token = token_of(op);
    bool minds_all =
        op == NULL || op->manner.mode != HF__MODE_SHARED || !s->name.is_partial;

    return only_own
               ? HF__SQL_WITH(s, HF__SQL_BESIDE_OF, hf__value_of_key(key),
                              token)
               : HF__SQL_WITH(s, HF__SQL_BESIDE, hf__value_of_key(key), token,
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
        int r = hf__row_read_grant(s, statement);

        rc = r == SQLITE_OK ? rc : r;
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

/* Must all who wait be read? Else it matters who comes next, and where the
 * token's own ticket is. */
static bool minds_whole_line(const struct hf__name *name,
                             const struct hf__op *op)
{
    if (op != NULL && op->kind == HF__OP_INSPECT && op->ret_crowd == NULL &&
        hf__name_is_had_alone(name)) {
        return false;
    }
    return op == NULL || op->ret_crowd != NULL ||
           op->manner.mode != HF__MODE_EXCLUSIVE ||
           op->queueing == HF__QUEUE_BEHIND_SHARED;
}

static int read_tickets(struct hf__sqlite *s, const struct hf__key *key,
                        const struct hf__op *op, enum hf__statement which)
{
    bool with_owner = op != NULL && op->ret_crowd != NULL;
    bool is_whole = minds_whole_line(&s->name, op);
    sqlite3_stmt *statement =
        which == HF__SQL_LINE_OF
            ? HF__SQL_WITH(s, which, hf__value_of_key(key), token_of(op))
            : HF__SQL_WITH(s, which, hf__value_of_key(key));
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    while (rc == SQLITE_ROW &&
           (which == HF__SQL_LINE_OF || is_whole ||
            hf__name_waiting(&s->name, op) < HEADS) &&
           (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        int r = hf__row_read_ticket(s, statement, with_owner);

        rc = r == SQLITE_OK ? rc : r;
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

static int read_line(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__op *op)
{
    int rc = read_tickets(s, key, op, HF__SQL_LINE);

    if (rc == SQLITE_OK && !minds_whole_line(&s->name, op) &&
        hf__name_waiting(&s->name, op) >= HEADS &&
        hf__participants_find(&s->name.line, &op->token) == NULL) {
        rc = read_tickets(s, key, op, HF__SQL_LINE_OF);
    }
    return rc;
}

/* Does only the token's own grant matter beside the name's row? */
static bool minds_own_only(const struct hf__sqlite *s, const struct hf__op *op)
{
    return op->kind == HF__OP_RENEW || op->kind == HF__OP_RAISE ||
           (op->kind == HF__OP_RELEASE && !s->has_line);
}

int hf__name_read(struct hf__sqlite *s, const struct hf__key *key,
                  const struct hf__op *op, enum hf__extent extent)
{
    bool is_part = op != NULL && extent == HF__WHAT_MATTERS;
    bool only_own = false;
    int rc;

    s->has_row = false;
    s->has_beside = false;
    s->has_line = false;
    s->name.now_us = s->now_us;
    s->name.wall_us = s->wall_us;
    rc = read_name(s, key);
    only_own = is_part && minds_own_only(s, op);
    s->name.is_partial =
        (only_own && (s->has_beside || s->has_line)) ||
        (is_part && s->has_beside && op->kind == HF__OP_ACQUIRE &&
         op->manner.mode == HF__MODE_SHARED);
    if (rc == SQLITE_OK && s->has_beside) {
        rc = read_grants(s, key, op, only_own);
    }
    if (rc == SQLITE_OK && s->has_line && !only_own) {
        rc = read_line(s, key, op);
    }
    return rc;
}
