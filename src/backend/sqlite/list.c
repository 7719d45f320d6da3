/* SPDX-License-Identifier: MIT */
/*
 * list(): every grant of names with a prefix, in the order of keys, from one
 * state of the database. Called by the session's thread.
 */
#include "src/backend/sqlite/pool.h"
#include "src/backend/sqlite/row.h"
#include "src/backend/sqlite/sqlite.h"

#include <string.h>

struct listing {
    const struct hf__key *prefix;
    hf__list_fn fn;
    void *arg;
};

/* True: the receiver has had enough. */
static bool tell(struct hf__sqlite *s, sqlite3_stmt *statement,
                 const struct listing *listing)
{
    struct hf__record record;
    struct hf__row row;
    const char *key = (const char *)sqlite3_column_text(statement, 0);
    size_t length = (size_t)sqlite3_column_bytes(statement, 0);
    size_t name_at = listing->prefix->name_at;

    hf__row_read_grant(s, statement, &row, &record);
    if (!record.is_held || key == NULL || length < name_at) {
        return false;
    }
    return listing->fn(listing->arg, key + name_at, length - name_at,
                       &record) != 0;
}

static int run(struct hf__sqlite *s, sqlite3_stmt *statement,
               const struct listing *listing)
{
    int rc = sqlite3_step(statement);

    while (rc == SQLITE_ROW) {
        if (hf__is_interrupted(&s->head) ||
            !hf__before(hf__now(), s->deadline)) {
            return SQLITE_BUSY;
        }
        if (tell(s, statement, listing)) {
            return SQLITE_OK;
        }
        rc = sqlite3_step(statement);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int hf__sqlite_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                    void *arg, hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct listing listing = {prefix, fn, arg};
    char end[HF__KEY_MAX + 1];
    sqlite3_stmt *statement;
    int rc;
    int r;

    hf__sqlite_begin(s, deadline, err);
    if (hf__sqlite_has_moved(s)) {
        return hf__sqlite_fail_moved(s, s->moved_file, err);
    }
    /* No byte of UTF-8 is as high as the one that ends the range. */
    memcpy(end, prefix->bytes, prefix->length);
    end[prefix->length] = (char)0xff;
    hf__pool_take(s);
    hf__row_set_clock(s);
    statement = hf__sql(s, HF__SQL_LIST);
    if (statement == NULL) {
        rc = hf__sql_failure(s);
    } else {
        hf__bind_key(statement, 1, prefix);
        (void)sqlite3_bind_text(statement, 2, end, prefix->length + 1,
                                SQLITE_STATIC);
        rc = run(s, statement, &listing);
        (void)sqlite3_reset(statement);
    }
    r = hf__sql_status(s, rc, err);
    if (r == HF_OK) {
        hf__pool_give(s);
    }
    return r;
}
