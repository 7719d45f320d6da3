/* SPDX-License-Identifier: MIT */
/*
 * The statements that write: the name's own row, those of grants beside others
 * and of tickets, as far as a decision marked them. Called by the session's
 * thread, with SQLite's write lock held.
 */
#include "src/backend/sqlite/write.h"

#include "src/backend/sqlite/row.h"

bool hf__has_row_of_its_own(const struct hf__participant *g)
{
    return g->manner.mode != HF__MODE_EXCLUSIVE;
}

static const char *side_of(const struct hf__sqlite *s,
                           const struct hf__participant *g)
{
    return g != NULL && g->life != 0 ? s->life : NULL;
}

/* What did not change stays as it is: it may be of another clock. */
static struct hf__value lease_of(const struct hf__participant *g)
{
    if (g == NULL) {
        return hf__value_of(0);
    }
    return (g->marks & HF__MARK_LEASE) != 0 ? hf__value_of(g->ends_us)
                                            : hf__value_of_text(NULL);
}

/* ---- rows of their own */

static int put_grant(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__participant *g)
{
    return HF__SQL_RUN(
        s, HF__SQL_BESIDE_PUT, hf__value_of_key(key),
        hf__value_of_token(&g->token), hf__value_of((int64_t)g->fence),
        hf__value_of(g->manner.mode), hf__value_of(g->manner.slots),
        hf__value_of(g->slot), hf__value_of(g->ends_us),
        hf__value_of(s->now_us), hf__value_of_text(s->local.boot),
        hf__value_of_text(side_of(s, g)), hf__value_of(g->since_us),
        HF__VALUES_OF_OWNER(&g->owner));
}

static int change_grant(struct hf__sqlite *s, const struct hf__key *key,
                        const struct hf__participant *g)
{
    return HF__SQL_RUN(s, HF__SQL_BESIDE_CHANGE, hf__value_of_key(key),
                       hf__value_of_token(&g->token),
                       hf__value_of((int64_t)g->fence), lease_of(g),
                       hf__value_of(!g->is_detached),
                       hf__value_of(g->standing == HF__STANDS_BROKEN));
}

int hf__write_grant(struct hf__sqlite *s, const struct hf__key *key,
                    const struct hf__participant *g)
{
    if ((g->marks & HF__MARK_GONE) != 0) {
        return HF__SQL_RUN(s, HF__SQL_BESIDE_LEAVE, hf__value_of_key(key),
                           hf__value_of_token(&g->token));
    }
    return (g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0
               ? put_grant(s, key, g)
               : change_grant(s, key, g);
}

int hf__write_ticket(struct hf__sqlite *s, const struct hf__key *key,
                     const struct hf__participant *t)
{
    if ((t->marks & HF__MARK_GONE) != 0) {
        return HF__SQL_RUN(s, HF__SQL_LINE_LEAVE, hf__value_of_key(key),
                           hf__value_of_token(&t->token));
    }
    return HF__SQL_RUN(
        s, HF__SQL_LINE_JOIN, hf__value_of_key(key),
        hf__value_of_token(&t->token), hf__value_of(t->manner.mode),
        hf__value_of(t->manner.slots), hf__value_of_text(s->local.boot),
        hf__value_of_text(s->life), hf__value_of(t->since_us),
        hf__value_of(s->now_us), HF__VALUES_OF_OWNER(&t->owner));
}

/* ---- the name's own row */

static int64_t keep_us_of(const struct hf__name *name)
{
    return name->keep_until_us > 0 ? name->keep_until_us - name->now_us : 0;
}

static int put_name(struct hf__sqlite *s, const struct hf__key *key,
                    const struct hf__participant *g)
{
    static const struct hf__participant nobody;
    const struct hf__name *name = &s->name;
    int64_t keep_us = keep_us_of(name);

    return HF__SQL_RUN(
        s, HF__SQL_PUT, hf__value_of_key(key),
        hf__value_of((int64_t)name->fence),
        g != NULL ? hf__value_of_token(&g->token) : hf__value_of_text(NULL),
        hf__value_of(g != NULL ? g->ends_us : 0),
        hf__value_of(name->now_us + keep_us), hf__value_of(keep_us),
        hf__value_of_text(s->local.boot), hf__value_of_text(side_of(s, g)),
        hf__value_of(name->wall_us), hf__value_of((int64_t)name->broken),
        HF__VALUES_OF_OWNER(g != NULL ? &g->owner : &nobody.owner),
        hf__value_of(s->has_beside), hf__value_of(s->has_line));
}

/* has_moved: rows of the other tables came or went. */
static int change_name(struct hf__sqlite *s, const struct hf__key *key,
                       const struct hf__participant *g, bool has_moved)
{
    const struct hf__name *name = &s->name;
    int64_t keep_us = keep_us_of(name);
    bool is_touched = (name->marks & HF__MARK_TOUCHED) != 0;

    return HF__SQL_RUN(
        s, HF__SQL_CHANGE, hf__value_of_key(key),
        hf__value_of((int64_t)name->fence), hf__value_of((int64_t)name->broken),
        hf__value_of(g != NULL), hf__value_of(g != NULL && !g->is_detached),
        lease_of(g), hf__value_of((name->marks & HF__MARK_KEEP) != 0),
        hf__value_of(keep_us), hf__value_of(name->now_us + keep_us),
        hf__value_of(is_touched ? name->wall_us : 0), hf__value_of(has_moved));
}

static bool has_change(const struct hf__name *name)
{
    bool is_any = name->marks != 0;

    for (int i = 0; i < name->grants.n; i++) {
        is_any |= !hf__has_row_of_its_own(name->grants.list[i]) &&
                  name->grants.list[i]->marks != 0;
    }
    return is_any;
}

/* After the other rows: what it says of these stays true. */
int hf__write_name(struct hf__sqlite *s, const struct hf__key *key,
                   bool has_moved)
{
    const struct hf__participant *g = hf__name_holder(&s->name);
    unsigned marks = g != NULL ? g->marks : 0;
    int rc = SQLITE_OK;

    if (s->has_row && (marks & (HF__MARK_NEW | HF__MARK_OWNER)) == 0) {
        return has_moved || has_change(&s->name)
                   ? change_name(s, key, g, has_moved)
                   : SQLITE_OK;
    }
    rc = put_name(s, key, g);
    /* What the other tables have of it. */
    return rc == SQLITE_OK && has_moved
               ? HF__SQL_RUN(s, HF__SQL_MARK, hf__value_of_key(key))
               : rc;
}

/* ---- in one statement */

int hf__write_renewal(struct hf__sqlite *s, const struct hf__op *op)
{
    return HF__SQL_RUN(s, HF__SQL_RENEW, hf__value_of(s->now_us + op->lease_us),
                       hf__value_of_key(&op->key),
                       hf__value_of_token(&op->token), hf__value_of(s->now_us),
                       hf__value_of_text(s->local.boot),
                       hf__value_of(op->is_detached));
}

/* The clock does not matter here: the owner may always let go. */
int hf__write_release(struct hf__sqlite *s, const struct hf__op *op)
{
    return HF__SQL_RUN(s, HF__SQL_FREE, hf__value_of(op->reopens),
                       hf__value_of(s->wall_us), hf__value_of_key(&op->key),
                       hf__value_of_token(&op->token));
}
