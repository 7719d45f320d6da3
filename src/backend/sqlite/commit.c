/* SPDX-License-Identifier: MIT */
/*
 * What a decision changed of a name, into the transaction that runs: its rows,
 * and the deeds beside the database. Called by the session's thread, with
 * SQLite's write lock held.
 */
#include "src/backend/sqlite/commit.h"

#include "src/backend/sqlite/fence.h"
#include "src/backend/sqlite/write.h"

/* So many are woken by one change; each wakes more if they may enter too. */
#define HEADS 4

/* ---- what this process holds */

static int note(struct hf__sqlite *s, enum hf__deed_kind kind,
                const struct hf__participant *g)
{
    return hf__deeds_note(s, &(struct hf__deed){.kind = kind,
                                                .token = g->token,
                                                .life = g->life,
                                                .ends_us = g->ends_us});
}

/* A grant that dies with this process is remembered before the record can be
 * seen. */
static int hold(struct hf__sqlite *s, const struct hf__op *op,
                const struct hf__participant *g)
{
    bool is_new = false;

    if (g->life == 0) {
        return note(s, HF__DEED_LET_GO, g);
    }
    if (hf__held_add(&s->local.side->held, &op->key, &g->token, g->ends_us,
                     &is_new) != HF_OK) {
        return SQLITE_NOMEM;
    }
    if (is_new && note(s, HF__DEED_HELD, g) != SQLITE_OK) {
        hf__held_remove(&s->local.side->held, NULL, &g->token);
        return SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

static int note_grant(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__participant *g)
{
    int rc = SQLITE_OK;

    if ((g->marks & HF__MARK_GONE) != 0) {
        /* Unless it has another grant now, which is remembered. */
        return hf__participants_find(&s->name.grants, &g->token) != NULL
                   ? SQLITE_OK
                   : note(s, HF__DEED_LET_GO, g);
    }
    if ((g->marks & HF__MARK_BROKEN) != 0) {
        rc = note(s, HF__DEED_LET_GO, g);
        return rc == SQLITE_OK ? note(s, HF__DEED_BROKEN, g) : rc;
    }
    if ((g->marks & (HF__MARK_NEW | HF__MARK_OWNER)) != 0) {
        return hold(s, op, g);
    }
    if ((g->marks & HF__MARK_LEASE) != 0) {
        return note(s, g->is_detached ? HF__DEED_LET_GO : HF__DEED_EXTEND, g);
    }
    return rc;
}

/* ---- all that is marked */

/* Those that are gone first, as one may come back under the same token. */
static int write_rows(struct hf__sqlite *s, const struct hf__op *op,
                      bool those_gone, bool *ret_has_moved)
{
    const struct hf__name *name = &s->name;
    int rc = SQLITE_OK;

    for (int i = 0; i < name->grants.n && rc == SQLITE_OK; i++) {
        const struct hf__participant *g = name->grants.list[i];
        bool is_gone = (g->marks & HF__MARK_GONE) != 0;

        if (g->marks == 0 || is_gone != those_gone) {
            continue;
        }
        rc = note_grant(s, op, g);
        if (rc == SQLITE_OK && hf__has_row_of_its_own(g)) {
            rc = hf__write_grant(s, &op->key, g);
            *ret_has_moved |= is_gone || (g->marks & HF__MARK_NEW) != 0;
        }
    }
    for (int i = 0; i < name->line.n && rc == SQLITE_OK; i++) {
        const struct hf__participant *t = name->line.list[i];
        bool is_gone = (t->marks & HF__MARK_GONE) != 0;

        if (t->marks != 0 && is_gone == those_gone) {
            rc = hf__write_ticket(s, &op->key, t);
            *ret_has_moved = true;
        }
    }
    return rc;
}

/* ---- waking */

static int note_of(struct hf__sqlite *s, enum hf__deed_kind kind,
                   const struct hf__op *op)
{
    return hf__deeds_note(s, &(struct hf__deed){.kind = kind, .op = op});
}

/* The first in line who may enter, up to the first who may not. */
static int ring_heads(struct hf__sqlite *s)
{
    struct hf__lookout lookout;
    int rc = hf__lookout_make(&lookout, &s->name, NULL) == HF_OK ? SQLITE_OK
                                                                 : SQLITE_NOMEM;
    int slot = -1;

    for (int i = 0; rc == SQLITE_OK && i < lookout.stands.n_line && i < HEADS &&
                    !hf__name_is_kept(&s->name);
         i++) {
        const struct hf__stand *head = &lookout.stands.line[i];
        enum hf__entry entry =
            hf__may_enter(&lookout.stands, &head->token, head->manner, &slot);

        if (entry == HF__ENTRY_HELD || entry == HF__ENTRY_PROMISED) {
            break;
        }
        rc = hf__deeds_note(
            s, &(struct hf__deed){.kind = HF__DEED_RING, .token = head->token});
    }
    hf__lookout_free(&lookout);
    return rc;
}

/* Those outside a line are not to be told where there is one, but look by
 * themselves. */
static int note_wakes(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__outcome *out)
{
    bool is_line = hf__name_is_awaited(&s->name, NULL);
    int rc = SQLITE_OK;

    if (out->is_taken || (out->wakes && is_line)) {
        rc = note_of(s, HF__DEED_TAKEN, op);
    }
    if (rc != SQLITE_OK || !out->wakes) {
        return rc;
    }
    if (is_line) {
        return ring_heads(s);
    }
    return note_of(s,
                   op->kind == HF__OP_ACQUIRE &&
                           op->manner.mode == HF__MODE_SHARED
                       ? HF__DEED_OPENED
                       : HF__DEED_FREED,
                   op);
}

/* ---- all of it */

static int write_all(struct hf__sqlite *s, const struct hf__op *op)
{
    bool has_moved = false;
    int rc = write_rows(s, op, true, &has_moved);

    if (rc == SQLITE_OK) {
        rc = write_rows(s, op, false, &has_moved);
    }
    return rc == SQLITE_OK ? hf__write_name(s, &op->key, has_moved) : rc;
}

int hf__sqlite_commit(void *state, const struct hf__op *op,
                      struct hf__name *name, struct hf__outcome *out)
{
    struct hf__sqlite *s = state;

    if ((name->marks & HF__MARK_FENCE) != 0 &&
        !hf__fence_may_be(s, name->fence)) {
        s->rc = HF__SQLITE_RAISE_FIRST;
        return HF__ABORTED;
    }
    s->rc = write_all(s, op);
    if (s->rc == SQLITE_OK) {
        hf__name_settle(name);
        s->rc = note_wakes(s, op, out);
    }
    return s->rc == SQLITE_OK ? HF_OK : HF__ABORTED;
}

/* ---- in one statement */

int hf__sqlite_commit_fast(struct hf__sqlite *s, const struct hf__op *op,
                           struct hf__outcome *out, bool *ret_is_done)
{
    struct hf__participant own = {.token = op->token,
                                  .ends_us = s->now_us + op->lease_us};
    bool is_renewal = op->kind == HF__OP_RENEW;
    int rc;

    *ret_is_done = false;
    if (op->manner.mode != HF__MODE_EXCLUSIVE ||
        (!is_renewal && op->kind != HF__OP_RELEASE)) {
        return SQLITE_OK;
    }
    rc = is_renewal ? hf__write_renewal(s, op) : hf__write_release(s, op);
    if (rc != SQLITE_OK || sqlite3_changes(s->db->handle) == 0) {
        return rc;
    }
    *ret_is_done = true;
    *out = (struct hf__outcome){.result = HF_OK, .slot = -1};
    rc = note(
        s, is_renewal && !op->is_detached ? HF__DEED_EXTEND : HF__DEED_LET_GO,
        &own);
    return rc == SQLITE_OK && !is_renewal ? note_of(s, HF__DEED_FREED, op) : rc;
}
