/* SPDX-License-Identifier: MIT */
/*
 * Growing the database by SQLite's own file controls, for no descriptor of
 * ours may be opened on it; merging the log. Called by the session's thread.
 */
#include "src/backend/sqlite/space.h"

/* Others read for microseconds; a stranger may for hours. */
#define MERGE_MS 10

/* Of all pages, in the transaction that runs. */
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

/* How long the database is on the disk; -1: not to be known. */
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

/* SQLite heeds the hint only while there is a chunk. It is a page: what has
 * its blocks must need no more of them. And with one SQLite would round up
 * also where it cuts off, which leaves holes. */
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
    /* What the system's VFS does not know it does not do: then the log is what
     * a change needs blocks for. */
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

/* SQLite may make the file longer by a zero in each block behind its end. Where
 * pages are missing there that are committed, somebody may be merging them just
 * then; so it is left to that, and nothing is overwritten. */
static int take(struct hf__sqlite *s, int64_t bytes)
{
    return length_of(s) >= s->db->bytes_before ? grow(s, bytes) : SQLITE_OK;
}

/* Another program may have merged the log just before the commit, and cut off
 * what was taken: then the pages themselves must go there. */
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

    if (rc == SQLITE_OK && bytes > s->db->bytes) {
        rc = take(s, bytes);
    }
    if (rc == SQLITE_OK) {
        rc = hf__sql_run(s, HF__SQL_COMMIT);
    }
    /* Blocks of a change that failed are cut off at the next merging. */
    if (rc == SQLITE_OK && bytes > s->db->bytes) {
        settle(s, bytes);
    } else if (rc == SQLITE_OK) {
        s->db->bytes = bytes;
    }
    return rc;
}

void hf__space_merge(struct hf__sqlite *s)
{
    hf__time deadline = s->local.plain.deadline;
    int rc = SQLITE_BUSY;

    /* The busy handler's, too; it is not asked while another one merges. */
    s->local.plain.deadline =
        hf__earlier(deadline, hf__after_ms(hf__now(), MERGE_MS));
    while (rc == SQLITE_BUSY &&
           hf__before(hf__now(), s->local.plain.deadline)) {
        rc = sqlite3_wal_checkpoint_v2(s->db->handle, "main",
                                       SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        if (rc == SQLITE_BUSY) {
            hf__sleep_until(hf__after_ns(hf__now(), HF__MS / 2));
        }
    }
    s->local.plain.deadline = deadline;
}
