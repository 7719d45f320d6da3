/* SPDX-License-Identifier: MIT */
/*
 * list(): every grant of names with a prefix, in the order of keys, by one
 * statement and so from one state of both tables. Called by the session's
 * thread.
 */
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"

#include <string.h>

/* What both tables tell of a grant, in the order in which tell() reads it.
 * Its mode is 0 where it stands alone. */
#define GRANT                                                                  \
    "name_key,fence,token,expires-" HF__SQL_NOW                                \
    " AS remaining,acquired_at,label,host,pid,thread,note,"

/* "FROM table WHERE …": rows of the prefix whose lease runs. No byte of UTF-8
 * is as high as the one that ends the range. */
static void add_range(struct hf__text *t, const char *table,
                      const struct hf__key *prefix)
{
    char end[HF__MYSQL_KEY_MAX + 1];

    memcpy(end, prefix->bytes, prefix->length);
    end[prefix->length] = (char)0xff;
    hf__text_addf(t, " FROM %s WHERE name_key>=", table);
    hf__text_key(t, prefix);
    hf__text_add(t, " AND name_key<");
    hf__text_hex(t, end, prefix->length + (size_t)1);
    hf__text_add(t, " AND expires>" HF__SQL_NOW);
}

static void add_statement(struct hf__text *t, const struct hf__key *prefix)
{
    hf__text_add(t, "(SELECT " GRANT "0 AS mode,0 AS slots,-1 AS slot");
    add_range(t, "holdfast_lock", prefix);
    hf__text_add(t,
                 " AND token<>'') UNION ALL (SELECT " GRANT "mode,slots,slot");
    add_range(t, "holdfast_beside", prefix);
    hf__text_add(t, " AND ended=0) ORDER BY name_key,slot,acquired_at,fence");
}

static struct hf__manner manner_of(const char *mode, const char *slots)
{
    switch (hf__column_i64(mode)) {
    case HF__MODE_SHARED:
        return (struct hf__manner){HF__MODE_SHARED, 0};
    case HF__MODE_SLOTS:
        return (struct hf__manner){HF__MODE_SLOTS, (int)hf__column_i64(slots)};
    default:
        return (struct hf__manner){HF__MODE_EXCLUSIVE, 0};
    }
}

/* False: not a grant that we wrote. */
static bool read_grant(char *const *row, const unsigned long *lengths,
                       struct hf__record *record)
{
    *record = (struct hf__record){.is_held = true, .holder_lives = -1};
    record->fence = hf__column_u64(row[1]);
    record->remaining_us = hf__column_i64(row[3]);
    record->acquired_us = hf__column_i64(row[4]);
    hf__column_owner(row, lengths, 5, &record->owner);
    record->manner = manner_of(row[10], row[11]);
    record->slot = (int)hf__column_i64(row[12]);
    return hf__column_token(row[2], lengths[2], &record->token) &&
           !hf__token_is_zero(&record->token);
}

int hf__mysql_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                   void *arg, hf__time deadline, hf_error *err)
{
    struct hf__mysql *s = state;
    MYSQL_ROW row;
    int r;

    hf__table_begin(&s->t, deadline, err);
    hf__text_clear(&s->sql);
    (void)hf__pair_guard(s);
    add_statement(&s->sql, prefix);
    r = hf__mysql_run(s);
    if (r != HF_OK) {
        return r;
    }
    while ((row = hf__wire_row(s)) != NULL) {
        const unsigned long *lengths = hf__wire_lengths(s);
        struct hf__record record;

        if (read_grant(row, lengths, &record) &&
            lengths[0] >= prefix->name_at &&
            fn(arg, row[0] + prefix->name_at, lengths[0] - prefix->name_at,
               &record) != 0) {
            break;
        }
    }
    return HF_OK;
}
