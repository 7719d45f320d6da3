/* SPDX-License-Identifier: MIT */
/*
 * Reading names, with one statement: each statement has its own view of what is
 * committed, so that two could show a name's former holder together with a new
 * one. Called by the session's thread.
 */
#include "src/backend/mysql/name.h"

#include "src/backend/mysql/row.h"
#include "src/backend/mysql/sql.h"

/* ---- asking */

/* The columns, as struct hf__table_row has them. Where there are three
 * meanings, they are those of a record, a grant and a ticket. */
enum column {
    PART,
    KEY,
    NUMBER, /* fence, fence, seq */
    TOKEN,
    LEFT, /* until it expires; of a ticket: since it was last seen, negative */
    SINCE,
    A, /* keep_until, mode, mode */
    B, /* broken, slots, slots */
    C, /* revision, slot, nothing */
    D, /* crowd, ended, nothing */
    BELL,
    NOW,
    OWNER,
    CHANGED = OWNER + 5 /* only of a record */
};

static const char *const rest[] = {
    [HF__TO_DECIDE] = HF__SQL_NOW ",label,host,pid,thread,note",
    [HF__TO_WAIT] = "0",
    [HF__TO_SCAN] = HF__SQL_NOW ",label,host,pid,thread,note,"};

/* When reading to wait, "now" is 0: the remaining times do not depend on it. */
void hf__mysql_name_ask(struct hf__mysql *s, enum hf__depth depth,
                        hf__mysql_from_fn add_from, const void *arg)
{
    bool is_deep = depth != HF__TO_WAIT;
    bool is_scan = depth == HF__TO_SCAN;
    bool has_wake_locks = s->t.has_wake_locks;
    const char *of_grant =
        has_wake_locks && !is_deep ? HF__WAKE_LOCK_OF_TOKEN("hf") : "NULL";
    struct hf__text *t = &s->sql;

    hf__text_addf(t,
                  "SELECT 0,name_key,fence,token,expires-" HF__SQL_NOW
                  ",%s,keep_until-" HF__SQL_NOW
                  ",broken,revision,crowd,%s,%s%s",
                  is_deep ? "acquired_at" : "0", of_grant, rest[depth],
                  is_scan ? "changed_at" : "");
    add_from(t, "holdfast_lock FORCE INDEX(PRIMARY)", arg);
    hf__text_addf(
        t,
        " UNION ALL SELECT 1,name_key,fence,token,expires-" HF__SQL_NOW
        ",%s,mode,slots,slot,ended,%s,%s%s",
        is_deep ? "acquired_at" : "0", of_grant, rest[depth],
        is_scan ? "0" : "");
    add_from(t, "holdfast_beside FORCE INDEX(PRIMARY)", arg);
    hf__text_addf(t,
                  " UNION ALL SELECT 2,name_key,seq,token,asked-" HF__SQL_NOW
                  ",%s,mode,slots,-1,0,%s,%s%s",
                  is_deep ? "since" : "0",
                  has_wake_locks ? HF__WAKE_LOCK_OF_TOKEN("hq") : "NULL",
                  rest[depth], is_scan ? "0" : "");
    add_from(t, "holdfast_ticket FORCE INDEX(PRIMARY)", arg);
}

struct watched {
    struct hf__watch *const *w;
    int n;
};

static void add_watched(struct hf__text *t, const char *table, const void *arg)
{
    const struct watched *v = arg;

    hf__text_addf(t, " FROM %s WHERE name_key IN(", table);
    for (int i = 0; i < v->n; i++) {
        hf__text_add(t, i == 0 ? "" : ",");
        hf__text_key(t, &v->w[i]->key);
    }
    hf__text_add(t, ")");
}

void hf__mysql_name_ask_watched(struct hf__mysql *s,
                                struct hf__watch *const w[], int n,
                                enum hf__depth depth)
{
    hf__mysql_name_ask(s, depth, add_watched, &(struct watched){w, n});
}

/* ---- the rows */

bool hf__mysql_name_next(void *rows, struct hf__table_row *ret_row)
{
    char *const *cells = mysql_fetch_row(rows);
    const unsigned long *lengths;
    unsigned n = mysql_num_fields(rows);

    if (cells == NULL) {
        return false;
    }
    lengths = mysql_fetch_lengths(rows);
    ret_row->part = (enum hf__table_part)hf__column_i64(cells[PART]);
    ret_row->key = cells[KEY];
    ret_row->key_length = lengths[KEY];
    ret_row->number = hf__column_u64(cells[NUMBER]);
    ret_row->token = cells[TOKEN];
    ret_row->token_length = lengths[TOKEN];
    ret_row->left_us = hf__column_i64(cells[LEFT]);
    ret_row->since_us = hf__column_i64(cells[SINCE]);
    ret_row->mode = hf__column_i64(cells[A]);
    ret_row->slots = hf__column_i64(cells[B]);
    ret_row->slot = hf__column_i64(cells[C]);
    ret_row->crowd = hf__column_i64(cells[D]);
    ret_row->life = hf__column_u64(cells[BELL]);
    ret_row->now_us = hf__column_i64(cells[NOW]);
    ret_row->has_owner = n > OWNER;
    if (ret_row->has_owner) {
        hf__column_owner(cells, lengths, OWNER, &ret_row->owner);
    }
    ret_row->changed_us = n > CHANGED ? hf__column_i64(cells[CHANGED]) : 0;
    return true;
}

int hf__mysql_name_take(struct hf__mysql *s, struct hf__table_name *name)
{
    struct hf__table_row r;
    int result = HF_OK;

    if (s->reply.error != 0 || s->reply.rows == NULL) {
        return HF_OK;
    }
    mysql_data_seek(s->reply.rows, 0);
    while (result == HF_OK && hf__mysql_name_next(s->reply.rows, &r)) {
        result = hf__table_name_add(name, &r);
    }
    hf__table_name_end(name);
    return result;
}
