/* SPDX-License-Identifier: MIT */
/*
 * The locks that this client has on the server, as far as it knows: each user
 * lock with its connection, found by claim and by name. A name may have two for
 * a while, one that was asked for without an answer yet and one that the server
 * gave to another connection: the later is found. Also the names and replies of
 * user locks, which connections are not needed, and waking sessions when a
 * connection changes. Called by the sessions' threads; for a pool's data its
 * mutex is held.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/mysql/row.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* Room for losses to report; LOST_MAX limits it if there is no listener. */
#define LOST_MIN 64U
#define LOST_MAX 65536U

/* Most bytes of database and key in a name that is written as it is. */
#define PLAIN_MAX 60
/* The most connections without locks that are kept. */
#define SPARES_MAX 4

/* ---- names, replies and errors */

/* Does every server take these bytes for the same, whatever it does to
 * letters? */
static bool is_plain(const char *bytes, size_t length, const char *more)
{
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
            (c == '\0' || strchr(more, c) == NULL)) {
            return false;
        }
    }
    return true;
}

/* The strictest rule for the names of user locks is 64 characters of one case.
 * The names are the server's, so the database is a part of them. A short and
 * plain name is left readable, for people. */
void hf__ul_write_name(struct hf__ul_session *f, const char *key,
                       uint16_t length)
{
    struct hf__text *t = &f->mysql.sql;
    const char *database = f->pool->database;
    size_t of_database = strlen(database);

    if (of_database + length <= PLAIN_MAX && is_plain(key, length, "_.:-") &&
        is_plain(database, of_database, "_")) {
        hf__text_addf(t, "'%s:%s:%.*s'", f->scheme->prefix, database,
                      (int)length, key);
        return;
    }
    hf__text_addf(t, "CONCAT('%s.',SHA1(CONCAT(", f->scheme->prefix);
    hf__text_hex(t, database, of_database + 1);
    hf__text_add(t, ",");
    hf__text_hex(t, key, length);
    hf__text_add(t, ")))");
}

MYSQL_ROW hf__ul_row(struct hf__ul_session *f, unsigned n)
{
    MYSQL_RES *rows = f->mysql.reply.rows;

    return rows == NULL || mysql_num_fields(rows) != n ? NULL
                                                       : mysql_fetch_row(rows);
}

bool hf__ul_is_same(const struct hf__ul_session *f, MYSQL_ROW row)
{
    return hf__column_u64(row[0]) == f->mysql.server.connection_id;
}

void hf__ul_fail(const struct hf__ul_session *f, struct hf__op *op, int result)
{
    op->result = result;
    if (f->mysql.t.err != NULL) {
        (void)hf__fail(op->err, result, "%s", f->mysql.t.err->text);
    }
}

bool hf__ul_is_cut_short(unsigned error)
{
    switch (error) {
    case 1317: /* ER_QUERY_INTERRUPTED */
    case 1969: /* ER_STATEMENT_TIMEOUT of MariaDB */
    case 3024: /* ER_QUERY_TIMEOUT of MySQL */
        return true;
    default:
        return false;
    }
}

/* ---- the locks of a pool */

struct hf__ul_lock *hf__ul_lock_new(struct hf__ul_pool *pool,
                                    struct hf__ul_conn *conn, const char *key,
                                    uint16_t length)
{
    struct hf__ul_lock *lock = hf__alloc(sizeof *lock);
    struct hf__ul_lock *other = hf__ul_lock_named(pool, key, length);

    if (lock == NULL) {
        return NULL;
    }
    lock->conn = conn;
    lock->length = length;
    memcpy(lock->key, key, length);
    if (other != NULL) {
        hf__map_remove(&pool->keys, &other->by_key);
        other->by_key.key = NULL;
    }
    hf__map_add(&pool->keys, &lock->by_key, lock->key, length);
    hf__list_push(&conn->locks, &lock->in_conn);
    conn->n_locks++;
    return lock;
}

void hf__ul_lock_claim(struct hf__ul_pool *pool, struct hf__ul_lock *lock,
                       const struct hf__token *token)
{
    if (lock->by_token.key != NULL) { /* of a claim that was given up */
        hf__map_remove(&pool->tokens, &lock->by_token);
    }
    lock->token = *token;
    hf__map_add(&pool->tokens, &lock->by_token, (const char *)lock->token.bytes,
                sizeof lock->token.bytes);
}

void hf__ul_lock_free(struct hf__ul_pool *pool, struct hf__ul_lock *lock)
{
    if (lock->by_token.key != NULL) {
        hf__map_remove(&pool->tokens, &lock->by_token);
    }
    if (lock->by_key.key != NULL) {
        hf__map_remove(&pool->keys, &lock->by_key);
    }
    hf__list_remove(&lock->in_conn);
    lock->conn->n_locks--;
    hf__free(lock);
}

struct hf__ul_lock *hf__ul_lock_of(struct hf__ul_pool *pool,
                                   const struct hf__token *token)
{
    struct hf__map_link *found = hf__map_find(
        &pool->tokens, (const char *)token->bytes, sizeof token->bytes);

    return found == NULL ? NULL
                         : HF__ELEMENT(found, struct hf__ul_lock, by_token);
}

struct hf__ul_lock *hf__ul_lock_named(struct hf__ul_pool *pool, const char *key,
                                      uint16_t length)
{
    struct hf__map_link *found = hf__map_find(&pool->keys, key, length);

    return found == NULL ? NULL
                         : HF__ELEMENT(found, struct hf__ul_lock, by_key);
}

void hf__ul_lock_lose(struct hf__ul_pool *pool, const struct hf__ul_lock *lock)
{
    if (pool->n_lost == pool->lost_room && pool->lost_room < LOST_MAX) {
        unsigned room = pool->lost_room == 0 ? LOST_MIN : 2 * pool->lost_room;
        struct hf__token *lost =
            hf__resize(pool->lost, room * sizeof *pool->lost);

        if (lost != NULL) {
            pool->lost = lost;
            pool->lost_room = room;
        }
    }
    if (pool->n_lost < pool->lost_room) { /* else its renewal will find out */
        pool->lost[pool->n_lost++] = lock->token;
        pool->is_news = true;
    }
}

/* ---- waking other sessions */

void hf__ul_notify(struct hf__ul_pool *pool)
{
    HF__LIST_EACH (it, &pool->sessions) {
        struct hf__ul_session *f =
            HF__ELEMENT(it, struct hf__ul_session, in_pool);

        if (f->is_waiting || (pool->is_news && pool->listener == f)) {
            hf__waker_wake(&f->mysql.t.waker);
        }
    }
    if (pool->listener != NULL) {
        pool->is_news = false;
    }
}

bool hf__ul_conn_is_spare(const struct hf__ul_conn *conn)
{
    return conn->owner == NULL && conn->n_locks == 0 && !conn->is_busy;
}

static int count_spares(const struct hf__ul_pool *pool)
{
    int n = 0;

    HF__LIST_EACH (it, &pool->conns) {
        n += hf__ul_conn_is_spare(HF__ELEMENT(it, struct hf__ul_conn, in_pool));
    }
    return n;
}

bool hf__ul_conn_is_needless(const struct hf__ul_pool *pool,
                             const struct hf__ul_conn *conn)
{
    return conn->owner == NULL && conn->n_locks == 0 &&
           (conn->owes || count_spares(pool) >= SPARES_MAX);
}
