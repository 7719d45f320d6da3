/* SPDX-License-Identifier: MIT */
/*
 * Using a connection to the database: the statements, what SQLite's codes mean
 * for a lock, and the idle connections. SQLite's own codes are `int rc`, ours
 * `int r`. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_SQL_H
#define HF_BACKEND_SQLITE_SQL_H

#include "src/backend/backend.h"
#include "src/backend/sqlite/dir.h"
#include "src/base/base.h"
#include "src/base/list.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

struct hf__sqlite;

enum hf__statement {
    HF__SQL_BEGIN_READ,
    HF__SQL_BEGIN_WRITE,
    HF__SQL_COMMIT,
    HF__SQL_ROLLBACK,
    HF__SQL_GET,    /* a name's row: key */
    HF__SQL_PUT,    /* every column */
    HF__SQL_RENEW,  /* expires, key, token, now, boot, is_detached */
    HF__SQL_FREE,   /* reopens, freed_at, key, token; not if queued */
    HF__SQL_CHANGE, /* what a decision may change, save a new grant */
    HF__SQL_PART,   /* key, token */
    HF__SQL_MARK,   /* key: does it have rows in the other tables? */
    HF__SQL_SCAN,   /* keys: from, to, limit, longest, free ones too? */
    HF__SQL_DELETE, /* key */
    /* Grants beside others. */
    HF__SQL_HOLDERS, /* key, token, all?, now; if not all: without other tokens'
                        unexpired shared grants */
    HF__SQL_HOLDERS_OF,     /* key, token */
    HF__SQL_HOLDERS_PUT,    /* every column */
    HF__SQL_HOLDERS_CHANGE, /* what else a decision may change */
    HF__SQL_HOLDERS_PART,   /* key, token */
    HF__SQL_HOLDERS_LEAVE,  /* key, token */
    HF__SQL_HOLDERS_DELETE, /* every row: key */
    /* Tickets. */
    HF__SQL_WAITERS,        /* every row in queue order: key */
    HF__SQL_WAITERS_OF,     /* key, token */
    HF__SQL_WAITERS_JOIN,   /* every column */
    HF__SQL_WAITERS_LEAVE,  /* key, token */
    HF__SQL_WAITERS_DELETE, /* every row: key */
    /* Cells. */
    HF__SQL_CELL,       /* key; the result says if the row is valid */
    HF__SQL_CELL_PUT,   /* every column */
    HF__SQL_CELL_CLEAN, /* tombstones: prefix, below version, limit */
    HF__SQL_GET_META,
    HF__SQL_PUT_META,   /* boot, base, ceiling */
    HF__SQL_RAISE_BASE, /* base */
    HF__SQL_PAGES
};
#define HF__SQL_COUNT (HF__SQL_PAGES + 1)

/* This is not part of the session because a forked child must find it after the
 * core has freed the session: see connect.h. */
struct hf__connection {
    struct hf__link link;       /* in the process's list, see connect.h */
    struct hf__link idle;       /* in the store's list, see below */
    struct hf__sqlite *session; /* the session that uses it now */
    sqlite3 *handle;
    sqlite3_stmt *statement[HF__SQL_COUNT];
    struct hf__file_ids ids;
    int system_errno; /* of the last statement that failed */
    /* See transaction.h. */
    int64_t page_size;
    int64_t bytes_before; /* of all pages when the transaction began */
    int64_t bytes;        /* of all pages at a commit; they have blocks */
    atomic_bool is_busy;  /* SQLite may be running in it */
};

/* A parameter of a statement. It borrows texts and tokens until the statement
 * was run. */
struct hf__value {
    int type; /* SQLITE_INTEGER, _TEXT, _BLOB, _NULL */
    int64_t number;
    const void *bytes;
    size_t size;
};

static inline struct hf__value hf__value_of(int64_t number)
{
    return (struct hf__value){SQLITE_INTEGER, number, NULL, 0};
}

/* NULL becomes SQL NULL. */
static inline struct hf__value hf__value_of_text(const char *text)
{
    return (struct hf__value){text != NULL ? SQLITE_TEXT : SQLITE_NULL, 0, text,
                              text != NULL ? strlen(text) : 0};
}

static inline struct hf__value hf__value_of_key(const struct hf__key *key)
{
    return (struct hf__value){SQLITE_TEXT, 0, key->bytes, key->length};
}

static inline struct hf__value hf__value_of_token(const struct hf__token *token)
{
    return (struct hf__value){SQLITE_BLOB, 0, token->bytes,
                              sizeof token->bytes};
}

/* Five values. */
#define HF__VALUES_OF_OWNER(owner)                                             \
    hf__value_of_text((owner)->label), hf__value_of_text((owner)->host),       \
        hf__value_of((owner)->pid), hf__value_of_text((owner)->thread),        \
        hf__value_of_text((owner)->note)

/* Get the statement, prepared at its first use and ready for binding. NULL: out
 * of memory, or the schema has changed. */
sqlite3_stmt *hf__sql(struct hf__sqlite *s, enum hf__statement which);
/* Why hf__sql() just gave NULL. Call it straight after: any other call would
 * replace the reason with its own success. */
int hf__sql_failure(const struct hf__sqlite *s);
/* sqlite3_step() that also records the system's errno of a failure. */
HF_MUST_CHECK int hf__sql_step(struct hf__sqlite *s, sqlite3_stmt *statement);
/* Run a statement whose rows, if any, do not matter, and reset it. */
HF_MUST_CHECK int hf__sql_run(struct hf__sqlite *s, enum hf__statement which);
/* Get the statement with these values bound in the order of its parameters. The
 * values must stay valid until it was run. Results as hf__sql(). */
sqlite3_stmt *hf__sql_with(struct hf__sqlite *s, enum hf__statement which,
                           const struct hf__value *, int n);
HF_MUST_CHECK int hf__sql_run_with(struct hf__sqlite *s,
                                   enum hf__statement which,
                                   const struct hf__value *, int n);
#define HF__VALUES(...)                                                        \
    (const struct hf__value[]){__VA_ARGS__},                                   \
        (int)(sizeof((const struct hf__value[]){__VA_ARGS__}) /                \
              sizeof(struct hf__value))
#define HF__SQL_WITH(s, which, ...)                                            \
    hf__sql_with(s, which, HF__VALUES(__VA_ARGS__))
#define HF__SQL_RUN(s, which, ...)                                             \
    hf__sql_run_with(s, which, HF__VALUES(__VA_ARGS__))
/* Roll back the running transaction, if there is one. */
void hf__sql_undo(struct hf__sqlite *s);
/* Copy the first column of the first row of `text` into `to`, with `bound` as
 * its parameter (NULL: it has none). SQLITE_OK, or the reason for having no
 * row. */
HF_MUST_CHECK int hf__sql_ask(struct hf__sqlite *s, const char *text,
                              const char *bound, char *to, size_t size);
/* Read the integer in the first column of the first row of `text`. SQLITE_OK,
 * or the reason for having no row. */
HF_MUST_CHECK int hf__sql_number(struct hf__sqlite *s, const char *text,
                                 int64_t *ret_number);

/* "PATH-wal was deleted, cut off or replaced while in use; …" */
HF_MUST_CHECK int hf__sqlite_fail_moved(const struct hf__sqlite *s, int file,
                                        hf_error *err);
/* Translate a SQLite code: HF_OK for SQLITE_OK and SQLITE_DONE, HF_EUNAVAIL for
 * SQLITE_BUSY; the text of a failure names the path and the remedy. */
int hf__sql_status(const struct hf__sqlite *s, int rc, hf_error *err);
/* Does this code make the session unusable? */
bool hf__sql_is_fatal(const struct hf__sqlite *s, int rc);
/* Did an operation fail because the disk is full? */
bool hf__sql_is_full(const struct hf__sqlite *s, int rc);

/* ---- idle connections of a process to one store
 *
 * Each session adds one connection when it opens and takes one away when it
 * closes, but works with whichever was used last. The pages are in that one's
 * cache, while a commit through any other connection empties the cache. A
 * client acquires in one session and releases in another, so without this every
 * transaction would read its pages again. Sessions that work at the same time
 * have a connection each, so they never wait for one. */

/* Set s->db to an idle connection, unless a failed call left one there. */
void hf__pool_take(struct hf__sqlite *s);
/* Make s->db idle. */
void hf__pool_give(struct hf__sqlite *s);

#endif
