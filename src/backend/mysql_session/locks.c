/* SPDX-License-Identifier: MIT */
/*
 * What this client has on the server, as far as it knows: each user lock with
 * its line, found by its claim and by its name. Of one name there may be two
 * for a while, one that the server was asked for without an answer yet and one
 * that it gave to another line: the later is found. Also the words in which the
 * server is asked of a lock, and answers; which lines nobody needs; and who is
 * to look again when one changes. Called by the fronts' threads; what is of a
 * link, with its mutex held.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/mysql/row.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <string.h>

/* Of what is still to be told: where nobody listens it has an end. */
#define LOST_MIN 64U
#define LOST_MAX 65536U

/* Of both parts of a name that is left as it is. */
#define PLAIN_MAX 60
/* Lines without locks that are kept. */
#define SPARES_MAX 4

/* ---- what is said of a lock, and heard */

/* Bytes that mean the same to every server, whatever it does to letters. */
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

/* Within the strictest rule for such names: 64 letters, of one case. They are
 * the server's, so the database is a part of them. What is short and plain is
 * left as it is, for people who look. */
void hf__ul_write_name(struct hf__ul_front *f, const char *key, uint16_t length)
{
    struct hf__text *t = &f->mysql.sql;
    const char *database = f->link->database;
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

MYSQL_ROW hf__ul_row(struct hf__ul_front *f, unsigned n)
{
    MYSQL_RES *rows = f->mysql.reply.rows;

    return rows == NULL || mysql_num_fields(rows) != n ? NULL
                                                       : mysql_fetch_row(rows);
}

bool hf__ul_is_same(const struct hf__ul_front *f, MYSQL_ROW row)
{
    return hf__column_u64(row[0]) == f->mysql.server.connection_id;
}

void hf__ul_fail(const struct hf__ul_front *f, struct hf__op *op, int result)
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

/* ---- the locks of a link */

struct hf__ul_lock *hf__ul_lock_new(struct hf__ul_link *link,
                                    struct hf__ul_line *line, const char *key,
                                    uint16_t length)
{
    struct hf__ul_lock *lock = hf__alloc(sizeof *lock);
    struct hf__ul_lock *other = hf__ul_lock_named(link, key, length);

    if (lock == NULL) {
        return NULL;
    }
    lock->line = line;
    lock->length = length;
    memcpy(lock->key, key, length);
    if (other != NULL) {
        hf__map_remove(&link->keys, &other->by_key);
        other->by_key.key = NULL;
    }
    hf__map_add(&link->keys, &lock->by_key, lock->key, length);
    hf__list_push(&line->locks, &lock->in_line);
    line->n_locks++;
    return lock;
}

void hf__ul_lock_claim(struct hf__ul_link *link, struct hf__ul_lock *lock,
                       const struct hf__token *token)
{
    if (lock->by_token.key != NULL) { /* of a claim that was given up */
        hf__map_remove(&link->tokens, &lock->by_token);
    }
    lock->token = *token;
    hf__map_add(&link->tokens, &lock->by_token, (const char *)lock->token.bytes,
                sizeof lock->token.bytes);
}

void hf__ul_lock_free(struct hf__ul_link *link, struct hf__ul_lock *lock)
{
    if (lock->by_token.key != NULL) {
        hf__map_remove(&link->tokens, &lock->by_token);
    }
    if (lock->by_key.key != NULL) {
        hf__map_remove(&link->keys, &lock->by_key);
    }
    hf__list_remove(&lock->in_line);
    lock->line->n_locks--;
    hf__free(lock);
}

struct hf__ul_lock *hf__ul_lock_of(struct hf__ul_link *link,
                                   const struct hf__token *token)
{
    struct hf__map_link *found = hf__map_find(
        &link->tokens, (const char *)token->bytes, sizeof token->bytes);

    return found == NULL ? NULL
                         : HF__ELEMENT(found, struct hf__ul_lock, by_token);
}

struct hf__ul_lock *hf__ul_lock_named(struct hf__ul_link *link, const char *key,
                                      uint16_t length)
{
    struct hf__map_link *found = hf__map_find(&link->keys, key, length);

    return found == NULL ? NULL
                         : HF__ELEMENT(found, struct hf__ul_lock, by_key);
}

void hf__ul_lock_lose(struct hf__ul_link *link, const struct hf__ul_lock *lock)
{
    if (link->n_lost == link->lost_room && link->lost_room < LOST_MAX) {
        unsigned room = link->lost_room == 0 ? LOST_MIN : 2 * link->lost_room;
        struct hf__token *lost =
            hf__resize(link->lost, room * sizeof *link->lost);

        if (lost != NULL) {
            link->lost = lost;
            link->lost_room = room;
        }
    }
    if (link->n_lost < link->lost_room) { /* or its renewal finds it */
        link->lost[link->n_lost++] = lock->token;
        link->is_news = true;
    }
}

/* ---- who else is to know */

void hf__ul_stir(struct hf__ul_link *link)
{
    HF__LIST_EACH (it, &link->fronts) {
        struct hf__ul_front *f = HF__ELEMENT(it, struct hf__ul_front, in_link);

        if (f->is_waiting || (link->is_news && link->listener == f)) {
            hf__waker_wake(&f->mysql.t.waker);
        }
    }
    if (link->listener != NULL) {
        link->is_news = false;
    }
}

bool hf__ul_line_is_spare(const struct hf__ul_line *line)
{
    return line->owner == NULL && line->n_locks == 0 && !line->is_busy;
}

static int count_spares(const struct hf__ul_link *link)
{
    int n = 0;

    HF__LIST_EACH (it, &link->lines) {
        n += hf__ul_line_is_spare(HF__ELEMENT(it, struct hf__ul_line, in_link));
    }
    return n;
}

bool hf__ul_line_is_needless(const struct hf__ul_link *link,
                             const struct hf__ul_line *line)
{
    return line->owner == NULL && line->n_locks == 0 &&
           (line->owes || count_spares(link) >= SPARES_MAX);
}
