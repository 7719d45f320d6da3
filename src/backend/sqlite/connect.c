/* SPDX-License-Identifier: MIT */
/*
 * Opening a connection to the database, and the tables in it. holdfast_lock has
 * one row for each name ever locked, kept for its fence; holdfast_beside has
 * the grants that stand beside others; holdfast_ticket has the tickets of the
 * queue; holdfast_cell has the cells; and holdfast_held is for people with the
 * sqlite3 shell. This file also ends the connections that a fork copied, if
 * that is safe: the parent must not have been inside SQLite at the moment of
 * the fork, and the descriptors must still be those of the database, else
 * closing would hit whatever has their numbers now. Called with the open lock
 * held when a session opens, and when it closes.
 */
#include "src/backend/sqlite/connect.h"

#include "src/backend/sqlite/transaction.h"
#include "src/backend/sqlite/vfs.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork_list.h"
#include "src/base/rand.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the tables */

#define VERSION 3

/* The lease is judged by the wall clock, as plain SQL has no other. A row of
 * holdfast_lock gives the time of the grant as the difference of two columns. A
 * key with a ; before its first : is the mark of a start, which nobody
 * holds. */
#define RUNS_STILL                                                             \
    "(julianday('now')-2440587.5)*86400000000<acquired_at+expires-"

static const char view[] =
    "CREATE VIEW holdfast_held AS"
    " SELECT key,fence,label,host,pid,thread,note,"
    "  datetime(acquired_at/1000000,'unixepoch') AS acquired_utc,"
    "  'alone' AS mode,NULL AS slot"
    " FROM holdfast_lock WHERE token IS NOT NULL"
    "  AND " RUNS_STILL "(keep_until-keep_us)"
    "  AND instr(substr(key,1,instr(key,':')),';')=0"
    " UNION ALL SELECT key,fence,label,host,pid,thread,note,"
    "  datetime(acquired_at/1000000,'unixepoch'),"
    "  iif(mode=1,'shared','one of '||slots),iif(mode=1,NULL,slot)"
    " FROM holdfast_beside WHERE ended=0 AND " RUNS_STILL "granted";

/* Times are microseconds: expires and keep_until on CLOCK_BOOTTIME of `boot`,
 * acquired_at and freed_at since 1970. `side` names the side file in which the
 * holder's process has locked a byte, and which byte; `broken` is the fence of
 * the last grant that an operator broke, and `ended` says that this grant was
 * broken. `beside` and `line` say whether the other tables have rows of the
 * name: where they are 0, those tables are not read. */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS holdfast_lock("
    " key TEXT PRIMARY KEY NOT NULL,"
    " fence INTEGER NOT NULL,"
    " token BLOB,"
    " expires INTEGER NOT NULL,"
    " keep_until INTEGER NOT NULL,"
    " keep_us INTEGER NOT NULL,"
    " boot TEXT NOT NULL,"
    " side TEXT,"
    " acquired_at INTEGER NOT NULL,"
    " freed_at INTEGER NOT NULL,"
    " broken INTEGER NOT NULL,"
    " label TEXT, host TEXT, pid INTEGER, thread TEXT, note TEXT,"
    " beside INTEGER NOT NULL DEFAULT 0,"
    " line INTEGER NOT NULL DEFAULT 0"
    ") WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS holdfast_beside("
    " key TEXT NOT NULL,"
    " token BLOB NOT NULL,"
    " fence INTEGER NOT NULL,"
    " mode INTEGER NOT NULL," /* 1: shared, 2: slots */
    " slots INTEGER NOT NULL,"
    " slot INTEGER NOT NULL,"
    " expires INTEGER NOT NULL,"
    " granted INTEGER NOT NULL,"
    " boot TEXT NOT NULL,"
    " side TEXT,"
    " acquired_at INTEGER NOT NULL,"
    " ended INTEGER NOT NULL,"
    " label TEXT, host TEXT, pid INTEGER, thread TEXT, note TEXT,"
    " PRIMARY KEY(key,token)"
    ") WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS holdfast_ticket("
    " key TEXT NOT NULL,"
    " seq INTEGER NOT NULL,"
    " token BLOB NOT NULL,"
    " mode INTEGER NOT NULL,"
    " slots INTEGER NOT NULL,"
    " boot TEXT NOT NULL,"
    " side TEXT,"
    " since INTEGER NOT NULL,"
    " asked INTEGER NOT NULL,"
    " label TEXT, host TEXT, pid INTEGER, thread TEXT, note TEXT,"
    " PRIMARY KEY(key,seq), UNIQUE(key,token)"
    ") WITHOUT ROWID;"
    /* With a rowid, as a value may be too long to stand among the keys. */
    "CREATE TABLE IF NOT EXISTS holdfast_cell("
    " key TEXT PRIMARY KEY NOT NULL,"
    " version INTEGER NOT NULL,"
    " writer BLOB NOT NULL,"
    " value BLOB);" /* NULL: it was deleted */
    "CREATE INDEX IF NOT EXISTS holdfast_tombstone"
    " ON holdfast_cell(key,version) WHERE value IS NULL;"
    "CREATE TABLE IF NOT EXISTS holdfast_meta("
    " id INTEGER PRIMARY KEY CHECK(id=1),"
    " boot TEXT NOT NULL,"
    " fence_base INTEGER NOT NULL,"
    " fence_ceiling INTEGER NOT NULL);"
    "DROP VIEW IF EXISTS holdfast_held;"
    "PRAGMA application_id=1212574827;"
    "PRAGMA user_version=3";

_Static_assert(HF__SQLITE_APPLICATION_ID == 1212574827, "as in the text above");

static int identify(struct hf__sqlite *s, hf_error *err)
{
    const char *path = s->sqlite_dir.path[HF__FILE_DB];
    int64_t id = 0;
    int64_t version = 0;
    int64_t tables = 0;
    int64_t is_utf8 = 0;
    int rc = hf__sql_number(s, "PRAGMA application_id", &id);

    if (rc == SQLITE_OK) {
        rc = hf__sql_number(s, "PRAGMA user_version", &version);
    }
    if (rc == SQLITE_OK) {
        rc = hf__sql_number(s, "SELECT count(*) FROM sqlite_schema", &tables);
    }
    if (rc == SQLITE_OK) {
        rc = hf__sql_number(s, "SELECT encoding='UTF-8' FROM pragma_encoding",
                            &is_utf8);
    }
    if (rc != SQLITE_OK) {
        return hf__sql_status(s, rc, err);
    }
    /* SQLite would convert each key, and give NULL for a key for which it has
     * no memory: a name that is held would seem to be new. */
    if (!is_utf8) {
        return hf__fail(err, HF_EPROTO,
                        "%s keeps its texts in UTF-16, where Holdfast needs "
                        "UTF-8; name another file",
                        path);
    }
    if (id == 0 && version == 0 && tables == 0) {
        return HF_OK;
    }
    if (id != HF__SQLITE_APPLICATION_ID) {
        return hf__header_fail_foreign(&s->sqlite_dir, err);
    }
    if (version != VERSION) {
        return hf__fail(err, HF_EPROTO,
                        "%s was made by another version of Holdfast (its "
                        "format is %lld, this program knows %d)",
                        path, (long long)version, VERSION);
    }
    return HF_OK;
}

/* The database is in WAL mode from its first byte on. SQLite reports here if
 * that cannot work in this place. */
static int set_wal(struct hf__sqlite *s, hf_error *err)
{
    char mode[16] = "";
    int rc = hf__sql_ask(s, "PRAGMA journal_mode=WAL", NULL, mode, sizeof mode);

    if (rc != SQLITE_OK) {
        return hf__sql_status(s, rc, err);
    }
    if (strcmp(mode, "wal") != 0) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s cannot be used with a write-ahead log, which needs "
                        "memory shared between processes; use another file "
                        "system than that of %s",
                        s->sqlite_dir.path[HF__FILE_DB], s->sqlite_dir.folder);
    }
    return HF_OK;
}

static int prepare(struct hf__sqlite *s, hf_error *err)
{
    int64_t version = 0;
    char views[16] = "";
    int rc;
    int r = set_wal(s, err);

    if (r != HF_OK) {
        return r;
    }
    rc = hf__sql_number(s, "PRAGMA user_version", &version);
    /* The view has no format number: it is for people, and the newest text is
     * right for every version. */
    if (rc == SQLITE_OK) {
        rc = hf__sql_ask(s,
                         "SELECT count(*) FROM sqlite_schema "
                         "WHERE type='view' AND sql=?1",
                         view, views, sizeof views);
    }
    if (rc != SQLITE_OK || (version == VERSION && strcmp(views, "0") != 0)) {
        return hf__sql_status(s, rc, err);
    }
    /* Everything in one transaction, so that no half of it is left. */
    rc = hf__space_begin(s);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(s->db->handle, schema, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(s->db->handle, view, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = hf__space_commit(s);
    }
    if (rc != SQLITE_OK) {
        /* Without room for the view on the disk, a store works without it. */
        bool does_without = version == VERSION && hf__sql_is_full(s, rc);

        r = does_without ? HF_OK : hf__sql_status(s, rc, err);
        hf__sql_undo(s);
    }
    return r;
}

/* ---- opening and closing */

static struct hf__fork_list connections;

/* SQLite's busy handler: somebody who is not in the write queue has the write
 * lock. That may be a writer that came when the queue was empty and is about to
 * finish, or a shell, or a backup. The sleeps are short and vary, so that two
 * sessions that wait for each other's lock do not keep step. */
static int wait_for_stranger(void *arg, int count)
{
    struct hf__connection *db = arg;
    struct hf__sqlite *s = db->session;
    int64_t longest = count < 5    ? HF__MS / 20
                      : count < 15 ? HF__MS
                                   : 10 * HF__MS;
    unsigned seen = hf__parker_seen(&s->local.sleep_slot.parker);
    hf__time now = hf__now();

    if (s->is_hasty || hf__is_interrupted(&s->local.engine_session.head) ||
        !hf__before(now, s->local.engine_session.deadline)) {
        return 0;
    }
    now = hf__after_ns(now, hf__random_between(longest / 10, longest));
    hf__park(&s->local.sleep_slot.parker, seen,
             hf__earlier(now, s->local.engine_session.deadline));
    return 1;
}

static void set_pragmas(struct hf__sqlite *s)
{
    int on = 1;

    (void)sqlite3_exec(s->db->handle,
                       "PRAGMA synchronous=NORMAL;PRAGMA temp_store=MEMORY;"
                       "PRAGMA cache_size=-1024;PRAGMA trusted_schema=OFF",
                       NULL, NULL, NULL);
    /* The files stay when the last connection closes, so that their identities
     * can be compared. No close waits for a disk: the log is merged every 1000
     * pages instead. */
    (void)sqlite3_file_control(s->db->handle, "main", SQLITE_FCNTL_PERSIST_WAL,
                               &on);
    (void)sqlite3_db_config(s->db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            NULL);
}

int hf__connect_open(struct hf__sqlite *s, hf_error *err)
{
    int rc;
    int r;

    s->db = hf__alloc(sizeof *s->db);
    if (s->db == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    hf__list_init(&s->db->link);
    hf__list_init(&s->db->idle);
    s->db->session = s;
    atomic_store(&s->db->is_busy, true);
    /* Listed before it is opened: a fork meanwhile must find it busy. */
    hf__sqlite_dir_ids(&s->sqlite_dir, &s->db->ids);
    hf__fork_list_lock(&connections);
    hf__list_push(&connections.members, &s->db->link);
    hf__fork_list_unlock(&connections);
    rc = hf__vfs_open(s->sqlite_dir.path[HF__FILE_DB],
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                          SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
                      &s->db->handle);
    if (rc != SQLITE_OK) {
        return hf__sql_status(s, rc, err);
    }
    (void)sqlite3_busy_handler(s->db->handle, wait_for_stranger, s->db);
    if (sqlite3_db_readonly(s->db->handle, "main") == 1) {
        return hf__sql_status(s, SQLITE_READONLY, err);
    }
    r = identify(s, err);
    if (r == HF_OK) {
        set_pragmas(s);
        r = prepare(s, err);
    }
    /* Prepared while there is memory: without this statement a failed
     * transaction would keep the write lock. */
    if (r == HF_OK && !hf__sql(s, HF__SQL_ROLLBACK)) {
        r = hf__sql_status(s, sqlite3_extended_errcode(s->db->handle), err);
    }
    return r;
}

static void end(struct hf__connection *db)
{
    for (int i = 0; i < HF__SQL_COUNT; i++) {
        (void)sqlite3_finalize(db->statement[i]);
    }
    (void)sqlite3_close_v2(db->handle);
}

void hf__connect_close(struct hf__sqlite *s)
{
    if (s->db == NULL) {
        return;
    }
    end(s->db);
    hf__fork_list_lock(&connections);
    hf__list_remove(&s->db->link);
    hf__fork_list_unlock(&connections);
    hf__free(s->db);
    s->db = NULL;
}

/* ---- connections that a fork copied */

/* Count the descriptors that this process has open on the file. */
static int count_open(const struct hf__file_id *id)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int count = 0;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread reads this dir */
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct stat st;

        if (entry->d_name[0] != '.' &&
            !fstat((int)strtol(entry->d_name, NULL, 10), &st) &&
            hf__id_equal(hf__id_of(&st), *id)) {
            count++;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

/* Called with the list of connections locked. */
static bool is_safe(const struct hf__file_ids *ids)
{
    const struct hf__file_id *db = &ids->file[HF__FILE_DB];
    int count = 0;

    HF__LIST_EACH (it, &connections.inherited) {
        struct hf__connection *c = HF__ELEMENT(it, struct hf__connection, link);

        if (hf__id_equal(c->ids.file[HF__FILE_DB], *db)) {
            count++;
            if (atomic_load(&c->is_busy)) {
                return false;
            }
        }
    }
    return count == 0 || (count_open(db) >= count &&
                          count_open(&ids->file[HF__FILE_WAL]) >= count &&
                          count_open(&ids->file[HF__FILE_SHM]) >= 1);
}

int hf__connect_clean(const struct hf__sqlite_dir *sqlite_dir,
                      const struct hf__file_ids *ids, hf_error *err)
{
    bool safe;

    hf__fork_list_lock(&connections);
    safe = is_safe(ids);
    HF__LIST_EACH (it, &connections.inherited) {
        struct hf__connection *c = HF__ELEMENT(it, struct hf__connection, link);

        if (safe &&
            hf__id_equal(c->ids.file[HF__FILE_DB], ids->file[HF__FILE_DB])) {
            hf__list_remove(it);
            end(c);
            hf__free(c);
        }
    }
    hf__fork_list_unlock(&connections);
    return safe ? HF_OK
                : hf__fail(err, HF_EUNSAFE,
                           "the parent process used %s while it forked, and "
                           "SQLite cannot be entered again in such a child; "
                           "exec first, or fork before opening the store",
                           sqlite_dir->path[HF__FILE_DB]);
}
