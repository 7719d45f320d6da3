/* SPDX-License-Identifier: MIT */
/*
 * Reading a name. One statement, because each has a view of its own of what
 * is committed: from two of them a name could seem to have a holder of before
 * and one of after. What is told of it is in tell.c. Called by the session's
 * thread.
 */
#include "src/backend/mysql/name.h"

#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/change.h"
#include "src/base/alloc.h"

#include <stdlib.h>

/* Columns of the three tables, laid on each other. */
enum column {
    PART,
    NUMBER, /* fence, fence, seq */
    TOKEN,
    LEFT, /* until it expires; of a ticket: since it was asked for, negative */
    SINCE,
    A, /* keep_until, mode, mode */
    B, /* broken, slots, slots */
    C, /* crowd, slot, is its bell used? */
    D, /* revision, ended, nothing */
    NOW,
    OWNER
};

enum part { PART_NAME, PART_GRANT, PART_TICKET };

static void ask(struct hf__mysql *s, const struct hf__key *key)
{
    struct hf__text *t = &s->sql;

    hf__text_add(t, "SELECT 0,fence,token,expires-" HF__SQL_NOW ",acquired_at,"
                    "keep_until-" HF__SQL_NOW ",broken,crowd,revision,"
                    "" HF__SQL_NOW ",label,host,pid,thread,note "
                    "FROM holdfast_lock WHERE name_key=");
    hf__text_key(t, key);
    hf__text_add(t, " UNION ALL "
                    "SELECT 1,fence,token,expires-" HF__SQL_NOW ",acquired_at,"
                    "mode,slots,slot,ended,0,label,host,pid,thread,note "
                    "FROM holdfast_beside WHERE name_key=");
    hf__text_key(t, key);
    hf__text_add(t, " UNION ALL "
                    "SELECT 2,seq,token,asked-" HF__SQL_NOW ",since,"
                    "mode,slots,");
    hf__text_add(t, s->server.has_bells ? HF__BELL_OF_TOKEN("hq") " IS NOT NULL"
                                        : "0");
    hf__text_add(t, ",0,0,label,host,pid,thread,note "
                    "FROM holdfast_ticket WHERE name_key=");
    hf__text_key(t, key);
}

/* ---- rows */

static bool read_manner(char *const *row, struct hf__manner *ret_manner)
{
    int64_t mode = hf__column_i64(row[A]);
    int64_t slots = hf__column_i64(row[B]);
    bool has_slots = mode == HF__MODE_SLOTS;

    if (mode < HF__MODE_EXCLUSIVE || mode > HF__MODE_SLOTS ||
        (has_slots ? slots < 1 || slots > HF_SLOTS_MAX : slots != 0)) {
        *ret_manner = (struct hf__manner){HF__MODE_EXCLUSIVE, 0};
        return false;
    }
    *ret_manner = (struct hf__manner){(enum hf__mode)mode, (int)slots};
    return true;
}

static bool is_fence(uint64_t fence)
{
    return fence > 0 && fence < HF__FENCE_END;
}

static void read_record(char *const *row, const unsigned long *lengths,
                        struct hf__mysql_name *name)
{
    struct hf__mysql_row *r = &name->row;

    r->is_there = true;
    r->fence = hf__column_u64(row[NUMBER]);
    r->is_damaged = !hf__column_token(row[TOKEN], lengths[TOKEN], &r->token) ||
                    (!is_fence(r->fence) && r->fence != 0) ||
                    (r->fence == 0 && !hf__token_is_zero(&r->token));
    r->expires_in = hf__column_i64(row[LEFT]);
    r->acquired_at = hf__column_i64(row[SINCE]);
    r->kept_for = hf__column_i64(row[A]);
    r->broken = hf__column_u64(row[B]);
    r->crowd = (unsigned)hf__column_u64(row[C]);
    r->revision = hf__column_u64(row[D]);
    name->now_us = hf__column_i64(row[NOW]);
    hf__column_owner(row, lengths, OWNER, &r->owner);
}

static void read_grant(char *const *row, const unsigned long *lengths,
                       struct hf__mysql_grant *g)
{
    int64_t slot = hf__column_i64(row[C]);
    bool has_token = hf__column_token(row[TOKEN], lengths[TOKEN], &g->token);
    bool has_manner = read_manner(row, &g->manner);

    g->fence = hf__column_u64(row[NUMBER]);
    g->slot = g->manner.mode == HF__MODE_SLOTS ? (int)slot : -1;
    g->is_damaged = !has_token || !has_manner || !is_fence(g->fence) ||
                    hf__token_is_zero(&g->token) ||
                    g->manner.mode == HF__MODE_EXCLUSIVE ||
                    (g->manner.mode == HF__MODE_SLOTS &&
                     (slot < 0 || slot >= g->manner.slots));
    g->expires_in = hf__column_i64(row[LEFT]);
    g->acquired_at = hf__column_i64(row[SINCE]);
    g->is_ended = hf__column_i64(row[D]) != 0;
    hf__column_owner(row, lengths, OWNER, &g->owner);
}

static enum hf__presence presence_of(const struct hf__mysql_ticket *t,
                                     bool is_used)
{
    if (is_used || t->idle_us < HF__TICKET_PATIENCE_MS * INT64_C(1000)) {
        return HF__IN_LINE;
    }
    return t->idle_us < HF__TICKET_KEEP_MS * INT64_C(1000) ? HF__PASSED
                                                           : HF__LEFT_LINE;
}

static void read_ticket(char *const *row, const unsigned long *lengths,
                        struct hf__mysql_ticket *t)
{
    bool is_ours = hf__column_token(row[TOKEN], lengths[TOKEN], &t->token) &&
                   !hf__token_is_zero(&t->token);

    is_ours = read_manner(row, &t->manner) && is_ours;
    t->seq = hf__column_u64(row[NUMBER]);
    t->idle_us = -hf__time_bounded(hf__column_i64(row[LEFT]));
    t->since = hf__column_i64(row[SINCE]);
    t->presence =
        is_ours ? presence_of(t, hf__column_i64(row[C]) != 0) : HF__LEFT_LINE;
    hf__column_owner(row, lengths, OWNER, &t->owner);
}

/* ---- all of them */

static int by_end(const void *a, const void *b)
{
    const struct hf__mysql_grant *x = a;
    const struct hf__mysql_grant *y = b;

    return (x->expires_in > y->expires_in) - (x->expires_in < y->expires_in);
}

static int by_seq(const void *a, const void *b)
{
    const struct hf__mysql_ticket *x = a;
    const struct hf__mysql_ticket *y = b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Room for as many of each kind as there are rows. */
static bool make_room(struct hf__mysql *s, struct hf__mysql_name *name)
{
    int counts[3] = {0};
    MYSQL_ROW row;

    while ((row = hf__wire_row(s)) != NULL) {
        int64_t part = hf__column_i64(row[PART]);

        counts[part < PART_NAME || part > PART_TICKET ? 0 : part]++;
    }
    mysql_data_seek(s->reply.rows, 0);
    if (counts[PART_GRANT] > 0) {
        name->grants =
            hf__alloc((size_t)counts[PART_GRANT] * sizeof *name->grants);
    }
    if (counts[PART_TICKET] > 0) {
        name->tickets =
            hf__alloc((size_t)counts[PART_TICKET] * sizeof *name->tickets);
    }
    name->stands =
        hf__alloc((size_t)(1 + counts[PART_GRANT] + counts[PART_TICKET]) *
                  sizeof *name->stands);
    return name->stands != NULL &&
           (counts[PART_GRANT] == 0 || name->grants != NULL) &&
           (counts[PART_TICKET] == 0 || name->tickets != NULL);
}

static int take(struct hf__mysql *s, struct hf__mysql_name *name)
{
    MYSQL_ROW row;

    if (s->reply.error != 0 || s->reply.rows == NULL) {
        return HF_OK;
    }
    if (!make_room(s, name)) {
        return HF_ENOMEM;
    }
    while ((row = hf__wire_row(s)) != NULL) {
        const unsigned long *lengths = hf__wire_lengths(s);

        switch (hf__column_i64(row[PART])) {
        case PART_NAME:
            read_record(row, lengths, name);
            break;
        case PART_GRANT:
            read_grant(row, lengths, &name->grants[name->n_grants++]);
            break;
        default:
            read_ticket(row, lengths, &name->tickets[name->n_tickets++]);
            break;
        }
    }
    if (name->n_grants > 1) {
        qsort(name->grants, (size_t)name->n_grants, sizeof *name->grants,
              by_end);
    }
    if (name->n_tickets > 1) {
        qsort(name->tickets, (size_t)name->n_tickets, sizeof *name->tickets,
              by_seq);
    }
    return HF_OK;
}

static int run(struct hf__mysql *s, struct hf__mysql_name *name)
{
    int r = hf__wire_run(s);

    return r == HF_OK ? take(s, name) : r;
}

int hf__mysql_name_read(struct hf__mysql *s, const struct hf__key *key,
                        struct hf__mysql_name *ret_name)
{
    *ret_name = (struct hf__mysql_name){0};
    hf__mysql_packet_begin(s);
    ask(s, key);
    return run(s, ret_name);
}

int hf__mysql_name_make(struct hf__mysql *s, const struct hf__key *key,
                        struct hf__mysql_name *ret_name)
{
    hf__mysql_name_fini(ret_name);
    hf__mysql_packet_begin(s);
    hf__text_add(&s->sql, "INSERT INTO holdfast_lock(name_key) VALUES(");
    hf__text_key(&s->sql, key);
    hf__text_add(&s->sql, ") ON DUPLICATE KEY UPDATE name_key=name_key;");
    ask(s, key);
    return run(s, ret_name);
}

void hf__mysql_name_fini(struct hf__mysql_name *name)
{
    hf__free(name->grants);
    hf__free(name->tickets);
    hf__free(name->stands);
    *name = (struct hf__mysql_name){0};
}
