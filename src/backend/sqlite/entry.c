/* SPDX-License-Identifier: MIT */
/*
 * Reading those at a name, and asking the rule. Reads stop at the first who is
 * in the way of the claim in question, because each one costs a look at a life
 * byte; grants are read by the end of their leases, so that this is also the
 * one to be told of. Called by the session's thread.
 */
#include "src/backend/sqlite/entry.h"

#include "src/backend/sqlite/beside.h"
#include "src/base/alloc.h"

/* So many are woken by one change; each wakes more if they may enter too. */
#define HEADS 4

static int push(struct hf__party_room *room, const struct hf__stand *stand)
{
    if (room->n == room->room) {
        int wanted = room->room == 0 ? 16 : 2 * room->room;
        struct hf__stand *list =
            hf__resize(room->list, (size_t)wanted * sizeof *list);

        if (list == NULL) {
            return SQLITE_NOMEM;
        }
        room->list = list;
        room->room = wanted;
    }
    room->list[room->n++] = *stand;
    return SQLITE_OK;
}

void hf__entry_fini(struct hf__sqlite *s)
{
    hf__free(s->holders.list);
    hf__free(s->line.list);
    s->holders = (struct hf__party_room){0};
    s->line = (struct hf__party_room){0};
}

static void note_gone(struct hf__gone *gone, const struct hf__token *token)
{
    if (gone->n < HF__GONE_MAX && !hf__token_is_zero(token)) {
        gone->token[gone->n++] = *token;
    }
}

static bool is_of(const struct hf__entrant *claim,
                  const struct hf__token *token)
{
    return !hf__token_is_zero(token) && hf__token_equal(token, claim->token);
}

static int ended(int rc)
{
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- grants */

static bool is_slot_taken(const struct hf__party_room *holders, int slot)
{
    for (int i = 0; slot >= 0 && i < holders->n; i++) {
        if (holders->list[i].slot == slot) {
            return true;
        }
    }
    return false;
}

/* One grant beside others. True: what it means for the claim is decided. */
static bool weigh_grant(struct hf__sqlite *s, const struct hf__entrant *claim,
                        const struct hf__row *row, struct hf__entry_view *view)
{
    if (row->is_broken || is_of(claim, &row->token)) {
        return false;
    }
    if (row->standing == HF__STANDS_DAMAGED ||
        (!hf__row_is_free(row) && is_slot_taken(&s->holders, row->slot))) {
        view->is_damaged = true;
        return true;
    }
    if (hf__row_is_free(row)) {
        /* What has lapsed goes by its time; of the others the leases run. */
        if (row->standing != HF__STANDS_EXPIRED) {
            note_gone(&view->grants, &row->token);
        }
        return false;
    }
    if (s->holders.n == 0) {
        view->holder = *row;
    }
    return !hf__manners_agree(row->manner, claim->manner);
}

/* Those that matter. A shared claim does not mind the shared. */
static int read_grants(struct hf__sqlite *s, const struct hf__entrant *claim,
                       struct hf__entry_view *view)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE);
    bool is_over = false;
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, claim->key);
    if (claim->manner.mode == HF__MODE_SHARED) {
        (void)sqlite3_bind_int(statement, 2, HF__MODE_SHARED);
    } else {
        (void)sqlite3_bind_null(statement, 2);
    }
    while (!is_over && rc == SQLITE_ROW &&
           (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        struct hf__row row;
        bool has_counted;

        hf__row_read_grant(s, statement, &row, NULL);
        is_over = weigh_grant(s, claim, &row, view);
        has_counted = !hf__row_is_free(&row) && !row.is_broken &&
                      row.standing != HF__STANDS_DAMAGED;
        if (has_counted) {
            rc = push(&s->holders,
                      &(struct hf__stand){row.token, row.manner, row.slot});
            rc = rc == SQLITE_OK ? SQLITE_ROW : rc;
        }
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

/* ---- tickets */

/* How far the line is read. */
struct extent {
    const struct hf__entrant *claim;
    int max;
};

/* True: what follows does not matter. */
static bool weigh_ticket(struct hf__sqlite *s, const struct extent *extent,
                         const struct hf__ticket *ticket,
                         struct hf__entry_view *view)
{
    const struct hf__entrant *claim = extent->claim;
    bool is_mine = is_of(claim, &ticket->token);
    bool is_in_way = !hf__manners_agree(ticket->manner, claim->manner) ||
                     (claim->manner.mode == HF__MODE_SLOTS &&
                      s->line.n >= claim->manner.slots);

    if (view->ticket.presence == HF__LEFT_LINE && !is_mine && is_in_way) {
        view->ticket = *ticket;
    }
    return s->line.n >= extent->max ||
           (!claim->is_whole && (is_mine || is_in_way));
}

static int read_line(struct hf__sqlite *s, const struct extent *extent,
                     struct hf__entry_view *view)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_LINE);
    bool is_over = false;
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, extent->claim->key);
    while (!is_over && rc == SQLITE_ROW &&
           (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        struct hf__ticket ticket;
        bool is_mine;

        hf__line_read(s, statement, &ticket, NULL);
        is_mine = is_of(extent->claim, &ticket.token);
        if (ticket.presence == HF__LEFT_LINE && !is_mine) {
            note_gone(&view->tickets, &ticket.token);
        }
        if (ticket.presence != HF__IN_LINE && !is_mine) {
            continue;
        }
        rc = push(&s->line,
                  &(struct hf__stand){ticket.token, ticket.manner, -1});
        rc = rc == SQLITE_OK ? SQLITE_ROW : rc;
        is_over = weigh_ticket(s, extent, &ticket, view);
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

/* ---- views */

static void begin(struct hf__sqlite *s, struct hf__entry_view *view)
{
    *view = (struct hf__entry_view){
        .entry = HF__ENTRY_OPEN,
        .slot = -1,
        .ticket = {.presence = HF__LEFT_LINE},
    };
    hf__row_clear(&view->holder, NULL);
    s->holders.n = 0;
    s->line.n = 0;
}

static void show(struct hf__sqlite *s, struct hf__entry_view *view)
{
    view->stands = (struct hf__stands){s->holders.list, s->holders.n,
                                       s->line.list, s->line.n};
}

int hf__entry_view(struct hf__sqlite *s, const struct hf__row *name,
                   const struct hf__entrant *claim,
                   struct hf__entry_view *ret_view)
{
    const struct extent extent = {claim, INT32_MAX};
    int rc = SQLITE_OK;

    begin(s, ret_view);
    if (name->has_beside) {
        rc = read_grants(s, claim, ret_view);
    }
    if (rc == SQLITE_OK && name->has_line) {
        rc = read_line(s, &extent, ret_view);
    }
    show(s, ret_view);
    if (rc == SQLITE_OK) {
        ret_view->entry = hf__may_enter(&ret_view->stands, claim->token,
                                        claim->manner, &ret_view->slot);
    }
    return rc;
}

int hf__entry_clean(struct hf__sqlite *s, const struct hf__key *key,
                    const struct hf__entry_view *view, bool with_grants)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < view->tickets.n && rc == SQLITE_OK; i++) {
        rc = hf__line_leave(s, key, &view->tickets.token[i], NULL);
    }
    for (int i = 0; with_grants && i < view->grants.n && rc == SQLITE_OK; i++) {
        rc = hf__beside_leave(s, key, &view->grants.token[i]);
    }
    return rc;
}

/* ---- waking */

static void ring(struct hf__sqlite *s, const struct hf__token *token)
{
    if (s->n_rings < HF__RINGS_MAX) {
        s->rings[s->n_rings++] = *token;
    }
}

/* The first in line who may enter, up to the first who may not. */
static void ring_heads(struct hf__sqlite *s, struct hf__entry_view *view)
{
    show(s, view);
    for (int i = 0; i < s->line.n; i++) {
        const struct hf__stand *head = &s->line.list[i];
        int slot = -1;
        enum hf__entry entry =
            hf__may_enter(&view->stands, &head->token, head->manner, &slot);

        if (entry == HF__ENTRY_HELD || entry == HF__ENTRY_PROMISED) {
            return;
        }
        ring(s, &head->token);
    }
}

int hf__entry_ring(struct hf__sqlite *s, const struct hf__key *key,
                   struct hf__outcome *out)
{
    static const struct hf__token nobody;
    struct hf__entrant first = {key, &nobody, {HF__MODE_EXCLUSIVE, 0}, true};
    const struct extent extent = {&first, HEADS};
    struct hf__entry_view view;
    struct hf__row name;
    int rc = hf__row_get(s, key, &name, NULL);

    begin(s, &view);
    if (rc == SQLITE_OK && name.has_line) {
        rc = read_line(s, &extent, &view);
    }
    if (rc != SQLITE_OK || s->line.n == 0) {
        return rc;
    }
    /* Those outside the line are not to be told, but look by themselves. */
    out->is_freed = false;
    out->is_opened = false;
    out->is_taken = true;
    if (!hf__row_is_free(&name)) {
        return SQLITE_OK;
    }
    first.manner = s->line.list[0].manner;
    if (name.has_beside) {
        rc = read_grants(s, &first, &view);
    }
    if (rc == SQLITE_OK) {
        ring_heads(s, &view);
    }
    return rc;
}

/* ---- for people */

/* To whom: all to the crowd, or (NULL) the first to the record, of one in line
 * that there is one. */
struct audience {
    struct hf__crowd *crowd;
    struct hf__record *record;
};

/* True: enough was told, or (*ret_rc) could not be. */
static bool tell(const struct audience *to, const struct hf__party *party,
                 int *ret_rc)
{
    if (to->crowd != NULL) {
        bool is_told = hf__crowd_add(to->crowd, party) == HF_OK;

        *ret_rc = is_told ? *ret_rc : SQLITE_NOMEM;
        return !is_told;
    }
    if (party->is_waiting) {
        to->record->is_promised = true;
    } else {
        *to->record = party->record;
    }
    return true;
}

/* Those of holdfast_beside who are there, in the order of the statement. */
static int tell_grants(struct hf__sqlite *s, const struct hf__key *key,
                       const struct audience *to)
{
    bool is_all = to->crowd != NULL;
    sqlite3_stmt *statement =
        hf__sql(s, is_all ? HF__SQL_BESIDE_SORTED : HF__SQL_BESIDE);
    bool is_over = false;
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    if (!is_all) {
        (void)sqlite3_bind_int(statement, 2, -1);
    }
    while (!is_over && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        struct hf__party party = {0};
        struct hf__row row;

        hf__row_read_grant(s, statement, &row, &party.record);
        if (!party.record.is_held || row.is_broken) {
            continue;
        }
        is_over = tell(to, &party, &rc);
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

/* The same of the line. */
static int tell_line(struct hf__sqlite *s, const struct hf__key *key,
                     const struct audience *to)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_LINE);
    bool is_over = false;
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, key);
    while (!is_over && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        struct hf__ticket ticket;
        struct hf__party party;

        hf__line_read(s, statement, &ticket, &party);
        if (ticket.presence != HF__IN_LINE) {
            continue;
        }
        is_over = tell(to, &party, &rc);
    }
    (void)sqlite3_reset(statement);
    return ended(rc);
}

int hf__entry_tell(struct hf__sqlite *s, const struct hf__key *key,
                   const struct hf__row *name, struct hf__record *record)
{
    const struct audience to = {NULL, record};
    int rc = SQLITE_OK;

    if (record == NULL || record->is_held || record->is_kept) {
        return SQLITE_OK;
    }
    if (name->has_beside) {
        rc = tell_grants(s, key, &to);
    }
    if (rc == SQLITE_OK && name->has_line && !record->is_held) {
        rc = tell_line(s, key, &to);
    }
    record->fence = name->fence;
    return rc;
}

int hf__entry_tell_all(struct hf__sqlite *s, const struct hf__key *key,
                       const struct hf__row *name, struct hf__crowd *crowd)
{
    struct hf__record first; /* of nobody: there is a crowd */
    const struct audience to = {crowd, &first};
    int rc = SQLITE_OK;

    if (name->has_beside) {
        rc = tell_grants(s, key, &to);
    }
    if (rc == SQLITE_OK && name->has_line) {
        rc = tell_line(s, key, &to);
    }
    return rc;
}
