/* SPDX-License-Identifier: MIT */
/*
 * The embedded default store, sqlite:PATH: one machine, no server. This file
 * opens and closes sessions, and checks the files that it found against those
 * that other sessions use. Its check() says whether the files, their folder and
 * this kernel are fit for locks, with one item for each thing that a promise
 * rests on. See sqlite.h for the other files. Called as backend.h says.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/registry.h"
#include "src/backend/report.h"
#include "src/backend/sqlite/connect.h"
#include "src/backend/sqlite/transaction.h"
#include "src/backend/sqlite/vfs.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How long closing may wait for another program's transaction. */
#define PARTING_MS 100

/* ---- opening */

static struct hf__file_ids known_ids(const struct hf__sqlite *s)
{
    struct hf__file_ids known;

    hf__words_read(&s->local.side->words, HF__SQLITE_SIDE_OFFSET(ids), &known,
                   sizeof known);
    return known;
}

/* Compare with the files that the open sessions use. */
static int compare_ids(struct hf__sqlite *s,
                       const struct hf__open_lock *open_lock,
                       const struct hf__file_ids *seen, hf_error *err)
{
    struct hf__file_ids known = known_ids(s);
    int differs = hf__ids_differ(&known, seen);

    if (open_lock->has_others && differs >= 0) {
        return hf__sqlite_fail_moved(s, differs, err);
    }
    return HF_OK;
}

/* Now that the database is open: is it the one that other sessions find? (The
 * open lock checks the side file.) */
static int settle(struct hf__sqlite *s, const struct hf__open_lock *open_lock,
                  hf_error *err)
{
    struct hf__file_ids seen;
    int r;

    hf__sqlite_dir_ids(&s->sqlite_dir, &seen);
    /* If it was replaced while SQLite opened it, other sessions find another
     * file. */
    if (hf__ids_differ(&s->db->ids, &seen) == HF__FILE_DB) {
        return hf__sqlite_fail_moved(s, HF__FILE_DB, err);
    }
    r = compare_ids(s, open_lock, &seen, err);
    if (r == HF_OK) {
        s->watch.expected = seen;
        s->db->ids = seen;
        seen.file[HF__FILE_SIDE] = (struct hf__file_id){0, 0}; /* 0: any */
    }
    /* If no other session is inside, these files are the store from now on. The
     * same holds if the only others failed to open it and are about to
     * leave. */
    if (r == HF_OK &&
        (!open_lock->has_others || known_ids(s).file[HF__FILE_DB].ino == 0)) {
        (void)hf__words_write(&s->local.side->words,
                              HF__SQLITE_SIDE_OFFSET(ids), &seen, sizeof seen);
    }
    return r;
}

/* Another program that was the last to close the database, such as a shell, may
 * have removed the log and the index. In a store that existed before, the
 * ballast makes room for them, because the locks held in it must be renewed. */
static int make_log(struct hf__sqlite *s, bool was_there, hf_error *err)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__sqlite_dir_make_log(&s->sqlite_dir, &why);

    if (was_there && (why.native == ENOSPC || why.native == EDQUOT)) {
        hf__side_drop_ballast(s->local.side);
        return hf__sqlite_dir_make_log(&s->sqlite_dir, err);
    }
    if (r != HF_OK) {
        hf__error_copy(err, &why);
    }
    return r;
}

static int be_there(struct hf__sqlite *s, struct hf__open_lock *open_lock,
                    hf_error *err)
{
    int r = hf__open_lock_enter(&s->sqlite_dir, open_lock, &s->local, err);
    struct hf__side_hot seen;

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

/* With the open lock held: nobody else opens or creates anything meanwhile. */
static int enter(struct hf__sqlite *s, struct hf__open_lock *open_lock,
                 hf_error *err)
{
    bool was_there = s->sqlite_dir.db_exists;
    struct hf__file_ids seen;
    int r = be_there(s, open_lock, err);

    if (r != HF_OK) {
        return r;
    }
    hf__sqlite_dir_ids(&s->sqlite_dir, &seen);
    /* Listening needs only the side file. SQLite is not even entered: a process
     * that forks at this moment must not be found inside SQLite. */
    if (s->local.engine_session.head.only_listens) {
        s->watch.expected = seen;
        return HF_OK;
    }
    r = compare_ids(s, open_lock, &seen, err);
    if (r == HF_OK) {
        r = hf__sqlite_dir_create_db(&s->sqlite_dir, err);
    }
    if (r == HF_OK) {
        r = make_log(s, was_there, err);
    }
    if (r == HF_OK) {
        r = hf__header_prepare(&s->sqlite_dir, s->local.engine_session.deadline,
                               err);
    }
    if (r == HF_OK) {
        r = hf__connect_open(s, err);
    }
    if (r == HF_OK) {
        r = hf__sql_status(s, hf__fence_open(s), err);
    }
    return r == HF_OK ? settle(s, open_lock, err) : r;
}

/* Before anything is created: is the existing file a store's, or may it become
 * one? */
static int look(struct hf__sqlite *s, hf_error *err)
{
    struct hf__file_ids seen;
    int r;

    hf__sqlite_dir_ids(&s->sqlite_dir, &seen);
    r = hf__connect_clean(&s->sqlite_dir, &seen, err);
    return r == HF_OK ? hf__header_look(&s->sqlite_dir, err) : r;
}

static int sqlite_open(void *state, const struct hf__url *url,
                       const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct hf__open_lock open_lock = {.fd = -1};
    int r =
        hf__local_begin(&s->local, url, "a SQLite store", "sqlite:PATH", err);

    s->local.engine_session.primitives = &hf__sqlite_primitives;
    s->name.grants.inline_one = &s->inline_one;
    hf__sqlite_begin(s, deadline, err);
    if (r == HF_OK) {
        r = hf__side_effects_reserve(s, err);
    }
    if (r == HF_OK) {
        r = hf__sqlite_dir_init(&s->sqlite_dir, url->path, allow, err);
    }
    if (r == HF_OK && !s->local.engine_session.head.only_listens) {
        r = look(s, err);
    }
    if (r == HF_OK) {
        r = hf__open_lock_take(&s->sqlite_dir, &s->local.engine_session.head,
                               deadline, &open_lock, err);
    }
    if (r == HF_OK) {
        r = enter(s, &open_lock, err);
    }
    hf__open_lock_release(&open_lock);
    if (r == HF_OK && !s->local.engine_session.head.only_listens) {
        s->is_open = true;
        hf__pool_give(s);
    }
    if (r == HF_OK) {
        s->local.engine_session.head.server_info = (struct hf__server_info){
            .grade = 'B', .reach = s->sqlite_dir.dir.reach};
    }
    return r;
}

/* ---- closing */

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
            part(s, HF__SQL_HOLDERS_PART, key, token));
}

/* The process closes the store and still holds locks there, as when it is about
 * to open it again. From now on only their leases count: otherwise the end of
 * this process's life in the side file would say that the holder is dead. If
 * that cannot be written, side.c keeps the life. */
static void part_with_grants(struct hf__sqlite *s)
{
    s->local.engine_session.deadline = hf__after_ms(hf__now(), PARTING_MS);
    if (hf__sqlite_has_moved(s) ||
        hf__sql_run(s, HF__SQL_BEGIN_WRITE) != SQLITE_OK) {
        return;
    }
    hf__held_unbind(&s->local.side->held, part_one, s);
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
    hf__connect_close(s);
    hf__name_fini(&s->name);
    hf__free(s->effects.list);
    s->effects = (struct hf__side_effects){0};
    hf__side_put(s->local.side);
    s->local.side = NULL;
    hf__sqlite_dir_fini(&s->sqlite_dir);
}

/* ---- check() */

struct report {
    struct hf__report to;
    struct hf__sqlite *s;
};

/* On failure `to` gets the error's text. */
static void query(struct report *report, const char *sql, char *to, size_t size)
{
    int rc = hf__sql_ask(report->s, sql, NULL, to, size);

    if (rc != SQLITE_OK) {
        (void)snprintf(to, size, "%s", sqlite3_errstr(rc));
    }
}

static void check_pragmas(struct report *report)
{
    static const char *const remedy =
        "stop its users and move it away; the next one makes a new one";
    char value[160];

    hf__report_say(&report->to, "sqlite_version", sqlite3_libversion(), NULL);
    query(report, "PRAGMA user_version", value, sizeof value);
    hf__report_say(&report->to, "format", value, NULL);
    query(report, "PRAGMA journal_mode", value, sizeof value);
    hf__report_say(&report->to, "journal_mode", value,
                   strcmp(value, "wal") == 0
                       ? NULL
                       : "stop its users, then open it again");
    query(report, "PRAGMA synchronous", value, sizeof value);
    hf__report_say(&report->to, "synchronous",
                   strcmp(value, "1") == 0 ? "normal" : value, NULL);
    query(report, "PRAGMA quick_check(1)", value, sizeof value);
    /* Interrupted at the deadline: the database is big, not bad. */
    if (strcmp(value, sqlite3_errstr(SQLITE_INTERRUPT)) == 0) {
        hf__report_say(&report->to, "integrity", "not checked in time", NULL);
    } else {
        hf__report_say(&report->to, "integrity", value,
                       strcmp(value, "ok") == 0 ? NULL : remedy);
    }
}

static void check_files(struct report *report)
{
    static const char *const names[HF__FILE_COUNT] = {"database", "log",
                                                      "index", "side_file"};
    const struct hf__sqlite_dir *sqlite_dir = &report->s->sqlite_dir;

    for (int i = 0; i < HF__FILE_COUNT; i++) {
        struct stat st = {0};
        const char *remedy = NULL;

        if (stat(sqlite_dir->path[i], &st)) {
            remedy = "stop all programs that use it, then start them again";
        } else if (i == HF__FILE_DB && st.st_nlink > 1) {
            remedy = "it has a second name, under which it would be another "
                     "store; remove that";
        }
        hf__local_tell_file(&report->to, names[i], sqlite_dir->path[i], &st,
                            remedy);
    }
}

/* Other programs can put a journal there; see vfs.h. */
static void check_journal(struct report *report)
{
    const char *path = report->s->sqlite_dir.journal;
    struct stat st;

    if (lstat(path, &st)) {
        hf__report_say(&report->to, "journal", "none", NULL);
        return;
    }
    hf__local_tell_file(&report->to, "journal", path, &st,
                        "it is none of the database's, and ignored here; "
                        "remove it, for sqlite3 and other programs would play "
                        "it back");
}

static void check_folder(struct report *report)
{
    static const struct hf__remedies remedies = {
        "SQLite's locks do not hold across machines; use a local folder",
        "in memory: fences start from the wall clock after a restart",
        "without space no lock can be renewed"};
    const char *folder = report->s->sqlite_dir.folder;
    struct statfs fs = {0};
    struct stat st = {0};

    if (stat(folder, &st) || statfs(folder, &fs)) {
        hf__report_say(&report->to, "folder", "can't be looked at",
                       "see ls -ld");
        return;
    }
    hf__local_tell_file(&report->to, "folder", folder, &st,
                        (st.st_mode & S_IWOTH)
                            ? "everybody may make files there; use a folder "
                              "of your own"
                            : NULL);
    hf__local_tell_system(&report->to, &fs, &remedies);
}

/* For sqlite3_progress_handler(): nonzero stops the statement. */
static int is_late(void *arg)
{
    return hf__local_is_over(arg);
}

static int sqlite_check(void *state, hf__check_fn fn, void *arg,
                        hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct report report = {{fn, arg, false}, s};
    char fences[80];

    hf__sqlite_begin(s, deadline, err);
    if (hf__sqlite_has_moved(s)) {
        return hf__sqlite_fail_moved(s, s->moved_file, err);
    }
    hf__pool_take(s);
    sqlite3_progress_handler(s->db->handle, 1000, is_late, s);
    check_pragmas(&report);
    sqlite3_progress_handler(s->db->handle, 0, NULL, NULL);
    hf__pool_give(s);
    check_files(&report);
    check_journal(&report);
    check_folder(&report);
    hf__report_say(&report.to, "boot_and_clock", s->local.boot, NULL);
    (void)snprintf(fences, sizeof fences, "base %llu, ceiling %llu",
                   (unsigned long long)s->fence_base,
                   (unsigned long long)s->fence_ceiling);
    hf__report_say(&report.to, "fences", fences, NULL);
    hf__report_say(
        &report.to, "takeover",
        "a killed holder's lock is free within 0.3 s, a stopped one's when its "
        "lease ends; a stopped waiter is passed over after 1 s",
        NULL);
    return HF_OK;
}

/* ---- the table of calls */

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
    .list = hf__engine_session_list,
    .gc = hf__sqlite_gc,
    .cell = hf__sqlite_cell,
    .check = sqlite_check,
    .interrupt = hf__local_interrupt,
    .lock_fds = hf__local_lock_fds,
};
