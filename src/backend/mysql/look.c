/* SPDX-License-Identifier: MIT */
/*
 * Reading names for those who wait for them. Who counts is decided by the
 * server's clock, by marks of broken grants and by the bells of tickets; the
 * rule by which a claim enters is crowd.h's. One in line minds the ticket
 * before its own, for until that has gone its turn has not come; only the
 * first minds the grants, so that a hand-over wakes one. Called by the
 * session's thread.
 */
#include "src/backend/mysql/look.h"

#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/row.h"
#include "src/base/alloc.h"

#include <string.h>

/* ---- asking */

enum { LOCK_ROW, BESIDE_ROW, TICKET_ROW };
enum {
    KIND,
    KEY,
    TOKEN,
    NUMBER, /* fence, or seq */
    ENDS, /* the lease, in µs; of a ticket: how long since it was asked for */
    KEPT, /* for so long; beside: the grant was broken */
    MODE,
    SLOTS,
    SLOT,
    BELL /* whose connection holds it; NULL: nobody's */
};

/* The end of a part: its bell, table and names. */
static void add_part(struct hf__mysql *s, const char *bell, const char *table,
                     struct hf__watch *const w[], int n)
{
    struct hf__text *t = &s->sql;

    if (s->server.has_bells) {
        hf__text_add(t, bell);
    } else {
        hf__text_add(t, "NULL");
    }
    hf__text_addf(t, " FROM %s FORCE INDEX(PRIMARY) WHERE name_key IN(", table);
    for (int i = 0; i < n; i++) {
        hf__text_add(t, i == 0 ? "" : ",");
        hf__text_key(t, &w[i]->key);
    }
    hf__text_add(t, ")");
}

void hf__look_ask(struct hf__mysql *s, struct hf__watch *const w[], int n)
{
    hf__text_add(&s->sql, "SELECT 0,name_key,token,fence,expires-" HF__SQL_NOW
                          ",keep_until-" HF__SQL_NOW ",0,0,-1,");
    add_part(s, HF__BELL_OF_TOKEN("hf"), "holdfast_lock", w, n);
    hf__text_add(&s->sql,
                 " UNION ALL SELECT 1,name_key,token,fence,expires-" HF__SQL_NOW
                 ",ended,mode,slots,slot,");
    add_part(s, HF__BELL_OF_TOKEN("hf"), "holdfast_beside", w, n);
    hf__text_add(&s->sql, " UNION ALL SELECT 2,name_key,token,seq," HF__SQL_NOW
                          "-asked,0,mode,slots,-1,");
    add_part(s, HF__BELL_OF_TOKEN("hq"), "holdfast_ticket", w, n);
    hf__text_add(&s->sql, ";");
}

/* ---- hearing */

/* One watch, while its name's rows are read. */
struct view {
    const struct hf__watch *watch;
    struct hf__looking *looking;
    struct hf__sight *sight;
    int n_holders;
    int n_line;
    bool is_held; /* by one alone */
    bool is_kept;
    bool is_damaged;
    bool has_seen_holder; /* the one that the watch has seen is there */
    /* Of the grants in its way the one whose lease ends first. */
    bool is_in_way;
    int64_t ends_us;
};

static bool grow_holders(struct hf__looking *l, int n)
{
    int room = l->holders_room == 0 ? 16 : l->holders_room * 2;
    struct hf__stand *holders;

    if (n < l->holders_room) {
        return true;
    }
    holders = hf__resize(l->holders, (size_t)room * sizeof *holders);
    if (holders == NULL) {
        return false;
    }
    l->holders = holders;
    l->holders_room = room;
    return true;
}

static bool grow_line(struct hf__looking *l, int n)
{
    int room = l->line_room == 0 ? 16 : l->line_room * 2;
    struct hf__stand *line;
    struct hf__placing *placings;

    if (n < l->line_room) {
        return true;
    }
    line = hf__resize(l->line, (size_t)room * sizeof *line);
    l->line = line == NULL ? l->line : line;
    placings = hf__resize(l->placings, (size_t)room * sizeof *placings);
    l->placings = placings == NULL ? l->placings : placings;
    if (line == NULL || placings == NULL) {
        return false;
    }
    l->line_room = room;
    return true;
}

static struct hf__manner manner_of(char *const *row)
{
    return (struct hf__manner){
        .mode = (enum hf__mode)hf__column_i64(row[MODE]),
        .slots = (int)hf__column_i64(row[SLOTS]),
    };
}

/* A grant that the claim can't stand beside. */
static void note_in_way(struct view *v, const struct hf__token *token,
                        char *const *row)
{
    int64_t ends_us = hf__column_i64(row[ENDS]);

    if (!v->is_in_way || ends_us < v->ends_us) {
        v->is_in_way = true;
        v->ends_us = ends_us;
        v->sight->bell = *token;
        v->sight->is_ticket = false;
        v->sight->is_manned = row[BELL] != NULL;
    }
}

static void hear_lock(struct view *v, char *const *row,
                      const struct hf__token *token)
{
    bool has_token = !hf__token_is_zero(token);
    int64_t kept_us = hf__column_i64(row[KEPT]);

    v->sight->fence = hf__column_u64(row[NUMBER]);
    if (has_token && hf__column_i64(row[ENDS]) > 0) {
        v->is_held = true;
        v->has_seen_holder = hf__token_equal(token, &v->watch->token);
        note_in_way(v, token, row);
    } else if (kept_us > 0) {
        v->is_kept = true;
        v->ends_us = kept_us;
    }
}

static int hear_beside(struct view *v, char *const *row,
                       const struct hf__token *token)
{
    struct hf__looking *l = v->looking;
    struct hf__manner manner = manner_of(row);

    if (hf__column_i64(row[ENDS]) <= 0 || *row[KEPT] != '0') {
        return HF_OK;
    }
    if (!grow_holders(l, v->n_holders)) {
        return HF_ENOMEM;
    }
    l->holders[v->n_holders++] =
        (struct hf__stand){*token, manner, (int)hf__column_i64(row[SLOT])};
    v->has_seen_holder |= hf__token_equal(token, &v->watch->token);
    if (manner.mode == HF__MODE_SLOTS ||
        !hf__manners_agree(manner, v->watch->manner)) {
        note_in_way(v, token, row);
    }
    return HF_OK;
}

/* In the order of their numbers, in which they mostly come. */
static int hear_ticket(struct view *v, char *const *row,
                       const struct hf__token *token)
{
    struct hf__looking *l = v->looking;
    uint64_t seq = hf__column_u64(row[NUMBER]);
    bool is_mine = hf__token_equal(token, &v->watch->ticket);
    bool is_patient =
        hf__column_i64(row[ENDS]) <= (int64_t)HF__TICKET_PATIENCE_MS * 1000;
    int at = v->n_line;

    if (!is_mine && row[BELL] == NULL && !is_patient) {
        return HF_OK;
    }
    if (!grow_line(l, v->n_line)) {
        return HF_ENOMEM;
    }
    for (; at > 0 && l->placings[at - 1].seq > seq; at--) {
        l->line[at] = l->line[at - 1];
        l->placings[at] = l->placings[at - 1];
    }
    l->line[at] = (struct hf__stand){*token, manner_of(row), -1};
    l->placings[at] = (struct hf__placing){seq, row[BELL] != NULL};
    v->n_line++;
    return HF_OK;
}

static int hear_row(struct view *v, char *const *row,
                    const unsigned long *lengths)
{
    struct hf__token token;

    if (lengths[KEY] != v->watch->key.length ||
        memcmp(row[KEY], v->watch->key.bytes, lengths[KEY]) != 0) {
        return HF_OK;
    }
    if (!hf__column_token(row[TOKEN], lengths[TOKEN], &token)) {
        v->is_damaged = true;
        return HF_OK;
    }
    if (*row[KIND] - '0' == LOCK_ROW) {
        hear_lock(v, row, &token);
        return HF_OK;
    }
    return *row[KIND] - '0' == BESIDE_ROW ? hear_beside(v, row, &token)
                                          : hear_ticket(v, row, &token);
}

/* ---- judging */

/* Its own ticket's place in line; −1: it is not there. */
static int place_of(const struct view *v)
{
    for (int i = 0; i < v->n_line; i++) {
        if (hf__token_equal(&v->looking->line[i].token, &v->watch->ticket)) {
            return i;
        }
    }
    return -1;
}

/* The ticket for which it waits: the one before its own; of a shared one, and
 * of somebody without a ticket, the last that it may not stand beside. −1:
 * none. */
static int ticket_before(const struct view *v, int own)
{
    int last = own >= 0 ? own - 1 : v->n_line - 1;

    if (own >= 0 && v->watch->manner.mode != HF__MODE_SHARED) {
        return last;
    }
    for (int i = last; i >= 0; i--) {
        if (!hf__manners_agree(v->looking->line[i].manner, v->watch->manner)) {
            return i;
        }
    }
    return -1;
}

static bool may_enter(const struct view *v)
{
    const struct hf__stands stands = {v->looking->holders, v->n_holders,
                                      v->looking->line, v->n_line};
    enum hf__entry entry;
    int slot;

    if (v->is_held || v->is_kept) {
        return false;
    }
    entry = hf__may_enter(&stands, &v->watch->ticket, v->watch->manner, &slot);
    return entry == HF__ENTRY_OPEN || entry == HF__ENTRY_MISFIT;
}

/* Would a claim that asks again get into line? */
static bool wants_ticket(const struct view *v)
{
    const struct hf__stands stands = {v->looking->holders, v->n_holders,
                                      v->looking->line, v->n_line};
    const struct hf__op op = {.queueing = HF__QUEUE_BEHIND_SHARED,
                              .manner = v->watch->manner};

    return hf__leaves_ticket(&stands, &op);
}

static bool is_news(const struct view *v)
{
    const struct hf__watch *watch = v->watch;

    return v->sight->fence != watch->fence ||
           (!hf__token_is_zero(&watch->token) && !v->has_seen_holder);
}

/* A damaged row may say anything. */
static int64_t in_a_day_at_most(int64_t us)
{
    const int64_t day_us = INT64_C(86400) * 1000000;

    return us < 0 ? 0 : us < day_us ? us : day_us;
}

static void judge(struct view *v)
{
    bool has_ticket = !hf__token_is_zero(&v->watch->ticket);
    int own = has_ticket ? place_of(v) : -1;
    struct hf__sight *sight = v->sight;
    int before;

    sight->is_over = v->is_damaged || (has_ticket && own < 0) || may_enter(v);
    sight->is_news = !has_ticket && is_news(v);
    before = ticket_before(v, own);
    sight->is_crowded = !v->is_held && wants_ticket(v);
    if (v->is_kept || v->is_in_way) {
        sight->due =
            hf__after_ns(hf__now(), in_a_day_at_most(v->ends_us) * 1000);
    }
    if (before >= 0) {
        sight->bell = v->looking->line[before].token;
        sight->is_ticket = true;
        sight->is_manned = v->looking->placings[before].is_manned;
        sight->due = HF__NEVER; /* the first in line sees to that */
    }
    sight->wants_looks = before < 0 && v->n_holders > 0 &&
                         v->watch->manner.mode == HF__MODE_SLOTS;
}

int hf__look_hear(struct hf__mysql *s, struct hf__looking *l,
                  const struct hf__watch *watch, struct hf__sight *ret_sight)
{
    struct view v = {.watch = watch, .looking = l, .sight = ret_sight};
    MYSQL_ROW row;

    *ret_sight = (struct hf__sight){.due = HF__NEVER};
    if (s->reply.rows != NULL) {
        mysql_data_seek(s->reply.rows, 0);
    }
    while ((row = hf__wire_row(s)) != NULL) {
        if (hear_row(&v, row, hf__wire_lengths(s)) != HF_OK) {
            return HF_ENOMEM;
        }
    }
    judge(&v);
    return HF_OK;
}

void hf__looking_fini(struct hf__looking *l)
{
    hf__free(l->holders);
    hf__free(l->line);
    hf__free(l->placings);
}
