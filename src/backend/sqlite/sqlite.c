/* SPDX-License-Identifier: MIT */
/*
 * The embedded default store, sqlite:PATH: one machine, no server. Here a
 * session is opened and closed, its calls begin, and the files it found are
 * checked against those that others use. See sqlite.h for where the rest is.
 * Called as backend.h says.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/registry.h"
#include "src/backend/sqlite/fence.h"
#include "src/backend/sqlite/header.h"
#include "src/backend/sqlite/inherit.h"
#include "src/backend/sqlite/pool.h"
#include "src/backend/sqlite/row.h"
#include "src/backend/sqlite/space.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <errno.h>
#include <stdio.h>

/* How long closing may wait for another program's transaction. */
#define PARTING_MS 100

int hf__sqlite_fail_moved(const struct hf__sqlite *s, int file, hf_error *err)
{
    return hf__fail(err, HF_EUNSAFE,
                    "%s was deleted, cut off or replaced while in use; "
                    "stop all programs that use %s, then start them again",
                    s->place.path[file], s->place.path[HF__FILE_DB]);
}

bool hf__sqlite_has_moved(struct hf__sqlite *s)
{
    hf__time looked_at = s->watch.looked_at;
    struct hf__threshold seen;

    s->moved_file = hf__place_changed(&s->place, &s->watch);
    /* As often as it looks itself. */
    if (s->moved_file < 0 && s->watch.looked_at.ns != looked_at.ns &&
        !hf__side_look(s->local.side, &seen)) {
        s->watch.looked_at = looked_at;
        s->moved_file = HF__FILE_SIDE;
    }
    return s->moved_file >= 0;
}

void hf__sqlite_begin(struct hf__sqlite *s, hf__time deadline, hf_error *err)
{
    s->local.plain.deadline = deadline;
    s->err = err;
    s->moved_file = -1;
}

int hf__sqlite_begin_write(struct hf__sqlite *s)
{
    int rc = hf__space_begin(s);

    s->is_hasty = false;
    if (rc != SQLITE_OK) {
        hf__sql_undo(s);
        return rc;
    }
    if (hf__sqlite_has_moved(s)) {
        hf__sql_undo(s);
        return SQLITE_READONLY_DBMOVED;
    }
    hf__sqlite_set_clock(s);
    return SQLITE_OK;
}

static struct hf__file_ids known_ids(const struct hf__sqlite *s)
{
    struct hf__file_ids known;

    hf__words_read(&s->local.side->words, HF__ON_SQLITE_BOARD(ids), &known,
                   sizeof known);
    return known;
}

/* Those that the database consists of. */
static int compare_ids(struct hf__sqlite *s, const struct hf__door *door,
                       const struct hf__file_ids *seen, hf_error *err)
{
    struct hf__file_ids known = known_ids(s);
    int differs = hf__ids_differ(&known, seen);

    if (door->has_others && differs >= 0) {
        return hf__sqlite_fail_moved(s, differs, err);
    }
    return HF_OK;
}

/* Nobody else is inside, so these files are the store from now on. So they
 * are if only such are inside as failed to open it, and are about to leave. */
static void bind_ids(struct hf__sqlite *s, const struct hf__door *door,
                     const struct hf__file_ids *seen)
{
    struct hf__file_ids ids = *seen;

    ids.file[HF__FILE_SIDE] = (struct hf__file_id){0, 0}; /* the door itself */
    if (!door->has_others || known_ids(s).file[HF__FILE_DB].ino == 0) {
        (void)hf__words_write(&s->local.side->words, HF__ON_SQLITE_BOARD(ids),
                              &ids, sizeof ids);
    }
}

static int open_database(struct hf__sqlite *s, hf_error *err)
{
    int rc;
    int r = hf__sql_open(s, err);

    if (r != HF_OK) {
        return r;
    }
    rc = hf__fence_open(s);
    return hf__sql_status(s, rc, err);
}

/* The database is open: is it the one that others find? */
static int settle(struct hf__sqlite *s, const struct hf__door *door,
                  hf_error *err)
{
    struct hf__file_ids seen;
    int r;

    hf__place_ids(&s->place, &seen);
    /* Replaced while SQLite opened it? Then ours is not what others find. */
    if (hf__ids_differ(&s->db->ids, &seen) == HF__FILE_DB) {
        return hf__sqlite_fail_moved(s, HF__FILE_DB, err);
    }
    r = compare_ids(s, door, &seen, err);
    if (r == HF_OK) {
        bind_ids(s, door, &seen);
        s->watch.expected = seen;
        s->db->ids = seen;
    }
    return r;
}

/* The last one out may have taken log and index away, as a shell does. For
 * those of a store that was there the ballast makes room: what is held in it
 * must be renewed. */
static int make_beside(struct hf__sqlite *s, bool was_there, hf_error *err)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__place_make_beside(&s->place, &why);

    if (was_there && (why.native == ENOSPC || why.native == EDQUOT)) {
        hf__side_drop_ballast(s->local.side);
        return hf__place_make_beside(&s->place, err);
    }
    if (r != HF_OK) {
        hf__error_copy(err, &why);
    }
    return r;
}

static int be_there(struct hf__sqlite *s, struct hf__door *door, hf_error *err)
{
    int r = hf__door_enter(&s->place, door, &s->local, err);
    struct hf__threshold seen;

    if (r == HF_OK && !hf__side_look(s->local.side, &seen)) {
        return hf__sqlite_fail_moved(s, HF__FILE_SIDE, err);
    }
    if (r == HF_OK) {
        (void)snprintf(s->life, sizeof s->life, "%llu:%llu:%0*llx",
                       (unsigned long long)s->local.side->id.dev,
                       (unsigned long long)s->local.side->id.ino,
                       HF__LIFE_DIGITS,
                       (unsigned long long)s->local.side->life);
    }
    return r;
}

/* With the door open: nobody else opens or makes anything meanwhile. */
static int enter(struct hf__sqlite *s, struct hf__door *door, hf_error *err)
{
    bool was_there = s->place.db_exists;
    struct hf__file_ids seen;
    int r = be_there(s, door, err);

    if (r != HF_OK) {
        return r;
    }
    hf__place_ids(&s->place, &seen);
    r = compare_ids(s, door, &seen, err);
    if (r == HF_OK) {
        r = hf__place_create_db(&s->place, err);
    }
    if (r == HF_OK) {
        r = make_beside(s, was_there, err);
    }
    if (r == HF_OK) {
        r = hf__header_prepare(&s->place, s->local.plain.deadline, err);
    }
    if (r == HF_OK) {
        r = open_database(s, err);
    }
    return r == HF_OK ? settle(s, door, err) : r;
}

/* To listen takes the side file alone. SQLite is not even entered: a process
 * that forks just now must not be found in it. */
static int enter_side(struct hf__sqlite *s, struct hf__door *door,
                      hf_error *err)
{
    int r = be_there(s, door, err);

    if (r == HF_OK) {
        hf__place_ids(&s->place, &s->watch.expected);
    }
    return r;
}

/* Before anything is made: is what is there a store's, or may become one? */
static int look(struct hf__sqlite *s, hf_error *err)
{
    struct hf__file_ids seen;
    int r;

    hf__place_ids(&s->place, &seen);
    r = hf__inherit_clean(&s->place, &seen, err);
    return r == HF_OK ? hf__header_look(&s->place, err) : r;
}

static int sqlite_open(void *state, const struct hf__url *url,
                       const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct hf__door door = {.fd = -1};
    int r =
        hf__local_begin(&s->local, url, "a SQLite store", "sqlite:PATH", err);

    s->local.plain.primitives = &hf__sqlite_primitives;
    s->name.grants.few = &s->few;
    hf__sqlite_begin(s, deadline, err);
    if (r == HF_OK) {
        r = hf__place_init(&s->place, url->path, allow, err);
    }
    if (r == HF_OK && !s->local.plain.head.only_listens) {
        r = look(s, err);
    }
    if (r == HF_OK) {
        r = hf__door_open(&s->place, &s->local.plain.head, deadline, &door,
                          err);
    }
    if (r == HF_OK) {
        r = s->local.plain.head.only_listens ? enter_side(s, &door, err)
                                             : enter(s, &door, err);
    }
    hf__door_close(&door);
    if (r == HF_OK && !s->local.plain.head.only_listens) {
        s->is_open = true;
        hf__pool_give(s);
    }
    if (r == HF_OK) {
        s->local.plain.head.facts =
            (struct hf__facts){.grade = 'B', .reach = s->place.ground.reach};
    }
    return r;
}

static bool part(struct hf__sqlite *s, enum hf__statement which,
                 const struct hf__key *key, const struct hf__token *token)
{
    return HF__SQL_RUN(s, which, hf__value_of_key(key),
                       hf__value_of_token(token)) == SQLITE_OK;
}

static bool part_one(void *arg, const struct hf__key *key,
                     const struct hf__token *token)
{
    struct hf__sqlite *s = arg;

    return part(s, HF__SQL_PART, key, token) &&
           (sqlite3_changes(s->db->handle) > 0 ||
            part(s, HF__SQL_BESIDE_PART, key, token));
}

/* The process closes the store and still holds locks there, as when it is
 * about to open it again. From now on their leases alone count: else the end
 * of its life would say that the holder is dead. Where that can't be written,
 * side.c keeps the life. */
static void part_with_grants(struct hf__sqlite *s)
{
    s->local.plain.deadline = hf__after_ms(hf__now(), PARTING_MS);
    if (hf__sqlite_has_moved(s) ||
        hf__sql_run(s, HF__SQL_BEGIN_WRITE) != SQLITE_OK) {
        return;
    }
    hf__held_part(&s->local.side->held, part_one, s);
    if (hf__sql_run(s, HF__SQL_COMMIT) == SQLITE_OK) {
        hf__held_forget_parted(&s->local.side->held);
    }
    hf__sql_undo(s);
}

static void sqlite_close(void *state)
{
    struct hf__sqlite *s = state;

    if (s->is_open) {
        hf__pool_take(s);
    }
    if (s->local.side != NULL && hf__side_leave(s->local.side) && s->is_open) {
        part_with_grants(s);
    }
    hf__sql_close(s->db);
    if (s->db != NULL) {
        hf__inherit_remove(s->db);
        hf__free(s->db);
        s->db = NULL;
    }
    hf__name_fini(&s->name);
    hf__deeds_fini(s);
    hf__side_put(s->local.side);
    s->local.side = NULL;
    hf__place_fini(&s->place);
}

static const char *const no_options[] = {NULL};

const struct hf__backend hf__sqlite_backend = {
    .scheme = "sqlite",
    .caps = HF_CAP_FENCE | HF_CAP_WAIT | HF_CAP_HANDOVER | HF_CAP_LIST |
            HF_CAP_DEATH | HF_CAP_KEEP | HF_CAP_DETACH | HF_CAP_FAIR |
            HF_CAP_SHARED | HF_CAP_SLOTS | HF_CAP_PUSH | HF_CAP_CELLS,
    .size = sizeof(struct hf__sqlite),
    .options = no_options,
    .has_no_sigpipe = true,
    .open = sqlite_open,
    .close = sqlite_close,
    .execute = hf__sqlite_execute,
    .wait = hf__local_wait,
    .listen = hf__local_listen,
    .list = hf__plain_list,
    .gc = hf__sqlite_gc,
    .cell = hf__sqlite_cell,
    .check = hf__sqlite_check,
    .interrupt = hf__local_interrupt,
    .lock_fds = hf__local_lock_fds,
};
