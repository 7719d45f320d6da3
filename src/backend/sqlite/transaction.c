/* SPDX-License-Identifier: MIT */
/*
 * A change of the database: its transaction begins with the files checked and
 * the clocks read, and is committed with three things taken care of. The
 * database gets its disk blocks through SQLite's own file controls, as we may
 * open no descriptor on it. The ceiling of fences is in the one row of
 * holdfast_meta. Side effects outside the database are done or undone. Called
 * by the session's thread.
 */
#include "src/backend/sqlite/transaction.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* More raises than this in a row mean that the ceiling does not hold. */
#define RAISES_MAX 3

/* ---- limits */

bool hf__sqlite_has_moved(struct hf__sqlite *s)
{
    hf__time looked_at = s->watch.looked_at;
    struct hf__side_hot seen;

    s->moved_file = hf__sqlite_dir_changed(&s->sqlite_dir, &s->watch);
    /* The header of the side file is checked as often as the folder is. */
    if (s->moved_file < 0 && s->watch.looked_at.ns != looked_at.ns &&
        !hf__side_look(s->local.side, &seen)) {
        s->watch.looked_at = looked_at;
        s->moved_file = HF__FILE_SIDE;
    }
    return s->moved_file >= 0;
}

void hf__sqlite_set_clock(struct hf__sqlite *s)
{
    s->now_us = hf__now().ns / 1000;
    s->wall_us = hf__wall_us();
}

void hf__sqlite_begin(struct hf__sqlite *s, hf__time deadline, hf_error *err)
{
    s->local.engine_session.deadline = deadline;
    s->err = err;
    s->moved_file = -1;
}

/* ---- blocks */

/* How long merging waits for readers: ours read for microseconds, another
 * program may read for hours. */
#define MERGE_MS 10

/* The size of all pages in the running transaction. */
static int count_bytes(struct hf__sqlite *s, int64_t *ret_bytes)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_PAGES);
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    rc = sqlite3_step(statement);
    *ret_bytes = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_reset(statement);
    *ret_bytes *= s->db->page_size;
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* The length of the database on the disk; −1: unknown. */
static int64_t length_of(struct hf__sqlite *s)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 length = -1;

    if (sqlite3_file_control(s->db->handle, "main", SQLITE_FCNTL_FILE_POINTER,
                             &file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL ||
        file->pMethods->xFileSize(file, &length) != SQLITE_OK) {
        return -1;
    }
    return length;
}

/* Give the database blocks for `bytes`. SQLite heeds the size hint only while a
 * chunk size is set. The chunk is one page, so that a database that has its
 * blocks needs no more of them. It is unset again, as SQLite would round up to
 * it when it truncates too, which leaves holes. */
static int grow(struct hf__sqlite *s, int64_t bytes)
{
    int chunk = (int)s->db->page_size;
    sqlite3_int64 hint = bytes;
    int rc = sqlite3_file_control(s->db->handle, "main",
                                  SQLITE_FCNTL_CHUNK_SIZE, &chunk);

    if (rc == SQLITE_OK) {
        rc = sqlite3_file_control(s->db->handle, "main", SQLITE_FCNTL_SIZE_HINT,
                                  &hint);
    }
    chunk = 0;
    (void)sqlite3_file_control(s->db->handle, "main", SQLITE_FCNTL_CHUNK_SIZE,
                               &chunk);
    /* A VFS that does not know the hint cannot allocate blocks: then the log is
     * all that a change needs blocks for. */
    return rc == SQLITE_OK || rc == SQLITE_NOTFOUND ? SQLITE_OK : SQLITE_FULL;
}

int hf__space_begin(struct hf__sqlite *s)
{
    int rc = hf__sql_run(s, HF__SQL_BEGIN_WRITE);

    if (rc == SQLITE_OK && s->db->page_size == 0) {
        rc = hf__sql_number(s, "PRAGMA page_size", &s->db->page_size);
    }
    return rc == SQLITE_OK ? count_bytes(s, &s->db->bytes_before) : rc;
}

/* Another program may have merged the log just before the commit, and truncated
 * the blocks that were allocated: then the pages themselves must be merged. */
static void settle(struct hf__sqlite *s, int64_t bytes)
{
    if (length_of(s) < bytes) {
        (void)sqlite3_wal_checkpoint_v2(s->db->handle, "main",
                                        SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    if (length_of(s) >= bytes) {
        s->db->bytes = bytes;
    }
}

int hf__space_commit(struct hf__sqlite *s)
{
    int64_t bytes = 0;
    int rc = count_bytes(s, &bytes);

    /* SQLite may lengthen the file by writing a zero into each block behind its
     * end. If the file lacks pages that are committed, another program may be
     * merging them just now. Then the growing is left to that merge, so that
     * nothing is overwritten. */
    if (rc == SQLITE_OK && bytes > s->db->bytes &&
        length_of(s) >= s->db->bytes_before) {
        rc = grow(s, bytes);
    }
    if (rc == SQLITE_OK) {
        rc = hf__sql_run(s, HF__SQL_COMMIT);
    }
    /* The blocks of a change that failed are truncated at the next merge. */
    if (rc == SQLITE_OK && bytes > s->db->bytes) {
        settle(s, bytes);
    } else if (rc == SQLITE_OK) {
        s->db->bytes = bytes;
    }
    return rc;
}

/* Called outside of a transaction after a change found no room: merge, so that
 * the next change begins at the start of the log, if nobody reads in it. */
static void merge_log(struct hf__sqlite *s)
{
    hf__time deadline = s->local.engine_session.deadline;
    int rc = SQLITE_BUSY;

    /* The busy handler uses this deadline too, but SQLite does not call it
     * while another program merges. */
    s->local.engine_session.deadline =
        hf__earlier(deadline, hf__after_ms(hf__now(), MERGE_MS));
    while (rc == SQLITE_BUSY &&
           hf__before(hf__now(), s->local.engine_session.deadline)) {
        rc = sqlite3_wal_checkpoint_v2(s->db->handle, "main",
                                       SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        if (rc == SQLITE_BUSY) {
            hf__sleep_until(hf__after_ns(hf__now(), HF__MS / 2));
        }
    }
    s->local.engine_session.deadline = deadline;
}

/* ---- fences */

/* A minute in microseconds: one synced commit lasts this long. */
#define ROOM UINT64_C(60000000)

struct meta {
    uint64_t base;
    uint64_t ceiling;
    bool is_of_this_boot;
};

static uint64_t unsigned_of(int64_t number)
{
    return number > 0 ? (uint64_t)number : 0;
}

static int get_meta(struct hf__sqlite *s, struct meta *ret_meta)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_GET_META);
    int rc;

    *ret_meta = (struct meta){0, 0, false};
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        const unsigned char *boot = sqlite3_column_text(statement, 0);

        ret_meta->is_of_this_boot =
            boot != NULL &&
            strncmp((const char *)boot, s->local.boot, HF__BOOT_ID_LENGTH) == 0;
        ret_meta->base = unsigned_of(sqlite3_column_int64(statement, 1));
        ret_meta->ceiling = unsigned_of(sqlite3_column_int64(statement, 2));
    }
    (void)sqlite3_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Called inside the synced transaction. Another session may have raised the
 * ceiling by now: whatever can be read here was synced before it became
 * readable. */
static int raise_locked(struct hf__sqlite *s, uint64_t wanted)
{
    const struct hf__value boot = {SQLITE_TEXT, 0, s->local.boot,
                                   HF__BOOT_ID_LENGTH};
    struct meta meta;
    int rc = get_meta(s, &meta);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!meta.is_of_this_boot) {
        meta.base = meta.ceiling + 1;
    }
    if (!meta.is_of_this_boot || meta.ceiling < wanted) {
        uint64_t least = wanted > meta.base ? wanted : meta.base;

        meta.ceiling = hf__fence_after(least, hf__wall_us()) + ROOM;
        rc = HF__SQL_RUN(s, HF__SQL_PUT_META, boot,
                         hf__value_of((int64_t)meta.base),
                         hf__value_of((int64_t)meta.ceiling));
    }
    if (rc == SQLITE_OK) {
        rc = hf__sql_run(s, HF__SQL_COMMIT);
    }
    if (rc == SQLITE_OK) {
        s->fence_base = meta.base;
        s->fence_ceiling = meta.ceiling;
    }
    return rc;
}

/* Called outside a transaction: raise well above s->fence_wanted. */
static int raise_ceiling(struct hf__sqlite *s)
{
    uint64_t wanted = s->fence_wanted;
    int rc;

    s->fence_wanted = 0;
    /* Not a prepared statement: this pragma acts when it is compiled. */
    rc = sqlite3_exec(s->db->handle, "PRAGMA synchronous=FULL", NULL, NULL,
                      NULL);
    if (rc == SQLITE_OK) {
        rc = hf__sql_run(s, HF__SQL_BEGIN_WRITE);
    }
    if (rc == SQLITE_OK) {
        rc = raise_locked(s, wanted);
    }
    hf__sql_undo(s);
    (void)sqlite3_exec(s->db->handle, "PRAGMA synchronous=NORMAL", NULL, NULL,
                       NULL);
    return rc;
}

int hf__fence_open(struct hf__sqlite *s)
{
    struct meta meta;
    int rc = get_meta(s, &meta);

    if (rc != SQLITE_OK) {
        return rc;
    }
    s->fence_base = meta.base;
    s->fence_ceiling = meta.ceiling;
    return meta.is_of_this_boot ? SQLITE_OK : raise_ceiling(s);
}

bool hf__fence_may_be(struct hf__sqlite *s, uint64_t fence)
{
    if (fence <= s->fence_ceiling) {
        return true;
    }
    s->fence_wanted = fence;
    return false;
}

int hf__fence_forget(struct hf__sqlite *s, uint64_t highest)
{
    return HF__SQL_RUN(s, HF__SQL_RAISE_BASE,
                       hf__value_of((int64_t)highest + 1));
}

int64_t hf__fence_floor(struct hf__sqlite *s, bool has_record)
{
    struct meta meta;

    /* The name's record may have been deleted since this session read the
     * base. */
    if (!has_record && get_meta(s, &meta) == SQLITE_OK &&
        meta.base > s->fence_base) {
        s->fence_base = meta.base;
    }
    return s->wall_us > (int64_t)s->fence_base ? s->wall_us
                                               : (int64_t)s->fence_base;
}

/* ---- side effects */

int hf__side_effects_reserve(struct hf__sqlite *s, hf_error *err)
{
    s->effects.room = 2 * HF__SQLITE_BATCH;
    s->effects.list =
        hf__alloc((size_t)s->effects.room * sizeof *s->effects.list);
    return s->effects.list != NULL ? HF_OK
                                   : hf__fail(err, HF_ENOMEM, "out of memory");
}

int hf__side_effects_note(struct hf__sqlite *s,
                          const struct hf__side_effect *effect)
{
    struct hf__side_effects *effects = &s->effects;

    if (effects->n == effects->room) {
        size_t room = 2 * (size_t)effects->room;
        struct hf__side_effect *list =
            hf__resize(effects->list, room * sizeof *list);

        if (list == NULL) {
            return SQLITE_NOMEM;
        }
        effects->list = list;
        effects->room = (int)room;
    }
    effects->list[effects->n++] = *effect;
    return SQLITE_OK;
}

static void do_one(struct hf__sqlite *s, const struct hf__side_effect *effect)
{
    struct hf__side *side = s->local.side;

    switch (effect->kind) {
    case HF__EFFECT_HELD:
        break;
    case HF__EFFECT_LET_GO:
        hf__held_remove(&side->held, NULL, &effect->token);
        break;
    case HF__EFFECT_EXTEND:
        (void)hf__held_extend(&side->held, NULL, &effect->token,
                              effect->ends_us);
        break;
    case HF__EFFECT_BROKEN:
        hf__breaks_tell(&side->words, HF__SIDE_OFFSET(breaks), &effect->token,
                        effect->life);
        break;
    case HF__EFFECT_NOTIFY:
        hf__wake_table_notify(&side->wake_view,
                              hf__wake_key_of_ticket(&effect->token));
        break;
    case HF__EFFECT_FREED:
        hf__wake_table_freed(&side->wake_view,
                             hf__wake_key_of(&effect->op->key));
        break;
    case HF__EFFECT_OPENED:
        hf__wake_table_notify(&side->wake_view,
                              hf__wake_key_of(&effect->op->key));
        break;
    case HF__EFFECT_TAKEN:
        hf__sleep_slot_tell_taken(&s->local.sleep_slot, &side->wake_view,
                                  effect->op);
        break;
    }
}

void hf__side_effects_do(struct hf__sqlite *s)
{
    for (int i = 0; i < s->effects.n; i++) {
        do_one(s, &s->effects.list[i]);
    }
    s->effects.n = 0;
}

static void undo_effects(struct hf__sqlite *s)
{
    for (int i = 0; i < s->effects.n; i++) {
        if (s->effects.list[i].kind == HF__EFFECT_HELD) {
            hf__held_remove(&s->local.side->held, NULL,
                            &s->effects.list[i].token);
        }
    }
    s->effects.n = 0;
}

/* ---- a transaction */

/* May a change whose commit failed still last? SQLite undoes what it could not
 * commit. But after an error of the device the frames may be in the log
 * nevertheless, and be found when it is next read from the start. The same
 * holds if the log was written and its index could not grow, whether for want
 * of space or not. */
static bool may_last(const struct hf__sqlite *s, int rc)
{
    switch (rc) {
    case SQLITE_OK:
        return false;
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP:
    case SQLITE_IOERR_SHMOPEN:
        return true;
    default:
        return (rc & 0xff) == SQLITE_IOERR && !hf__sql_is_full(s, rc);
    }
}

/* SQLITE_OK also if there was nothing to commit. */
static int transact(struct hf__sqlite *s, struct hf__txn *txn)
{
    int rc = hf__space_begin(s);

    txn->is_unknown = false;
    s->is_hasty = false;
    s->fence_wanted = 0;
    s->effects.n = 0;
    if (rc == SQLITE_OK && hf__sqlite_has_moved(s)) {
        rc = SQLITE_READONLY_DBMOVED;
    }
    if (rc == SQLITE_OK) {
        hf__sqlite_set_clock(s);
        rc = txn->fn(s, txn->arg);
    }
    if (rc == SQLITE_OK) {
        rc = hf__space_commit(s);
        txn->is_unknown = may_last(s, rc);
    }
    hf__sql_undo(s);
    if (rc == SQLITE_DONE) {
        return SQLITE_OK;
    }
    if (rc != SQLITE_OK && !txn->is_unknown) {
        undo_effects(s);
    }
    return rc;
}

int hf__txn_once(struct hf__sqlite *s, struct hf__txn *txn)
{
    int rc = transact(s, txn);

    for (int raises = 0; rc == HF__SQLITE_RAISE_FIRST && s->fence_wanted != 0 &&
                         raises < RAISES_MAX;
         raises++) {
        rc = raise_ceiling(s);
        if (rc == SQLITE_OK) {
            rc = transact(s, txn);
        }
    }
    return rc;
}

/* All tries are in one turn, so that no other writer in the queue uses the room
 * that was made. */
int hf__txn_queue(struct hf__sqlite *s, struct hf__txn *txn)
{
    struct hf__write_queue_at write_queue = hf__side_write_queue(s->local.side);
    unsigned ticket;
    int rc;

    if (hf__write_queue_enter(write_queue, &s->local.engine_session.head,
                              s->local.engine_session.deadline, &ticket)) {
        return SQLITE_BUSY;
    }
    rc = hf__txn_once(s, txn);
    if (hf__sql_is_full(s, rc) && !txn->is_unknown) {
        merge_log(s);
        rc = hf__txn_once(s, txn);
    }
    if (hf__sql_is_full(s, rc) && !txn->is_unknown && txn->is_modest) {
        hf__side_drop_ballast(s->local.side);
        merge_log(s);
        rc = hf__txn_once(s, txn);
    }
    hf__write_queue_leave(write_queue, ticket);
    return rc;
}

int hf__txn_tell(const struct hf__sqlite *s, const struct hf__txn *txn, int rc,
                 hf_error *err)
{
    return txn->is_unknown
               ? hf__fail_native(err, HF_EUNKNOWN, rc,
                                 "%s could not be written (%s); whether the "
                                 "change will last is not known",
                                 s->sqlite_dir.path[HF__FILE_DB],
                                 sqlite3_errstr(rc))
               : hf__sql_status(s, rc, err);
}

int hf__txn_end(const struct hf__sqlite *s, const struct hf__txn *txn, int rc)
{
    if (txn->is_unknown) {
        return hf__fail_native(s->err, HF_EUNAVAIL, rc, "cannot write %s: %s",
                               s->sqlite_dir.path[HF__FILE_DB],
                               sqlite3_errstr(rc));
    }
    return hf__sql_is_fatal(s, rc) ? hf__sql_status(s, rc, s->err) : HF_OK;
}
