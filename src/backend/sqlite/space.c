/* SPDX-License-Identifier: MIT */
/*
 * Growing the database by SQLite's own file controls, for no descriptor of
 * ours may be opened on it; merging the log. Called by the session's thread.
 */
#include "src/backend/sqlite/space.h"

/* The database grows by so much at once. */
#define CHUNK_BYTES 16384

/* Readers keep the log from being merged, for microseconds each. */
#define MERGE_TRIES 20

/* In the transaction that runs. */
static int count_pages(struct hf__sqlite *s, int64_t *ret_pages)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_PAGES);
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    rc = sqlite3_step(statement);
    *ret_pages = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_reset(statement);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* SQLite heeds the hint only while there is a chunk; and with one it would
 * round up also where it cuts off, which leaves holes. */
static int grow(struct hf__sqlite *s, int64_t bytes)
{
    int chunk = CHUNK_BYTES;
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
    return rc == SQLITE_OK ? SQLITE_OK : SQLITE_FULL;
}

int hf__space_take(struct hf__sqlite *s)
{
    int64_t pages = 0;
    int rc = count_pages(s, &pages);

    if (rc == SQLITE_OK && s->db->page_size == 0) {
        rc = hf__sql_number(s, "PRAGMA page_size", &s->db->page_size);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pages *= s->db->page_size;
    s->db->has_grown = pages > s->db->bytes;
    if (s->db->has_grown) {
        rc = grow(s, pages);
    }
    if (rc == SQLITE_OK) {
        s->db->bytes = pages;
    }
    return rc;
}

void hf__space_settle(struct hf__sqlite *s)
{
    if (s->db->has_grown) {
        (void)grow(s, s->db->bytes);
    }
}

static bool merge_log(struct hf__sqlite *s)
{
    int rc = SQLITE_BUSY;

    for (int i = 0; i < MERGE_TRIES; i++) {
        int frames = 0;
        int merged = 0;

        rc = sqlite3_wal_checkpoint_v2(
            s->db->handle, "main", SQLITE_CHECKPOINT_PASSIVE, &frames, &merged);
        if (rc != SQLITE_BUSY && (rc != SQLITE_OK || merged == frames)) {
            break;
        }
        hf__sleep_until(hf__after_ns(hf__now(), HF__MS / 2));
    }
    return rc == SQLITE_OK;
}

bool hf__space_make(struct hf__sqlite *s, bool is_modest)
{
    if (merge_log(s)) {
        return true;
    }
    if (!is_modest) {
        return false;
    }
    hf__side_drop_ballast(s->side);
    return merge_log(s);
}
