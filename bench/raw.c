/* SPDX-License-Identifier: MIT */
/*
 * Locks in SQLite by hand. The statements are copies of those in
 * src/backend/sqlite (sql.c, schema.c) and must follow them; what the store
 * does for safety (order of writers, bytes of the living, files that were
 * moved) is left out on purpose: that is the library's price.
 */
#include "bench/raw.h"

#include "bench/measure.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COLUMNS                                                                \
    "key,fence,token,expires,keep_until,keep_us,boot,side,acquired_at,"        \
    "freed_at,broken,label,host,pid,thread,note"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef:4026531834"
#define SIDE "64768:1048577"

enum { BEGIN, COMMIT, ROLLBACK, GET, PUT, FREE, COUNT };

static const char *const texts[COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [GET] = "SELECT " COLUMNS " FROM holdfast_lock WHERE key=?1",
    [PUT] = "INSERT OR REPLACE INTO holdfast_lock(" COLUMNS ") VALUES"
            "(?1,?2,?3,?4,0,0,?5,?6,?7,0,?8,?9,?10,?11,?12,?13)",
    [FREE] = "UPDATE holdfast_lock SET token=NULL,expires=0,side=NULL,"
             "keep_until=?1,keep_us=?2,freed_at=?3,boot=?4 "
             "WHERE key=?5 AND token=?6",
};

static const char schema[] =
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=NORMAL;PRAGMA temp_store=MEMORY;"
    "PRAGMA cache_size=-1024;PRAGMA trusted_schema=OFF;"
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
    " label TEXT, host TEXT, pid INTEGER, thread TEXT, note TEXT"
    ") WITHOUT ROWID";

struct raw {
    sqlite3 *db;
    sqlite3_stmt *statement[COUNT];
    uint64_t tokens;
};

struct raw *raw_open(const char *path, int busy_ms)
{
    struct raw *raw = calloc(1, sizeof *raw);
    int i;

    if (!raw ||
        sqlite3_open_v2(path, &raw->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
                        NULL) != SQLITE_OK) {
        bench_fail("cannot open %s", path);
    }
    (void)sqlite3_busy_timeout(raw->db, busy_ms);
    if (sqlite3_exec(raw->db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        bench_fail("%s: %s", path, sqlite3_errmsg(raw->db));
    }
    for (i = 0; i < COUNT; i++) {
        if (sqlite3_prepare_v3(raw->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &raw->statement[i], NULL) != SQLITE_OK) {
            bench_fail("%s: %s", texts[i], sqlite3_errmsg(raw->db));
        }
    }
    raw->tokens = (uint64_t)(uintptr_t)raw;
    return raw;
}

void raw_close(struct raw *raw)
{
    int i;

    for (i = 0; i < COUNT; i++) {
        (void)sqlite3_finalize(raw->statement[i]);
    }
    (void)sqlite3_close_v2(raw->db);
    free(raw);
}

static bool step(struct raw *raw, int which)
{
    sqlite3_stmt *statement = raw->statement[which];
    int rc = sqlite3_step(statement);

    (void)sqlite3_reset(statement);
    return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    (void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static int64_t now_us(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* True: the name is free; gives its fence. */
static bool look(struct raw *raw, const char *key, int64_t *ret_fence)
{
    sqlite3_stmt *get = raw->statement[GET];
    bool is_free = true;

    *ret_fence = 0;
    bind_text(get, 1, key);
    if (sqlite3_step(get) == SQLITE_ROW) {
        *ret_fence = sqlite3_column_int64(get, 1);
        is_free = sqlite3_column_type(get, 2) == SQLITE_NULL ||
                  sqlite3_column_int64(get, 3) <= now_us(CLOCK_BOOTTIME);
    }
    (void)sqlite3_reset(get);
    return is_free;
}

static bool put(struct raw *raw, const char *key, const unsigned char *token)
{
    sqlite3_stmt *put = raw->statement[PUT];
    int64_t wall_us = now_us(CLOCK_REALTIME);
    int64_t fence;

    if (!look(raw, key, &fence)) {
        return false;
    }
    bind_text(put, 1, key);
    (void)sqlite3_bind_int64(put, 2, fence >= wall_us ? fence + 1 : wall_us);
    (void)sqlite3_bind_blob(put, 3, token, 16, SQLITE_STATIC);
    (void)sqlite3_bind_int64(put, 4, now_us(CLOCK_BOOTTIME) + 30000000);
    bind_text(put, 5, BOOT);
    bind_text(put, 6, SIDE);
    (void)sqlite3_bind_int64(put, 7, wall_us);
    (void)sqlite3_bind_int64(put, 8, 0);
    bind_text(put, 9, "bench");
    bind_text(put, 10, "localhost");
    (void)sqlite3_bind_int64(put, 11, getpid());
    bind_text(put, 12, "bench");
    bind_text(put, 13, "");
    return step(raw, PUT);
}

static bool clear(struct raw *raw, const char *key, const unsigned char *token)
{
    sqlite3_stmt *update = raw->statement[FREE];

    (void)sqlite3_bind_int64(update, 1, now_us(CLOCK_BOOTTIME));
    (void)sqlite3_bind_int64(update, 2, 0);
    (void)sqlite3_bind_int64(update, 3, now_us(CLOCK_REALTIME));
    bind_text(update, 4, BOOT);
    bind_text(update, 5, key);
    (void)sqlite3_bind_blob(update, 6, token, 16, SQLITE_STATIC);
    return step(raw, FREE) && sqlite3_changes(raw->db) == 1;
}

static bool
transact(struct raw *raw, const char *key, const unsigned char *token,
         bool (*change)(struct raw *, const char *, const unsigned char *))
{
    if (!step(raw, BEGIN)) {
        return false;
    }
    if (change(raw, key, token) && step(raw, COMMIT)) {
        return true;
    }
    if (!sqlite3_get_autocommit(raw->db)) {
        (void)step(raw, ROLLBACK);
    }
    return false;
}

bool raw_pair(struct raw *raw, const char *key)
{
    unsigned char token[16] = {0};

    raw->tokens++;
    memcpy(token, &raw->tokens, sizeof raw->tokens);
    if (!transact(raw, key, token, put)) {
        return false;
    }
    /* A row that stays held would be an error in every later round. */
    while (!transact(raw, key, token, clear)) {
    }
    return true;
}
