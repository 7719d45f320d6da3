/* SPDX-License-Identifier: MIT */
/*
 * Reading names. One statement, because each has a view of its own of what
 * is committed: from two of them a name could seem to have a holder of before
 * and one of after. Called by the session's thread.
 */
#include "src/backend/mysql/name.h"

#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/row.h"

/* ---- asking */

/* As struct hf__table_row has them. */
enum column {
    PART,
    KEY,
    NUMBER, /* fence, fence, seq */
    TOKEN,
    LEFT, /* until it expires; of a ticket: since it was asked for, negative */
    SINCE,
    A, /* keep_until, mode, mode */
    B, /* broken, slots, slots */
    C, /* revision, slot, nothing */
    D, /* crowd, ended, nothing */
    BELL,
    NOW,
    OWNER
};

/* The end of a part: its bell, what time it is, who it is, its table and
 * names. */
static void add_part(struct hf__text *t, const char *bell, enum hf__depth depth,
                     const char *table, struct hf__watch *const w[], int n)
{
    hf__text_addf(
        t, "%s,%s FROM %s FORCE INDEX(PRIMARY) WHERE name_key IN(", bell,
        depth == HF__TO_DECIDE ? HF__SQL_NOW ",label,host,pid,thread,note"
                               : "0",
        table);
    for (int i = 0; i < n; i++) {
        hf__text_add(t, i == 0 ? "" : ",");
        hf__text_key(t, &w[i]->key);
    }
    hf__text_add(t, ")");
}

/* To wait, it is the beginning of time: what is left does not mind. */
void hf__mysql_name_ask(struct hf__mysql *s, struct hf__watch *const w[], int n,
                        enum hf__depth depth)
{
    bool is_deep = depth == HF__TO_DECIDE;
    bool has_bells = s->t.has_bells;
    const char *of_grant =
        has_bells && !is_deep ? HF__BELL_OF_TOKEN("hf") : "NULL";
    struct hf__text *t = &s->sql;

    hf__text_addf(t,
                  "SELECT 0,name_key,fence,token,expires-" HF__SQL_NOW
                  ",%s,keep_until-" HF__SQL_NOW ",broken,revision,crowd,",
                  is_deep ? "acquired_at" : "0");
    add_part(t, of_grant, depth, "holdfast_lock", w, n);
    hf__text_addf(
        t,
        " UNION ALL SELECT 1,name_key,fence,token,expires-" HF__SQL_NOW
        ",%s,mode,slots,slot,ended,",
        is_deep ? "acquired_at" : "0");
    add_part(t, of_grant, depth, "holdfast_beside", w, n);
    hf__text_addf(t,
                  " UNION ALL SELECT 2,name_key,seq,token,asked-" HF__SQL_NOW
                  ",%s,mode,slots,-1,0,",
                  is_deep ? "since" : "0");
    add_part(t, has_bells ? HF__BELL_OF_TOKEN("hq") : "NULL", depth,
             "holdfast_ticket", w, n);
}

/* ---- rows */

static void read_row(struct hf__mysql *s, char *const *cells,
                     struct hf__table_row *ret_row)
{
    const unsigned long *lengths = hf__wire_lengths(s);

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
    if (ret_row->has_owner) {
        hf__column_owner(cells, lengths, OWNER, &ret_row->owner);
    }
}

int hf__mysql_name_take(struct hf__mysql *s, struct hf__table_name *name)
{
    struct hf__table_row r;
    char *const *cells;
    int result = HF_OK;

    if (s->reply.error != 0 || s->reply.rows == NULL) {
        return HF_OK;
    }
    r.has_owner = mysql_num_fields(s->reply.rows) > OWNER;
    mysql_data_seek(s->reply.rows, 0);
    while (result == HF_OK && (cells = hf__wire_row(s)) != NULL) {
        read_row(s, cells, &r);
        result = hf__table_name_add(name, &r);
    }
    hf__table_name_end(name);
    return result;
}
