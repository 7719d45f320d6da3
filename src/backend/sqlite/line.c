/* SPDX-License-Identifier: MIT */
/*
 * Tickets: reading and judging one, joining and leaving the line. Whose turn
 * it is, is entry.c's to say. Called by the session's thread, changes with
 * SQLite's write lock held.
 */
#include "src/backend/sqlite/line.h"

#include <string.h>

enum column {
    COLUMN_TOKEN,
    COLUMN_MODE,
    COLUMN_SLOTS,
    COLUMN_BOOT,
    COLUMN_SIDE,
    COLUMN_SINCE,
    COLUMN_ASKED,
    COLUMN_OWNER
};

static const char *text_of(sqlite3_stmt *statement, enum column column)
{
    const unsigned char *text = sqlite3_column_text(statement, (int)column);

    return text != NULL ? (const char *)text : "";
}

static int64_t idle_ms(const struct hf__sqlite *s,
                       const struct hf__token *token)
{
    return hf__ticket_idle_ms(&s->side->words, HF__ON_BOARD(stamps), token,
                              hf__now());
}

/* By this clock. The stamp may have been set to nothing since: nobody was in
 * the store then. */
static enum hf__presence by_stamp(const struct hf__sqlite *s,
                                  sqlite3_stmt *statement,
                                  const struct hf__token *token, int lives)
{
    int64_t asked_us = sqlite3_column_int64(statement, COLUMN_ASKED);
    int64_t keep_us = HF__TICKET_KEEP_MS * INT64_C(1000);
    int64_t idle = idle_ms(s, token);

    /* A stamp of the future is nobody's of ours. */
    if (idle > -HF__TICKET_PATIENCE_MS && idle < HF__TICKET_PATIENCE_MS) {
        return HF__IN_LINE;
    }
    return lives == 1 || idle < HF__TICKET_KEEP_MS ||
                   (asked_us <= s->now_us && asked_us > s->now_us - keep_us)
               ? HF__PASSED
               : HF__LEFT_LINE;
}

static enum hf__presence judge(const struct hf__sqlite *s,
                               sqlite3_stmt *statement,
                               const struct hf__ticket *ticket)
{
    bool is_same_clock = strcmp(text_of(statement, COLUMN_BOOT), s->boot) == 0;
    int lives = ticket->life != 0 ? hf__side_probe(s->side, ticket->life) : -1;

    if (lives == 0) {
        return HF__LEFT_LINE;
    }
    if (is_same_clock) {
        return by_stamp(s, statement, &ticket->token, lives);
    }
    return lives == 1 ? HF__IN_LINE : HF__LEFT_LINE;
}

void hf__line_read(const struct hf__sqlite *s, sqlite3_stmt *statement,
                   struct hf__ticket *ret_ticket, struct hf__party *party)
{
    int64_t since = sqlite3_column_int64(statement, COLUMN_SINCE);

    *ret_ticket = (struct hf__ticket){.presence = HF__LEFT_LINE};
    if (!hf__read_token(statement, COLUMN_TOKEN, &ret_ticket->token)) {
        return;
    }
    ret_ticket->life = hf__side_life(s->side, text_of(statement, COLUMN_SIDE));
    if (hf__read_manner(statement, COLUMN_MODE, &ret_ticket->manner)) {
        ret_ticket->presence = judge(s, statement, ret_ticket);
    }
    if (party != NULL) {
        *party = (struct hf__party){
            .is_waiting = true,
            .record = {.manner = ret_ticket->manner,
                       .slot = -1,
                       .holder_lives = -1,
                       .remaining_us = -1,
                       .acquired_us = since > 0 ? since : 0},
        };
        hf__read_owner(statement, COLUMN_OWNER, &party->record.owner);
    }
}

int hf__line_has(struct hf__sqlite *s, const struct hf__key *key,
                 const struct hf__token *token, bool *ret_has)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_LINE_HAS);
    int rc;

    *ret_has = false;
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, token);
    rc = sqlite3_step(statement);
    *ret_has = rc == SQLITE_ROW;
    (void)sqlite3_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int hf__line_join(struct hf__sqlite *s, const struct hf__op *op,
                  bool *ret_is_new)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_LINE_JOIN);
    int rc;

    *ret_is_new = false;
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, &op->key);
    hf__bind_token(statement, 2, &op->token);
    (void)sqlite3_bind_int(statement, 3, (int)op->manner.mode);
    (void)sqlite3_bind_int(statement, 4, op->manner.slots);
    hf__bind_text(statement, 5, s->boot);
    hf__bind_text(statement, 6, s->side->text);
    (void)sqlite3_bind_int64(statement, 7, s->wall_us);
    (void)sqlite3_bind_int64(statement, 8, s->now_us);
    hf__bind_owner(statement, 9, op->owner);
    rc = hf__sql_run(s, HF__SQL_LINE_JOIN);
    *ret_is_new = rc == SQLITE_OK && sqlite3_changes(s->db->handle) > 0;
    return rc;
}

int hf__line_leave(struct hf__sqlite *s, const struct hf__key *key,
                   const struct hf__token *token, bool *ret_was_there)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_LINE_LEAVE);
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    hf__bind_token(statement, 2, token);
    rc = hf__sql_run(s, HF__SQL_LINE_LEAVE);
    if (ret_was_there != NULL) {
        *ret_was_there = rc == SQLITE_OK && sqlite3_changes(s->db->handle) > 0;
    }
    return rc;
}

void hf__line_show(const struct hf__sqlite *s, const struct hf__token *token)
{
    hf__stamps_set(&s->side->words, HF__ON_BOARD(stamps),
                   hf__chime_of_ticket(token), hf__now());
}

bool hf__line_has_gone(const struct hf__sqlite *s,
                       const struct hf__ticket *ticket)
{
    return idle_ms(s, &ticket->token) >= HF__TICKET_PATIENCE_MS ||
           (ticket->life != 0 && hf__side_probe(s->side, ticket->life) == 0);
}
