/* SPDX-License-Identifier: MIT */
/*
 * Reading names. One statement, because each has a view of its own of what
 * is committed: from two of them a name could seem to have a holder of before
 * and one of after. Called by the session's thread.
 */
#include "src/backend/mysql/name.h"

#include "src/backend/mysql/bell.h"
#include "src/backend/mysql/row.h"

#include <stdlib.h>
#include <string.h>

/* ---- asking */

/* Columns of the three tables, laid on each other. */
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

enum part { PART_NAME, PART_GRANT, PART_TICKET };

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
    bool has_bells = s->server.has_bells;
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

struct row {
    char *const *cells;
    const unsigned long *lengths;
    bool has_owner;
};

static bool read_manner(const struct row *r, struct hf__manner *ret_manner)
{
    return hf__manner_from(hf__column_i64(r->cells[A]),
                           hf__column_i64(r->cells[B]), ret_manner);
}

static bool read_token(const struct row *r, struct hf__token *ret_token)
{
    return hf__column_token(r->cells[TOKEN], r->lengths[TOKEN], ret_token);
}

/* What grants and tickets have alike. */
static struct hf__participant *
add(struct hf__participants *to, const struct row *r, int64_t now_us, int slot)
{
    struct hf__participant *p = hf__participants_add(to, slot);
    int64_t since = hf__column_i64(r->cells[SINCE]);

    if (p == NULL) {
        return NULL;
    }
    p->fence = hf__column_u64(r->cells[NUMBER]);
    p->life = hf__column_u64(r->cells[BELL]);
    p->since_us = since > 0 ? since : 0;
    p->holder_lives = -1;
    p->ends_us = now_us + hf__time_bounded(hf__column_i64(r->cells[LEFT]));
    if (r->has_owner) {
        hf__column_owner(r->cells, r->lengths, OWNER, &p->owner);
    }
    return p;
}

static enum hf__standing by_lease(const struct hf__participant *g,
                                  int64_t now_us)
{
    return g->ends_us > now_us ? HF__STANDS_RUNNING : HF__STANDS_ENDED;
}

static int read_record(const struct row *r, struct hf__mysql_name *n)
{
    struct hf__name *name = &n->name;
    struct hf__token token;
    bool has_token = read_token(r, &token);
    struct hf__participant *g = NULL;

    name->is_there = true;
    name->fence = hf__column_u64(r->cells[NUMBER]);
    name->is_damaged =
        !has_token || !hf__mysql_is_fence_of(name->fence, &token);
    name->broken = hf__column_u64(r->cells[B]);
    name->keep_until_us =
        name->now_us + hf__time_bounded(hf__column_i64(r->cells[A]));
    n->revision = hf__column_u64(r->cells[C]);
    n->fence = name->fence;
    n->crowd = (unsigned)hf__column_u64(r->cells[D]);
    if (hf__token_is_zero(&token) || name->is_damaged) {
        return HF_OK;
    }
    g = add(&name->grants, r, name->now_us, -1);
    if (g == NULL) {
        return HF_ENOMEM;
    }
    g->token = token;
    g->standing = by_lease(g, name->now_us);
    return HF_OK;
}

/* One that makes no sense is still none that has the name alone. */
static int read_grant(const struct row *r, struct hf__name *name)
{
    int64_t slot = hf__column_i64(r->cells[C]);
    struct hf__manner manner = {HF__MODE_SHARED, 0};
    bool is_ours = read_manner(r, &manner) && manner.mode != HF__MODE_EXCLUSIVE;
    bool has_slot = is_ours && manner.mode == HF__MODE_SLOTS;
    struct hf__participant *g;

    is_ours = is_ours && (!has_slot || (slot >= 0 && slot < manner.slots));
    g = add(&name->grants, r, name->now_us,
            is_ours && has_slot ? (int)slot : -1);
    if (g == NULL) {
        return HF_ENOMEM;
    }
    g->manner = is_ours ? manner : (struct hf__manner){HF__MODE_SHARED, 0};
    is_ours = read_token(r, &g->token) && is_ours &&
              !hf__token_is_zero(&g->token) &&
              hf__mysql_is_fence_of(g->fence, &g->token);
    if (hf__column_i64(r->cells[D]) != 0) {
        g->standing = HF__STANDS_BROKEN;
    } else {
        g->standing = is_ours ? by_lease(g, name->now_us) : HF__STANDS_DAMAGED;
    }
    return HF_OK;
}

static enum hf__standing by_showing(const struct hf__participant *t,
                                    int64_t now_us)
{
    int64_t idle_us = now_us - t->seen_us;

    if (t->life != 0 || idle_us < HF__TICKET_PATIENCE_MS * INT64_C(1000)) {
        return HF__STANDS_RUNNING;
    }
    return idle_us < HF__TICKET_KEEP_MS * INT64_C(1000) ? HF__STANDS_DEAD
                                                        : HF__STANDS_ENDED;
}

/* Who is not to be read keeps nobody waiting. */
static int read_ticket(const struct row *r, struct hf__name *name)
{
    struct hf__participant *t = add(&name->line, r, name->now_us, -1);
    bool is_ours;

    if (t == NULL) {
        return HF_ENOMEM;
    }
    t->seen_us = t->ends_us;
    is_ours = read_token(r, &t->token) && !hf__token_is_zero(&t->token);
    is_ours = read_manner(r, &t->manner) && is_ours;
    t->standing = is_ours ? by_showing(t, name->now_us) : HF__STANDS_ENDED;
    return HF_OK;
}

/* ---- all of them */

static int read_row(const struct row *r, struct hf__mysql_name *n)
{
    n->name.now_us = hf__column_i64(r->cells[NOW]);
    n->name.wall_us = n->name.now_us;
    n->name.fence_floor = n->name.now_us;
    switch (hf__column_i64(r->cells[PART])) {
    case PART_NAME:
        return read_record(r, n);
    case PART_GRANT:
        return read_grant(r, &n->name);
    default:
        return read_ticket(r, &n->name);
    }
}

/* Their numbers are their age; grants are in the order of slots before. */
static int by_place(const void *a, const void *b)
{
    const struct hf__participant *x = *(struct hf__participant *const *)a;
    const struct hf__participant *y = *(struct hf__participant *const *)b;

    return x->slot != y->slot ? (x->slot > y->slot) - (x->slot < y->slot)
                              : (x->fence > y->fence) - (x->fence < y->fence);
}

static void sort(struct hf__participants *p)
{
    if (p->n > 1) {
        qsort(p->list, (size_t)p->n, sizeof(struct hf__participant *),
              by_place);
    }
}

/* Two in one slot are nothing that we wrote. */
static void judge_slots(struct hf__participants *grants)
{
    int taken = -1;

    for (int i = 0; i < grants->n; i++) {
        struct hf__participant *g = grants->list[i];

        if (g->slot >= 0 && g->standing == HF__STANDS_RUNNING) {
            g->standing =
                g->slot == taken ? HF__STANDS_DAMAGED : HF__STANDS_RUNNING;
            taken = g->slot;
        }
    }
}

void hf__mysql_name_init(struct hf__mysql_name *name, const struct hf__key *key)
{
    name->name.grants.few = &name->few;
    name->key = key;
    name->revision = 0;
    name->fence = 0;
    name->crowd = 0;
}

int hf__mysql_name_take(struct hf__mysql *s, struct hf__mysql_name *name)
{
    struct row r = {.has_owner = false};
    int result = HF_OK;

    if (s->reply.error != 0 || s->reply.rows == NULL) {
        return HF_OK;
    }
    r.has_owner = mysql_num_fields(s->reply.rows) > OWNER;
    mysql_data_seek(s->reply.rows, 0);
    while (result == HF_OK && (r.cells = hf__wire_row(s)) != NULL) {
        r.lengths = hf__wire_lengths(s);
        if (r.lengths[KEY] == name->key->length &&
            memcmp(r.cells[KEY], name->key->bytes, name->key->length) == 0) {
            result = read_row(&r, name);
        }
    }
    sort(&name->name.grants);
    sort(&name->name.line);
    judge_slots(&name->name.grants);
    return result;
}

void hf__mysql_name_fini(struct hf__mysql_name *name)
{
    hf__name_fini(&name->name);
}
