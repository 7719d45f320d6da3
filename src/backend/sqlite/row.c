/* SPDX-License-Identifier: MIT */
/*
 * Records: from the columns to a judgement. What is done about it is
 * apply.c's and wait.c's. Called by the session's thread.
 */
#include "src/backend/sqlite/row.h"

#include "src/base/utf8.h"

#include <string.h>

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
    /* of a name: */
    COLUMN_BESIDE,
    COLUMN_LINE,
    /* of a grant: */
    COLUMN_MODE = COLUMN_BESIDE,
    COLUMN_SLOTS,
    COLUMN_SLOT,
    COLUMN_IS_BROKEN
};

void hf__row_set_clock(struct hf__sqlite *s)
{
    s->now_us = hf__now().ns / 1000;
    s->wall_us = hf__wall_us();
}

void hf__bind_key(sqlite3_stmt *statement, int at, const struct hf__key *key)
{
    (void)sqlite3_bind_text(statement, at, key->bytes, key->length,
                            SQLITE_STATIC);
}

void hf__bind_token(sqlite3_stmt *statement, int at,
                    const struct hf__token *token)
{
    (void)sqlite3_bind_blob(statement, at, token->bytes, sizeof token->bytes,
                            SQLITE_STATIC);
}

void hf__bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    (void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

/* The record may have been edited by hand. */
static int64_t time_of(sqlite3_stmt *statement, enum column column)
{
    return hf__time_bounded(sqlite3_column_int64(statement, (int)column));
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);

    return text != NULL ? (const char *)text : "";
}

/* Without memory a text that has to be converted is NULL, too; it must not
 * count as empty, which is the boot of nobody. */
static bool has_text(sqlite3_stmt *statement, enum column column)
{
    return sqlite3_column_type(statement, (int)column) == SQLITE_TEXT &&
           sqlite3_column_text(statement, (int)column) != NULL;
}

/* The record may have been edited by hand: what is not UTF-8 is dropped. */
static void copy_text(char *to, size_t size, sqlite3_stmt *statement,
                      int column)
{
    const char *text = text_of(statement, column);
    size_t length = hf__utf8_cut(text, size - 1);

    if (!hf__utf8_is_valid(text, length)) {
        length = 0;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

bool hf__read_token(sqlite3_stmt *statement, int at,
                    struct hf__token *ret_token)
{
    const void *bytes = sqlite3_column_blob(statement, at);
    int size = sqlite3_column_bytes(statement, at);

    if (sqlite3_column_type(statement, at) != SQLITE_BLOB ||
        size != (int)sizeof ret_token->bytes || bytes == NULL) {
        return false;
    }
    memcpy(ret_token->bytes, bytes, sizeof ret_token->bytes);
    return true;
}

bool hf__read_manner(sqlite3_stmt *statement, int at,
                     struct hf__manner *ret_manner)
{
    int64_t mode = sqlite3_column_int64(statement, at);
    int64_t slots = sqlite3_column_int64(statement, at + 1);
    bool has_slots = mode == HF__MODE_SLOTS;

    if (sqlite3_column_type(statement, at) != SQLITE_INTEGER ||
        mode < HF__MODE_EXCLUSIVE || mode > HF__MODE_SLOTS ||
        (has_slots ? slots < 1 || slots > HF_SLOTS_MAX : slots != 0)) {
        return false;
    }
    *ret_manner = (struct hf__manner){(enum hf__mode)mode, (int)slots};
    return true;
}

void hf__read_owner(sqlite3_stmt *statement, int at, struct hf__owner *owner)
{
    copy_text(owner->label, sizeof owner->label, statement, at);
    copy_text(owner->host, sizeof owner->host, statement, at + 1);
    owner->pid = sqlite3_column_int64(statement, at + 2);
    copy_text(owner->thread, sizeof owner->thread, statement, at + 3);
    copy_text(owner->note, sizeof owner->note, statement, at + 4);
}

void hf__bind_owner(sqlite3_stmt *statement, int at,
                    const struct hf__owner *owner)
{
    static const struct hf__owner nobody;
    const struct hf__owner *o = owner != NULL ? owner : &nobody;

    hf__bind_text(statement, at, o->label);
    hf__bind_text(statement, at + 1, o->host);
    (void)sqlite3_bind_int64(statement, at + 2, o->pid);
    hf__bind_text(statement, at + 3, o->thread);
    hf__bind_text(statement, at + 4, o->note);
}

/* How long the last grant still keeps the name closed: by the clock of the
 * boot in which it was made, and after a restart by the wall clock, within
 * which the time that it was to be kept bounds it on both sides. */
static int64_t keep_left(const struct hf__sqlite *s, sqlite3_stmt *statement,
                         bool is_same_clock)
{
    int64_t keep_us = time_of(statement, COLUMN_KEEP_US);
    int64_t since = time_of(statement, COLUMN_ACQUIRED_AT);

    if (keep_us <= 0) {
        return 0;
    }
    if (is_same_clock) {
        return time_of(statement, COLUMN_KEEP_UNTIL) - s->now_us;
    }
    if (keep_us >= HF_KEEP_MAX_MS * 1000) {
        return keep_us; /* for ever: no clock ends it */
    }
    return s->wall_us < since ? 0 : keep_us - (s->wall_us - since);
}

static void judge_keeping(const struct hf__sqlite *s, sqlite3_stmt *statement,
                          struct hf__row *row)
{
    bool is_same_clock = strcmp(text_of(statement, COLUMN_BOOT), s->boot) == 0;
    int64_t left = keep_left(s, statement, is_same_clock);

    if (left > 0) {
        row->standing = HF__STANDS_KEPT;
        row->remaining_us = left;
    }
}

/* How long a lease still runs that began under another boot id and is tied to
 * no process: by the wall clock, for as long as it was given in its own boot.
 * Not above 0 also if that clock is behind the grant. */
static int64_t lease_left_by_wall(const struct hf__sqlite *s,
                                  sqlite3_stmt *statement)
{
    int64_t granted_at = time_of(statement, COLUMN_KEEP_UNTIL) -
                         time_of(statement, COLUMN_KEEP_US);
    int64_t since = time_of(statement, COLUMN_ACQUIRED_AT);
    int64_t lasts_us = time_of(statement, COLUMN_EXPIRES) - granted_at;

    return s->wall_us < since ? 0 : lasts_us - (s->wall_us - since);
}

static void judge_lease(const struct hf__sqlite *s, sqlite3_stmt *statement,
                        struct hf__row *row)
{
    const char *boot = text_of(statement, COLUMN_BOOT);
    bool is_same_boot = strncmp(boot, s->boot, HF__BOOT_ID_LENGTH) == 0;
    bool is_same_clock = strcmp(boot, s->boot) == 0;

    if (is_same_clock) {
        row->remaining_us = time_of(statement, COLUMN_EXPIRES) - s->now_us;
        if (row->remaining_us <= 0) {
            row->standing = HF__STANDS_EXPIRED;
            return;
        }
    }
    row->life = hf__side_life(s->side, text_of(statement, COLUMN_SIDE));
    if (row->life != 0) {
        row->holder_lives = hf__side_probe(s->side, row->life);
    }
    if (!is_same_boot && *text_of(statement, COLUMN_SIDE) == '\0' &&
        lease_left_by_wall(s, statement) > 0) {
        row->standing = HF__STANDS_HELD;
        row->remaining_us = lease_left_by_wall(s, statement);
        return;
    }
    /* A container may show a boot id of its own. Whose byte is locked was
     * not there before a restart, whatever the id says. */
    if (!is_same_boot && row->holder_lives != 1) {
        row->standing = HF__STANDS_STALE;
    } else if (row->holder_lives == 0) {
        row->standing = HF__STANDS_DEAD;
    } else {
        row->standing = is_same_clock ? HF__STANDS_HELD : HF__STANDS_FOREIGN;
    }
}

/* What a holder that is gone kept closed stays closed. */
static void judge_held(const struct hf__sqlite *s, sqlite3_stmt *statement,
                       struct hf__row *row)
{
    judge_lease(s, statement, row);
    if (hf__row_is_free(row)) {
        judge_keeping(s, statement, row);
    }
}

bool hf__row_is_held(const struct hf__row *row)
{
    return row->standing == HF__STANDS_HELD ||
           row->standing == HF__STANDS_DEAD ||
           row->standing == HF__STANDS_FOREIGN;
}

static void tell(sqlite3_stmt *statement, const struct hf__row *row,
                 struct hf__record *record)
{
    int64_t acquired_at = 0;

    *record = (struct hf__record){.is_held = hf__row_is_held(row),
                                  .is_kept = row->standing == HF__STANDS_KEPT,
                                  .manner = row->manner,
                                  .slot = row->slot,
                                  .holder_lives = row->holder_lives,
                                  .fence = row->fence,
                                  .remaining_us = row->remaining_us};
    if (!record->is_held) {
        return;
    }
    acquired_at = time_of(statement, COLUMN_ACQUIRED_AT);
    record->token = row->token;
    record->acquired_us = acquired_at > 0 ? acquired_at : 0;
    hf__read_owner(statement, COLUMN_LABEL, &record->owner);
}

int64_t hf__row_touched_us(sqlite3_stmt *statement)
{
    int64_t acquired_at = time_of(statement, COLUMN_ACQUIRED_AT);
    int64_t freed_at = time_of(statement, COLUMN_FREED_AT);

    return acquired_at > freed_at ? acquired_at : freed_at;
}

void hf__row_clear(struct hf__row *row, struct hf__record *record)
{
    *row = (struct hf__row){.remaining_us = -1, .holder_lives = -1, .slot = -1};
    if (record != NULL) {
        *record = (struct hf__record){
            .holder_lives = -1, .remaining_us = -1, .slot = -1};
    }
}

static void read_common(const struct hf__sqlite *s, sqlite3_stmt *statement,
                        struct hf__row *row)
{
    int64_t fence = sqlite3_column_int64(statement, COLUMN_FENCE);
    int fence_type = sqlite3_column_type(statement, COLUMN_FENCE);
    int token_type = sqlite3_column_type(statement, COLUMN_TOKEN);

    hf__row_clear(row, NULL);
    if (fence_type != SQLITE_INTEGER || fence <= 0 ||
        fence >= (int64_t)HF__FENCE_END) {
        row->standing = HF__STANDS_DAMAGED;
    } else if (token_type == SQLITE_NULL) {
        row->fence = (uint64_t)fence;
        judge_keeping(s, statement, row);
    } else if (!hf__read_token(statement, COLUMN_TOKEN, &row->token) ||
               !has_text(statement, COLUMN_BOOT)) {
        row->standing = HF__STANDS_DAMAGED;
    } else {
        row->fence = (uint64_t)fence;
        judge_held(s, statement, row);
    }
    row->broken = (uint64_t)sqlite3_column_int64(statement, COLUMN_BROKEN);
}

/* What is not a number of ours says nothing: look there. */
static bool flag_of(sqlite3_stmt *statement, enum column column)
{
    return sqlite3_column_int64(statement, (int)column) != 0 ||
           sqlite3_column_type(statement, (int)column) != SQLITE_INTEGER;
}

void hf__row_read(const struct hf__sqlite *s, sqlite3_stmt *statement,
                  struct hf__row *ret_row, struct hf__record *record)
{
    read_common(s, statement, ret_row);
    ret_row->has_beside = flag_of(statement, COLUMN_BESIDE);
    ret_row->has_line = flag_of(statement, COLUMN_LINE);
    if (record != NULL) {
        tell(statement, ret_row, record);
    }
}

void hf__row_read_grant(const struct hf__sqlite *s, sqlite3_stmt *statement,
                        struct hf__row *ret_row, struct hf__record *record)
{
    int64_t slot = sqlite3_column_int64(statement, COLUMN_SLOT);

    read_common(s, statement, ret_row);
    if (!hf__read_manner(statement, COLUMN_MODE, &ret_row->manner) ||
        (ret_row->manner.mode == HF__MODE_SLOTS &&
         (slot < 0 || slot >= ret_row->manner.slots))) {
        ret_row->standing = HF__STANDS_DAMAGED;
    } else if (ret_row->manner.mode == HF__MODE_SLOTS) {
        ret_row->slot = (int)slot;
    }
    ret_row->is_broken = sqlite3_column_int64(statement, COLUMN_IS_BROKEN) != 0;
    if (record != NULL) {
        tell(statement, ret_row, record);
    }
}

int hf__row_get(struct hf__sqlite *s, const struct hf__key *key,
                struct hf__row *ret_row, struct hf__record *record)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_GET);
    int rc;

    hf__row_clear(ret_row, record);
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        hf__row_read(s, statement, ret_row, record);
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

bool hf__row_is_free(const struct hf__row *row)
{
    switch (row->standing) {
    case HF__STANDS_FREE:
    case HF__STANDS_DEAD:
    case HF__STANDS_EXPIRED:
    case HF__STANDS_STALE:
        return true;
    case HF__STANDS_KEPT:
    case HF__STANDS_HELD:
    case HF__STANDS_FOREIGN:
    case HF__STANDS_DAMAGED:
        break;
    }
    return false;
}
