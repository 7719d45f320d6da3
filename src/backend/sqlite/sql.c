/* SPDX-License-Identifier: MIT */
/*
 * Using a connection: the statements, what SQLite's result codes mean, and the
 * idle connections of a store. The idle connection that was used last is taken
 * first. A connection that failed is not given back: its session is dead then,
 * and takes it away when it closes. The contents of the database are left to
 * connect.c, the order of statements to their callers. Called by the session's
 * thread.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/sqlite/sql.h"
#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the statements */

#define COLUMNS                                                                \
    "key,fence,token,expires,keep_until,keep_us,boot,side,acquired_at,"        \
    "freed_at,broken,label,host,pid,thread,note"
/* A name's columns. */
#define NAME_COLUMNS COLUMNS ",beside,line"
/* The columns of a grant beside others, in the same positions. */
#define BESIDE_COLUMNS                                                         \
    "key,fence,token,expires,granted,0,boot,side,acquired_at,0,0,label,host,"  \
    "pid,thread,note,mode,slots,slot,ended"
#define TICKET_COLUMNS                                                         \
    "token,mode,slots,boot,side,since,asked,label,host,pid,thread,note"
#define HAS_BESIDE "EXISTS(SELECT 1 FROM holdfast_beside b WHERE b.key=?1)"
#define HAS_LINE   "EXISTS(SELECT 1 FROM holdfast_ticket t WHERE t.key=?1)"

static const char *const texts[HF__SQL_COUNT] = {
    [HF__SQL_BEGIN_READ] = "BEGIN",
    [HF__SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [HF__SQL_COMMIT] = "COMMIT",
    [HF__SQL_ROLLBACK] = "ROLLBACK",
    [HF__SQL_GET] = "SELECT " NAME_COLUMNS " FROM holdfast_lock WHERE key=?1",
    [HF__SQL_PUT] = "INSERT OR REPLACE INTO holdfast_lock(" NAME_COLUMNS
                    ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,0,?10,?11,?12,?13,"
                    "?14,?15,?16,?17)",
    [HF__SQL_RENEW] =
        "UPDATE holdfast_lock SET expires=?1,side=iif(?6,NULL,side) "
        "WHERE key=?2 AND token=?3 AND expires>?4 AND boot=?5",
    [HF__SQL_FREE] = "UPDATE holdfast_lock SET token=NULL,expires=0,side=NULL,"
                     "keep_us=iif(?1,0,keep_us),freed_at=?2 "
                     "WHERE key=?3 AND token=?4 AND line=0",
    [HF__SQL_CHANGE] =
        "UPDATE holdfast_lock SET fence=?2,broken=?3,token=iif(?4,token,NULL),"
        "side=iif(?5,side,NULL),expires=coalesce(?6,expires),keep_us=iif(?7,?8,"
        "keep_us),"
        "keep_until=iif(?7,?9,keep_until),freed_at=iif(?10,?10,freed_at),"
        "beside=iif(?11," HAS_BESIDE ",beside),line=iif(?11," HAS_LINE ",line) "
        "WHERE key=?1",
    [HF__SQL_PART] = "UPDATE holdfast_lock SET side=NULL "
                     "WHERE key=?1 AND token=?2",
    [HF__SQL_MARK] = "UPDATE holdfast_lock SET beside=" HAS_BESIDE
                     ",line=" HAS_LINE " WHERE key=?1",
    [HF__SQL_SCAN] = "SELECT key FROM holdfast_lock "
                     "WHERE key>=?1 AND key<?2 "
                     "AND length(CAST(key AS BLOB))<=?4 "
                     "AND (?5 OR token IS NOT NULL OR beside) "
                     "ORDER BY key LIMIT ?3",
    [HF__SQL_DELETE] = "DELETE FROM holdfast_lock WHERE key=?1",
    [HF__SQL_HOLDERS] = "SELECT " BESIDE_COLUMNS " FROM holdfast_beside "
                        "WHERE key=?1 AND (?3 OR mode<>1 OR token=?2 "
                        "OR expires<=?4) ORDER BY fence",
    [HF__SQL_HOLDERS_OF] = "SELECT " BESIDE_COLUMNS " FROM holdfast_beside "
                           "WHERE key=?1 AND token=?2",
    [HF__SQL_HOLDERS_PUT] =
        "INSERT OR REPLACE INTO holdfast_beside"
        "(key,token,fence,mode,slots,slot,expires,granted,boot,side,"
        "acquired_at,ended,label,host,pid,thread,note) VALUES"
        "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,0,?12,?13,?14,?15,?16)",
    [HF__SQL_HOLDERS_CHANGE] =
        "UPDATE holdfast_beside SET fence=?3,expires=coalesce(?4,expires),"
        "side=iif(?5,side,NULL),ended=?6 WHERE key=?1 AND token=?2",
    [HF__SQL_HOLDERS_PART] = "UPDATE holdfast_beside SET side=NULL "
                             "WHERE key=?1 AND token=?2",
    [HF__SQL_HOLDERS_LEAVE] = "DELETE FROM holdfast_beside "
                              "WHERE key=?1 AND token=?2",
    [HF__SQL_HOLDERS_DELETE] = "DELETE FROM holdfast_beside WHERE key=?1",
    [HF__SQL_WAITERS] = "SELECT " TICKET_COLUMNS " FROM holdfast_ticket "
                        "WHERE key=?1 ORDER BY seq",
    [HF__SQL_WAITERS_OF] = "SELECT " TICKET_COLUMNS " FROM holdfast_ticket "
                           "WHERE key=?1 AND token=?2",
    [HF__SQL_WAITERS_JOIN] =
        "INSERT OR IGNORE INTO holdfast_ticket"
        "(key,seq,token,mode,slots,boot,side,since,asked,"
        "label,host,pid,thread,note) "
        "SELECT ?1,coalesce(max(seq),0)+1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,"
        "?13 FROM holdfast_ticket WHERE key=?1",
    [HF__SQL_WAITERS_LEAVE] = "DELETE FROM holdfast_ticket "
                              "WHERE key=?1 AND token=?2",
    [HF__SQL_WAITERS_DELETE] = "DELETE FROM holdfast_ticket WHERE key=?1",
    [HF__SQL_CELL] =
        "SELECT version,writer,value,typeof(version)='integer' AND version>0 "
        "AND version<(1<<53) AND typeof(writer)='blob' AND length(writer)=16 "
        "AND (value IS NULL OR typeof(value)='blob' AND length(value)<=65536) "
        "FROM holdfast_cell WHERE key=?1",
    [HF__SQL_CELL_PUT] =
        "INSERT INTO holdfast_cell(key,version,writer,value) "
        "VALUES(?1,?2,?3,?4) ON CONFLICT(key) DO UPDATE SET "
        "version=excluded.version,writer=excluded.writer,value=excluded.value",
    [HF__SQL_CELL_CLEAN] =
        "DELETE FROM holdfast_cell WHERE rowid IN (SELECT rowid "
        "FROM holdfast_cell INDEXED BY holdfast_tombstone "
        "WHERE value IS NULL AND key>=?1 AND key<?1||x'ff' "
        "AND typeof(version)='integer' AND version>0 AND version<?2 "
        "AND typeof(writer)='blob' AND length(writer)=16 LIMIT ?3) "
        "RETURNING version",
    [HF__SQL_GET_META] = "SELECT boot,fence_base,fence_ceiling "
                         "FROM holdfast_meta WHERE id=1",
    [HF__SQL_PUT_META] =
        "INSERT OR REPLACE INTO holdfast_meta"
        "(id,boot,fence_base,fence_ceiling) VALUES(1,?1,?2,?3)",
    [HF__SQL_RAISE_BASE] = "UPDATE holdfast_meta SET fence_base=?1 "
                           "WHERE id=1 AND fence_base<?1",
    [HF__SQL_PAGES] = "PRAGMA page_count",
};

/* ---- running them */

sqlite3_stmt *hf__sql(struct hf__sqlite *s, enum hf__statement which)
{
    sqlite3_stmt **statement = &s->db->statement[which];

    if (*statement == NULL) {
        (void)sqlite3_prepare_v3(s->db->handle, texts[which], -1,
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

sqlite3_stmt *hf__sql_with(struct hf__sqlite *s, enum hf__statement which,
                           const struct hf__value *values, int n)
{
    sqlite3_stmt *statement = hf__sql(s, which);

    for (int i = 0; i < n && statement != NULL; i++) {
        const struct hf__value *v = &values[i];

        switch (v->type) {
        case SQLITE_INTEGER:
            (void)sqlite3_bind_int64(statement, i + 1, v->number);
            break;
        case SQLITE_TEXT:
            (void)sqlite3_bind_text(statement, i + 1, v->bytes, (int)v->size,
                                    SQLITE_STATIC);
            break;
        case SQLITE_BLOB:
            (void)sqlite3_bind_blob(statement, i + 1, v->bytes, (int)v->size,
                                    SQLITE_STATIC);
            break;
        default:
            (void)sqlite3_bind_null(statement, i + 1);
            break;
        }
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

int hf__sql_ask(struct hf__sqlite *s, const char *text, const char *bound,
                char *to, size_t size)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(s->db->handle, text, -1, &statement, NULL);

    if (rc == SQLITE_OK && bound != NULL) {
        rc = sqlite3_bind_text(statement, 1, bound, -1, SQLITE_STATIC);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        const unsigned char *value = sqlite3_column_text(statement, 0);

        rc = value != NULL ? SQLITE_OK : SQLITE_NOMEM;
        (void)snprintf(to, size, "%s",
                       value != NULL ? (const char *)value : "");
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_ERROR : rc;
}

int hf__sql_number(struct hf__sqlite *s, const char *text, int64_t *ret_number)
{
    char value[32];
    int rc = hf__sql_ask(s, text, NULL, value, sizeof value);

    if (rc == SQLITE_OK) {
        *ret_number = strtoll(value, NULL, 10);
    }
    return rc;
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
    /* Without memory even a rollback can fail: nothing that is begun on top of
     * an open transaction ever works again. */
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

/* May this user write all of the store's files? SQLite opens a file for reading
 * if opening it for writing failed, whatever the reason was. If the process had
 * no descriptor left at that moment, the files were not the reason. */
static bool may_write(const struct hf__sqlite *s)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        if (faccessat(AT_FDCWD, s->sqlite_dir.path[i], W_OK, AT_EACCESS) != 0 &&
            errno != ENOENT) {
            return false;
        }
    }
    return faccessat(AT_FDCWD, s->sqlite_dir.folder, W_OK, AT_EACCESS) == 0;
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
                               s->sqlite_dir.path[HF__FILE_DB],
                               hf__errno_text(number, text, sizeof text));
    }
    if (may_write(s)) {
        return hf__fail_native(err, HF_EUNAVAIL, rc,
                               "%s or a file beside it could not be opened "
                               "for writing; too many open files? See: "
                               "ulimit -n",
                               s->sqlite_dir.path[HF__FILE_DB]);
    }
    return hf__fail_native(err, HF_EAUTH, rc,
                           "user %ld may not write %s or the files beside it; "
                           "see: ls -l '%s'*",
                           (long)geteuid(), s->sqlite_dir.path[HF__FILE_DB],
                           s->sqlite_dir.path[HF__FILE_DB]);
}

static int damaged(const struct hf__sqlite *s, int rc, hf_error *err)
{
    const char *db = s->sqlite_dir.path[HF__FILE_DB];

    return hf__fail_native(
        err, HF_EPROTO, rc,
        "%s is %s (%s); it was left as it is: stop all "
        "programs that use it, then move it away",
        db, (rc & 0xff) == SQLITE_NOTADB ? "not a database" : "damaged",
        sqlite3_errstr(rc));
}

int hf__sqlite_fail_moved(const struct hf__sqlite *s, int file, hf_error *err)
{
    return hf__fail(err, HF_EUNSAFE,
                    "%s was deleted, cut off or replaced while in use; "
                    "stop all programs that use %s, then start them again",
                    s->sqlite_dir.path[file], s->sqlite_dir.path[HF__FILE_DB]);
}

int hf__sql_status(const struct hf__sqlite *s, int rc, hf_error *err)
{
    const char *db = s->sqlite_dir.path[HF__FILE_DB];

    if (rc == SQLITE_READONLY_DBMOVED && s->moved_file >= 0) {
        return hf__sqlite_fail_moved(s, s->moved_file, err);
    }
    if (hf__sql_is_full(s, rc)) {
        return hf__fail_native(err, HF_EUNAVAIL, rc,
                               "disk full: %s cannot grow; free space in %s",
                               db, s->sqlite_dir.folder);
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

/* ---- idle connections */

void hf__pool_take(struct hf__sqlite *s)
{
    struct hf__side *side = s->local.side;

    if (s->db == NULL) {
        HF_SCOPED_LOCK(&side->lock);
        /* The list is never empty: each open session has given it one. */
        HF_ASSERT(!hf__list_is_empty(&side->idle));
        s->db = HF__ELEMENT(side->idle.prev, struct hf__connection, idle);
        hf__list_remove(&s->db->idle);
    }
    s->db->session = s;
    atomic_store(&s->db->is_busy, true);
}

void hf__pool_give(struct hf__sqlite *s)
{
    struct hf__side *side = s->local.side;

    atomic_store(&s->db->is_busy, false);
    s->db->session = NULL;
    HF_SCOPED_LOCK(&side->lock);
    hf__list_push(&side->idle, &s->db->idle);
    s->db = NULL;
}
