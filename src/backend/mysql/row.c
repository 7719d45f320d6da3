/* SPDX-License-Identifier: MIT */
/*
 * Reading rows. A column whose content we can't have written makes the row
 * damaged; the callers decide what to do about that. Called by the session's
 * thread.
 */
#include "src/backend/mysql/row.h"

#include <stdlib.h>

/* ---- columns */

uint64_t hf__column_u64(const char *cell)
{
    return cell == NULL ? 0 : strtoull(cell, NULL, 10);
}

int64_t hf__column_i64(const char *cell)
{
    return cell == NULL ? 0 : strtoll(cell, NULL, 10);
}

void hf__column_owner(char *const *row, const unsigned long *lengths, int at,
                      struct hf__owner *ret_owner)
{
    hf__column_text(row[at], lengths[at], ret_owner->label,
                    sizeof ret_owner->label);
    hf__column_text(row[at + 1], lengths[at + 1], ret_owner->host,
                    sizeof ret_owner->host);
    ret_owner->pid = hf__column_i64(row[at + 2]);
    hf__column_text(row[at + 3], lengths[at + 3], ret_owner->thread,
                    sizeof ret_owner->thread);
    hf__column_text(row[at + 4], lengths[at + 4], ret_owner->note,
                    sizeof ret_owner->note);
}

void hf__mysql_owner_set(struct hf__text *t, const struct hf__owner *o)
{
    hf__text_add(t, "label=");
    hf__text_string(t, o->label);
    hf__text_add(t, ",host=");
    hf__text_string(t, o->host);
    hf__text_addf(t, ",pid=%lld,thread=", (long long)o->pid);
    hf__text_string(t, o->thread);
    hf__text_add(t, ",note=");
    hf__text_string(t, o->note);
}

void hf__mysql_owner_values(struct hf__text *t, const struct hf__owner *o)
{
    hf__text_string(t, o->label);
    hf__text_add(t, ",");
    hf__text_string(t, o->host);
    hf__text_addf(t, ",%lld,", (long long)o->pid);
    hf__text_string(t, o->thread);
    hf__text_add(t, ",");
    hf__text_string(t, o->note);
}

/* ---- a row */

void hf__mysql_row_read(struct hf__mysql *s, struct hf__mysql_row *ret_row)
{
    MYSQL_ROW row = hf__wire_row(s);
    const unsigned long *lengths;

    *ret_row = (struct hf__mysql_row){.is_there = row != NULL};
    if (row == NULL) {
        return;
    }
    lengths = hf__wire_lengths(s);
    ret_row->key.bytes = row[0];
    ret_row->key.length = (uint16_t)lengths[0];
    ret_row->fence = hf__column_u64(row[1]);
    ret_row->is_damaged =
        !hf__column_token(row[2], lengths[2], &ret_row->token) ||
        !hf__column_is_fence_of(ret_row->fence, &ret_row->token);
    ret_row->expires_in = hf__column_i64(row[3]);
    ret_row->kept_for = hf__column_i64(row[4]);
    ret_row->acquired_at = hf__column_i64(row[5]);
    ret_row->broken = hf__column_u64(row[6]);
    ret_row->crowd = (unsigned)hf__column_u64(row[7]);
    hf__column_owner(row, lengths, 8, &ret_row->owner);
    ret_row->is_damaged |=
        !hf__column_token(row[13], lengths[13], &ret_row->freed);
    ret_row->took_over = hf__column_u64(row[14]) > 1;
}

/* Does a token own the name, and is its lease running? */
static bool is_held(const struct hf__mysql_row *row)
{
    return !hf__token_is_zero(&row->token) && row->expires_in > 0;
}

bool hf__mysql_row_is_free_for(const struct hf__mysql_row *row,
                               const struct hf__token *token)
{
    return hf__token_equal(&row->token, token) ||
           (!is_held(row) && row->kept_for <= 0);
}

void hf__mysql_row_tell(const struct hf__mysql_row *row,
                        struct hf__record *record)
{
    if (record == NULL) {
        return;
    }
    *record =
        (struct hf__record){.holder_lives = -1, .remaining_us = -1, .slot = -1};
    record->fence = row->fence;
    if (is_held(row)) {
        record->is_held = true;
        record->token = row->token;
        record->remaining_us = row->expires_in;
        record->acquired_us = row->acquired_at;
        record->owner = row->owner;
    } else if (row->kept_for > 0) {
        record->is_kept = true;
        record->remaining_us = row->kept_for;
        record->acquired_us = row->acquired_at;
        record->owner = row->owner;
    }
}
