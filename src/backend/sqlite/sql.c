/* SPDX-License-Identifier: MIT */
/*
 * The connection: opening and closing, running statements, and what SQLite's
 * result codes mean. Leaves what is in the database to schema.c and the order
 * of statements to those who run them. Called by the session's thread.
 */
#include "src/backend/sqlite/sql.h"

#include "src/backend/sqlite/inherit.h"
#include "src/backend/sqlite/schema.h"
#include "src/backend/sqlite/sqlite.h"
#include "src/backend/sqlite/vfs.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

sqlite3_stmt *hf__sql(struct hf__sqlite *s, enum hf__statement which)
{
    sqlite3_stmt **statement = &s->db->statement[which];

    if (*statement == NULL) {
        (void)sqlite3_prepare_v3(s->db->handle, hf__sql_texts[which], -1,
                                 SQLITE_PREPARE_PERSISTENT, statement, NULL);
    }
    return *statement;
}

int hf__sql_failure(const struct hf__sqlite *s)
{
    return sqlite3_extended_errcode(s->db->handle);
}

int hf__sql_step(struct hf__sqlite *s, sqlite3_stmt *statement)
{
    int rc;

    errno = 0;
    rc = sqlite3_step(statement);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW) {
        /* sqlite3_system_errno() may forget it while undoing the failure. */
        s->db->system_errno =
            errno ? errno : sqlite3_system_errno(s->db->handle);
    }
    return rc;
}

int hf__sql_run(struct hf__sqlite *s, enum hf__statement which)
{
    sqlite3_stmt *statement = hf__sql(s, which);
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    rc = hf__sql_step(s, statement);
    (void)sqlite3_reset(statement);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static void bind(sqlite3_stmt *statement, int at, const struct hf__value *v)
{
    switch (v->type) {
    case SQLITE_INTEGER:
        (void)sqlite3_bind_int64(statement, at, v->number);
        break;
    case SQLITE_TEXT:
        (void)sqlite3_bind_text(statement, at, v->bytes, (int)v->size,
                                SQLITE_STATIC);
        break;
    case SQLITE_BLOB:
        (void)sqlite3_bind_blob(statement, at, v->bytes, (int)v->size,
                                SQLITE_STATIC);
        break;
    default:
        (void)sqlite3_bind_null(statement, at);
        break;
    }
}

sqlite3_stmt *hf__sql_with(struct hf__sqlite *s, enum hf__statement which,
                           const struct hf__value *values, int n)
{
    sqlite3_stmt *statement = hf__sql(s, which);

    for (int i = 0; i < n && statement != NULL; i++) {
        bind(statement, i + 1, &values[i]);
    }
    return statement;
}

int hf__sql_run_with(struct hf__sqlite *s, enum hf__statement which,
                     const struct hf__value *values, int n)
{
    return hf__sql_with(s, which, values, n) != NULL ? hf__sql_run(s, which)
                                                     : hf__sql_failure(s);
}

void hf__sql_undo(struct hf__sqlite *s)
{
    sqlite3_stmt *statement;

    if (sqlite3_get_autocommit(s->db->handle)) {
        return;
    }
    statement = hf__sql(s, HF__SQL_ROLLBACK);
    if (statement != NULL) {
        (void)sqlite3_step(statement);
        (void)sqlite3_reset(statement);
    }
}

int hf__sql_number(struct hf__sqlite *s, const char *text, int64_t *ret_number)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(s->db->handle, text, -1, &statement, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        *ret_number = sqlite3_column_int64(statement, 0);
        rc = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_ERROR : rc;
}

/* ---- what a code means */

static bool is_space_errno(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

bool hf__sql_is_full(const struct hf__sqlite *s, int rc)
{
    int primary = rc & 0xff;

    return primary == SQLITE_FULL ||
           (primary == SQLITE_IOERR &&
            (is_space_errno(s->db->system_errno) ||
             is_space_errno(sqlite3_system_errno(s->db->handle))));
}

bool hf__sql_is_fatal(const struct hf__sqlite *s, int rc)
{
    /* Without memory even a rollback can fail: what is begun on top of an
     * open transaction never works again. */
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(s->db->handle)) {
        return true;
    }
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return false;
    default:
        return !hf__sql_is_full(s, rc);
    }
}

/* May this user write all that there is? SQLite opens for reading what it
 * could not open for writing, whatever the reason was: with no descriptor to
 * be had at that moment, it was none of the files'. */
static bool may_write(const struct hf__sqlite *s)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        if (faccessat(AT_FDCWD, s->place.path[i], W_OK, AT_EACCESS) != 0 &&
            errno != ENOENT) {
            return false;
        }
    }
    return faccessat(AT_FDCWD, s->place.folder, W_OK, AT_EACCESS) == 0;
}

static int denied(const struct hf__sqlite *s, int rc, hf_error *err)
{
    int number = s->db != NULL && s->db->handle != NULL
                     ? sqlite3_system_errno(s->db->handle)
                     : 0;
    char text[128];

    if ((rc & 0xff) == SQLITE_CANTOPEN && number != EACCES && number != EPERM) {
        return hf__fail_native(err, HF_EUNAVAIL, rc,
                               "cannot open %s or the files beside it: %s",
                               s->place.path[HF__FILE_DB],
                               hf__errno_text(number, text, sizeof text));
    }
    if (may_write(s)) {
        return hf__fail_native(err, HF_EUNAVAIL, rc,
                               "%s or a file beside it could not be opened "
                               "for writing; too many open files? See: "
                               "ulimit -n",
                               s->place.path[HF__FILE_DB]);
    }
    return hf__fail_native(err, HF_EAUTH, rc,
                           "user %ld may not write %s or the files beside it; "
                           "see: ls -l '%s'*",
                           (long)geteuid(), s->place.path[HF__FILE_DB],
                           s->place.path[HF__FILE_DB]);
}

static int damaged(const struct hf__sqlite *s, int rc, hf_error *err)
{
    const char *db = s->place.path[HF__FILE_DB];

    return hf__fail_native(
        err, HF_EPROTO, rc,
        "%s is %s (%s); it was left as it is: stop all "
        "programs that use it, then move it away",
        db, (rc & 0xff) == SQLITE_NOTADB ? "not a database" : "damaged",
        sqlite3_errstr(rc));
}

int hf__sql_status(const struct hf__sqlite *s, int rc, hf_error *err)
{
    const char *db = s->place.path[HF__FILE_DB];

    if (hf__sql_is_full(s, rc)) {
        return hf__fail_native(err, HF_EUNAVAIL, rc,
                               "disk full: %s cannot grow; free space in %s",
                               db, s->place.folder);
    }
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return HF_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return hf__fail_native(err, HF_EUNAVAIL, rc,
                               "%s is locked by another program's transaction; "
                               "see: fuser -v '%s'",
                               db, db);
    case SQLITE_NOMEM:
        return hf__fail_native(err, HF_ENOMEM, rc, "out of memory");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return denied(s, rc, err);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return damaged(s, rc, err);
    case SQLITE_IOERR:
        return hf__fail_native(err, HF_EUNAVAIL, rc, "cannot use %s: %s", db,
                               sqlite3_errstr(rc));
    default:
        return hf__fail_native(err, HF_EPROTO, rc, "%s does not work: %s", db,
                               s->db != NULL ? sqlite3_errmsg(s->db->handle)
                                             : sqlite3_errstr(rc));
    }
}

/* ---- opening */

/* Somebody who does not stand at the gate has the write lock: one who came
 * when nobody queued, and is about to be ready; a shell, a backup. Short sleeps
 * of changing length, so that two who wait for each other's lock do not keep
 * step. */
static int wait_for_stranger(void *arg, int count)
{
    struct hf__connection *db = arg;
    struct hf__sqlite *s = db->session;
    int64_t longest = count < 5    ? HF__MS / 20
                      : count < 15 ? HF__MS
                                   : 10 * HF__MS;
    unsigned seen = hf__parker_seen(&s->local.nap.parker);
    hf__time now = hf__now();

    if (s->is_hasty || hf__is_interrupted(&s->local.plain.head) ||
        !hf__before(now, s->local.plain.deadline)) {
        return 0;
    }
    now = hf__after_ns(now, hf__random_between(longest / 10, longest));
    hf__park(&s->local.nap.parker, seen,
             hf__earlier(now, s->local.plain.deadline));
    return 1;
}

static void set_pragmas(struct hf__sqlite *s)
{
    int on = 1;

    (void)sqlite3_exec(s->db->handle,
                       "PRAGMA synchronous=NORMAL;PRAGMA temp_store=MEMORY;"
                       "PRAGMA cache_size=-1024;PRAGMA trusted_schema=OFF",
                       NULL, NULL, NULL);
    /* The files stay, so that their identities can be compared, and no close
     * waits for a disk: the log is merged every 1000 pages. */
    (void)sqlite3_file_control(s->db->handle, "main", SQLITE_FCNTL_PERSIST_WAL,
                               &on);
    (void)sqlite3_db_config(s->db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            NULL);
}

int hf__sql_open(struct hf__sqlite *s, hf_error *err)
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
    /* Known before it is opened: a fork meanwhile must find it busy. */
    hf__place_ids(&s->place, &s->db->ids);
    hf__inherit_add(s->db);
    rc = hf__vfs_open(s->place.path[HF__FILE_DB],
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
    r = hf__schema_identify(s, err);
    if (r == HF_OK) {
        set_pragmas(s);
        r = hf__schema_prepare(s, err);
    }
    /* Made while there is memory: without it a failed transaction would keep
     * the write lock. */
    if (r == HF_OK && !hf__sql(s, HF__SQL_ROLLBACK)) {
        r = hf__sql_status(s, sqlite3_extended_errcode(s->db->handle), err);
    }
    return r;
}

void hf__sql_close(struct hf__connection *db)
{
    if (db == NULL) {
        return;
    }
    for (int i = 0; i < HF__SQL_COUNT; i++) {
        (void)sqlite3_finalize(db->statement[i]);
    }
    (void)sqlite3_close_v2(db->handle);
}
