/* SPDX-License-Identifier: MIT */
/*
 * The SQLite store's primitives for the engine, and scans of all names with a
 * prefix, for list() and gc(). The latter deletes the records of unused names,
 * a few at a time, so that no renewal waits long for the write lock. Called by
 * the session's thread.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/sqlite/transaction.h"
#include "src/backend/sqlite/write_queue.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* ---- waiting */

static void begin(void *state)
{
    struct hf__sqlite *s = state;

    hf__pool_take(s);
    s->rc = SQLITE_OK;
    s->is_unfit = false;
    hf__sqlite_set_clock(s);
}

static void end(void *state)
{
    struct hf__sqlite *s = state;

    if (!s->is_unfit && !hf__sql_is_fatal(s, s->rc)) {
        hf__pool_give(s);
    }
}

static int look_around(void *state, hf_error *err)
{
    struct hf__sqlite *s = state;

    return hf__sqlite_has_moved(s)
               ? hf__sqlite_fail_moved(s, s->moved_file, err)
               : HF_OK;
}

/* ---- reading */

/* One transaction scans this many names. */
#define CHUNK 128
/* One call of gc() runs this many transactions at most. */
#define CHUNKS 16

struct names {
    struct {
        char bytes[HF__KEY_MAX];
        uint16_t length;
    } list[CHUNK];
    int n;
};

static void names_free(struct names **names)
{
    hf__free(*names);
}

static int read_keys(struct hf__sqlite *s, const struct hf__scan *scan,
                     struct names *names)
{
    const struct hf__key *prefix = scan->prefix;
    const struct hf__key at = {scan->at, (uint16_t)scan->length, 0};
    char beyond[HF__KEY_MAX + 1];
    const struct hf__key before = {beyond, (uint16_t)(prefix->length + 1), 0};
    sqlite3_stmt *statement;
    int rc;

    /* UTF-8 has no byte as high as the one that ends the range. */
    memcpy(beyond, prefix->bytes, prefix->length);
    beyond[prefix->length] = (char)0xff;
    statement = HF__SQL_WITH(
        s, HF__SQL_SCAN, hf__value_of_key(at.length > 0 ? &at : prefix),
        hf__value_of_key(&before), hf__value_of(CHUNK),
        hf__value_of(HF__KEY_MAX), hf__value_of(scan->is_to_clean));
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        const void *key = sqlite3_column_text(statement, 0);

        if (key == NULL) {
            rc = SQLITE_NOMEM;
            break;
        }
        names->list[names->n].length =
            (uint16_t)sqlite3_column_bytes(statement, 0);
        memcpy(names->list[names->n].bytes, key, names->list[names->n].length);
        names->n++;
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The next scan begins just behind the last name of this one. */
static void move_on(struct hf__scan *scan, const struct names *names)
{
    scan->length = 0;
    if (names->n == CHUNK) {
        scan->length = names->list[CHUNK - 1].length + 1U;
        memcpy(scan->at, names->list[CHUNK - 1].bytes, scan->length - 1);
        scan->at[scan->length - 1] = '\0';
    }
}

/* The names of one call are read from one state of the database. */
static int scan_names(void *state, struct hf__scan *scan, hf_error *err)
{
    struct hf__sqlite *s = state;
    HF_AUTO(names_free) struct names *names = hf__alloc(sizeof *names);
    int rc = names == NULL ? SQLITE_NOMEM : SQLITE_OK;
    int r = HF_OK;

    if (rc == SQLITE_OK && !scan->is_to_clean) {
        rc = hf__sql_run(s, HF__SQL_BEGIN_READ);
    }
    if (rc == SQLITE_OK) {
        rc = read_keys(s, scan, names);
    }

    for (int i = 0; rc == SQLITE_OK && r == HF_OK && i < names->n; i++) {
        const struct hf__key key = {names->list[i].bytes, names->list[i].length,
                                    scan->prefix->name_at};

        if (hf__local_is_over(&s->local)) {
            rc = SQLITE_BUSY;
            break;
        }
        rc = hf__sqlite_read(s, &key, NULL, HF__ALL_OF_IT);
        r = rc == SQLITE_OK ? scan->fn(scan->arg, &key, &s->name) : HF_OK;
        hf__name_fini(&s->name);
        rc = rc == SQLITE_OK ? s->rc : rc;
    }
    if (!scan->is_to_clean) {
        hf__sql_undo(s);
    }
    if (rc != SQLITE_OK) {
        s->rc = rc;
        return hf__sql_status(s, rc, err);
    }
    move_on(scan, names);
    return r;
}

/* ---- cleaning */

static int forget(void *state, const struct hf__key *key, struct hf__name *name,
                  int64_t idle_us)
{
    struct hf__sqlite *s = state;

    (void)idle_us;
    if (s->has_holders) {
        s->rc = HF__SQL_RUN(s, HF__SQL_HOLDERS_DELETE, hf__value_of_key(key));
    }
    if (s->rc == SQLITE_OK && s->has_waiters) {
        s->rc = HF__SQL_RUN(s, HF__SQL_WAITERS_DELETE, hf__value_of_key(key));
    }
    if (s->rc == SQLITE_OK) {
        s->rc = HF__SQL_RUN(s, HF__SQL_DELETE, hf__value_of_key(key));
    }
    s->highest = name->fence > s->highest ? name->fence : s->highest;
    return s->rc == SQLITE_OK ? HF_OK : HF__ABORTED;
}

/* ---- the primitives */

#define LOOK_NS (200 * HF__MS)
/* A waiter is told of another holder at once if that one came before the wait,
 * and else not earlier than this: a claim that tries after each grant to others
 * would write for nothing. */
#define NEWS_NS HF__SECOND

static struct hf__rules rules(void *state)
{
    const struct hf__sqlite *s = state;

    return (struct hf__rules){
        .life = s->local.side->life,
        .damaged = "the record of this lock in holdfast_lock or "
                   "holdfast_beside was changed by somebody else and makes no "
                   "sense; delete that row when nobody uses the lock",
        .foreign = HF__LOCAL_FOREIGN};
}

const struct hf__primitives hf__sqlite_primitives = {
    .rules = rules,
    .begin = begin,
    .end = end,
    .load = hf__sqlite_load,
    .put_down = hf__sqlite_put_down,
    .commit = hf__sqlite_commit,
    .show = hf__local_show,
    .scan = scan_names,
    .is_sorted = true,
    .forget = forget,
    .look_around = look_around,
    .let_in = hf__local_let_in,
    .seen = hf__local_seen,
    .park = hf__local_park,
    .news_ns = NEWS_NS,
    .look_ns = LOOK_NS,
};

/* ---- gc() */

/* The engine's primitives, inside a transaction that runs already. */
static int clean_locks(struct hf__sqlite *s, const struct hf__key *prefix,
                       struct hf__gc *g)
{
    struct hf__primitives inside = hf__sqlite_primitives;

    inside.begin = NULL;
    inside.end = NULL;
    s->rc = SQLITE_OK;
    s->highest = 0;
    if (hf__engine_gc(&inside, s, prefix, g, NULL) != HF_OK) {
        return s->rc != SQLITE_OK ? s->rc : SQLITE_NOMEM;
    }
    return s->highest > 0 ? hf__fence_forget(s, s->highest) : SQLITE_OK;
}

struct cleaning {
    const struct hf__key *prefix;
    const struct hf__gc *before;
    struct hf__gc after;
};

static int clean(struct hf__sqlite *s, void *arg)
{
    struct cleaning *c = arg;

    c->after = *c->before;
    return c->after.of_cells ? hf__sqlite_clean_cells(s, c->prefix, &c->after)
                             : clean_locks(s, c->prefix, &c->after);
}

int hf__sqlite_gc(void *state, const struct hf__key *prefix, struct hf__gc *g,
                  hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct cleaning c = {.prefix = prefix, .before = g};
    struct hf__txn txn = {.fn = clean, .arg = &c};
    int rc = SQLITE_OK;
    int r;

    hf__sqlite_begin(s, deadline, err);
    hf__pool_take(s);
    for (int i = 0; i < CHUNKS && rc == SQLITE_OK; i++) {
        rc = hf__is_interrupted(&s->local.engine_session.head)
                 ? SQLITE_BUSY
                 : hf__txn_queue(s, &txn);
        if (rc != SQLITE_OK) {
            break;
        }
        *g = c.after;
        if (g->length == 0) {
            break;
        }
    }
    r = hf__sql_status(s, rc, err);
    if (r == HF_OK) {
        hf__pool_give(s);
    }
    return r;
}
