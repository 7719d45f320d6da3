/* SPDX-License-Identifier: MIT */
/*
 * gc(): delete the records of names that nobody uses any more, a few at a
 * time, so that no renewal waits long for the write lock. Which record is
 * idle is decided here, by the same judgement as a grant's. Called by the
 * session's thread.
 */
#include "src/backend/sqlite/fence.h"
#include "src/backend/sqlite/gate.h"
#include "src/backend/sqlite/line.h"
#include "src/backend/sqlite/pool.h"
#include "src/backend/sqlite/row.h"
#include "src/backend/sqlite/space.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* So many records are looked at in one transaction. */
#define CHUNK 128
/* And so many such in one call. */
#define CHUNKS 16

struct name {
    char bytes[HF__KEY_MAX + 1];
    int length;
    bool has_more; /* in the other tables */
};

struct sweep {
    int64_t idle_us;
    struct name from; /* looked at next */
    struct name end;
    struct name idle[CHUNK];
    int n_idle;
    int n_expired;    /* of these */
    bool has_expired; /* the name just read: nobody gave a grant of it back */
    uint64_t highest; /* fence of those */
    bool is_over;
};

static void sweep_free(struct sweep **sweep)
{
    hf__free(*sweep);
}

static void bind_name(sqlite3_stmt *statement, int at, const struct name *name)
{
    (void)sqlite3_bind_text(statement, at, name->bytes, name->length,
                            SQLITE_STATIC);
}

/* False: no memory. */
static bool read_name(sqlite3_stmt *statement, struct name *name)
{
    const void *key = sqlite3_column_text(statement, 0);

    if (key != NULL) {
        name->length = sqlite3_column_bytes(statement, 0);
        memcpy(name->bytes, key, (size_t)name->length);
    }
    return key != NULL;
}

static int64_t lapsed_us(const struct hf__row *row)
{
    return row->standing == HF__STANDS_EXPIRED ? -row->remaining_us : INT64_MAX;
}

/* Does a row of one of the other tables keep its name from being idle? */
static bool is_needed(const struct hf__sqlite *s, sqlite3_stmt *statement,
                      bool is_ticket, struct sweep *w)
{
    struct hf__ticket ticket;
    struct hf__row row;

    if (is_ticket) {
        hf__line_read(s, statement, &ticket, NULL);
        return ticket.presence != HF__LEFT_LINE;
    }
    hf__row_read_grant(s, statement, &row, NULL);
    w->has_expired |= !row.is_broken;
    return !row.is_broken &&
           (!hf__row_is_free(&row) || lapsed_us(&row) < w->idle_us);
}

/* Is there any such row? */
static int look_for_needed(struct hf__sqlite *s, struct sweep *w,
                           enum hf__statement which, bool *ret_is_any)
{
    sqlite3_stmt *statement = hf__sql(s, which);
    int rc = SQLITE_ROW;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    bind_name(statement, 1, &w->from);
    if (which == HF__SQL_BESIDE) {
        (void)sqlite3_bind_null(statement, 2);
    }
    while (!*ret_is_any && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        *ret_is_any = is_needed(s, statement, which == HF__SQL_LINE, w);
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The name that was just read is idle: so, too, what else there is of it? */
static int add_if_idle(struct hf__sqlite *s, struct sweep *w,
                       const struct hf__row *row)
{
    bool is_needed_still = false;
    int rc = SQLITE_OK;

    w->has_expired = !hf__token_is_zero(&row->token);
    if (row->has_beside) {
        rc = look_for_needed(s, w, HF__SQL_BESIDE, &is_needed_still);
    }
    if (rc == SQLITE_OK && row->has_line) {
        rc = look_for_needed(s, w, HF__SQL_LINE, &is_needed_still);
    }
    if (rc == SQLITE_OK && !is_needed_still) {
        w->idle[w->n_idle] = w->from;
        w->idle[w->n_idle++].has_more = row->has_beside || row->has_line;
        w->n_expired += w->has_expired;
        w->highest = row->fence > w->highest ? row->fence : w->highest;
    }
    return rc;
}

/* The fence must be one that the clock has passed: it goes on from there. A
 * record that the clock has yet to reach waits, as one in the future does. */
static bool is_idle(const struct hf__sqlite *s, const struct hf__row *row,
                    int64_t touched_us, int64_t idle_us)
{
    return hf__row_is_free(row) && row->fence < (uint64_t)s->wall_us &&
           touched_us <= s->wall_us - idle_us && lapsed_us(row) >= idle_us;
}

/* Note which of the next records are idle, and where to go on. */
static int collect(struct hf__sqlite *s, struct sweep *w)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_SCAN);
    int seen = 0;
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    w->n_idle = 0;
    w->n_expired = 0;
    w->highest = 0;
    bind_name(statement, 1, &w->from);
    bind_name(statement, 2, &w->end);
    (void)sqlite3_bind_int(statement, 3, CHUNK);
    (void)sqlite3_bind_int(statement, 4, HF__KEY_MAX);
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        struct hf__row row;

        hf__row_read(s, statement, &row, NULL);
        if (!read_name(statement, &w->from)) {
            rc = SQLITE_NOMEM;
            break;
        }
        if (is_idle(s, &row, hf__row_touched_us(statement), w->idle_us)) {
            rc = add_if_idle(s, w, &row);
            if (rc != SQLITE_OK) {
                break;
            }
        }
        seen++;
    }
    (void)sqlite3_reset(statement);
    /* The next look begins just behind the last one. */
    if (seen > 0) {
        w->from.bytes[w->from.length++] = '\0';
    }
    w->is_over = seen < CHUNK;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int delete_from(struct hf__sqlite *s, enum hf__statement which,
                       const struct name *name)
{
    sqlite3_stmt *statement = hf__sql(s, which);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    bind_name(statement, 1, name);
    return hf__sql_run(s, which);
}

static int delete_idle(struct hf__sqlite *s, const struct sweep *w)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < w->n_idle && rc == SQLITE_OK; i++) {
        const struct name *name = &w->idle[i];

        if (name->has_more) {
            rc = delete_from(s, HF__SQL_BESIDE_DELETE, name);
        }
        if (rc == SQLITE_OK && name->has_more) {
            rc = delete_from(s, HF__SQL_LINE_DELETE, name);
        }
        if (rc == SQLITE_OK) {
            rc = delete_from(s, HF__SQL_DELETE, name);
        }
    }
    return rc;
}

static int transact(struct hf__sqlite *s, struct sweep *w)
{
    int rc = hf__sqlite_begin_write(s);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = collect(s, w);
    if (rc == SQLITE_OK) {
        rc = delete_idle(s, w);
    }
    if (rc == SQLITE_OK && w->n_idle > 0) {
        rc = hf__fence_forget(s, w->highest);
    }
    if (rc == SQLITE_OK) {
        rc = hf__space_commit(s);
    }
    hf__sql_undo(s);
    return rc;
}

static int sweep_chunk(struct hf__sqlite *s, struct sweep *w)
{
    struct hf__gate_at gate = hf__side_gate(s->side);
    unsigned ticket;
    int rc;

    if (hf__is_interrupted(&s->head) ||
        hf__gate_enter(gate, &s->head, s->deadline, &ticket)) {
        return SQLITE_BUSY;
    }
    rc = transact(s, w);
    hf__gate_leave(gate, ticket);
    return rc;
}

static int sweep(struct hf__sqlite *s, struct sweep *w, struct hf__gc *g)
{
    int rc = SQLITE_OK;

    for (int i = 0; i < CHUNKS && !w->is_over && rc == SQLITE_OK; i++) {
        rc = sweep_chunk(s, w);
        if (rc == SQLITE_OK) {
            g->count += (uint64_t)w->n_idle;
            g->expired += (uint64_t)w->n_expired;
        }
    }
    return rc;
}

static void set_name(struct name *name, const char *bytes, size_t length)
{
    memcpy(name->bytes, bytes, length);
    name->length = (int)length;
}

int hf__sqlite_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                  hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    HF_AUTO(sweep_free) struct sweep *w = hf__alloc(sizeof *w);
    int rc;
    int r;

    if (w == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    hf__sqlite_begin(s, deadline, err);
    w->idle_us = g->idle_us;
    /* No byte of UTF-8 is as high as the one that ends the range. */
    set_name(&w->end, prefix->bytes, prefix->length);
    w->end.bytes[w->end.length++] = (char)0xff;
    set_name(&w->from, g->length > 0 ? g->at : prefix->bytes,
             g->length > 0 ? g->length : prefix->length);
    hf__pool_take(s);
    rc = sweep(s, w, g);
    g->length = w->is_over ? 0 : (size_t)w->from.length;
    memcpy(g->at, w->from.bytes, g->length);
    if (s->moved_file >= 0) {
        return hf__sqlite_fail_moved(s, s->moved_file, err);
    }
    r = hf__sql_status(s, rc, err);
    if (r == HF_OK) {
        hf__pool_give(s);
    }
    return r;
}
