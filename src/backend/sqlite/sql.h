/* SPDX-License-Identifier: MIT */
/*
 * The connection to the database: the statements, what SQLite's codes mean for
 * a lock, and the connections that are idle. SQLite's own codes are `int rc`,
 * ours `int r`. Thread: the session's.
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
    HF__SQL_PUT,    /* all of it */
    HF__SQL_RENEW,  /* expires, key, token, now, boot, is detached */
    HF__SQL_FREE,   /* reopens, freed_at, key, token: if there is no line */
    HF__SQL_CHANGE, /* what a decision may change but for a new grant */
    HF__SQL_PART,   /* key, token */
    HF__SQL_MARK,   /* key: what the other tables have of it */
    HF__SQL_SCAN,   /* keys: from, to, how many, longest, also of free names */
    HF__SQL_DELETE, /* key */
    /* Grants beside others. */
    HF__SQL_HOLDERS,        /* key, token, now: all, or but the shared that run
                              and are another's */
    HF__SQL_HOLDERS_OF,     /* key, token */
    HF__SQL_HOLDERS_PUT,    /* all of it */
    HF__SQL_HOLDERS_CHANGE, /* the rest of what a decision may change */
    HF__SQL_HOLDERS_PART,   /* key, token */
    HF__SQL_HOLDERS_LEAVE,  /* key, token */
    HF__SQL_HOLDERS_DELETE, /* all: key */
    /* Tickets. */
    HF__SQL_WAITERS,        /* all, in their order: key */
    HF__SQL_WAITERS_OF,     /* key, token */
    HF__SQL_WAITERS_JOIN,   /* all of it */
    HF__SQL_WAITERS_LEAVE,  /* key, token */
    HF__SQL_WAITERS_DELETE, /* all: key */
    /* Cells. */
    HF__SQL_CELL,       /* key; also whether all of it makes sense */
    HF__SQL_CELL_PUT,   /* all of it */
    HF__SQL_CELL_CLEAN, /* tombstones: prefix, of versions below, how many */
    HF__SQL_GET_META,
    HF__SQL_PUT_META,   /* boot, base, ceiling */
    HF__SQL_RAISE_BASE, /* base */
    HF__SQL_PAGES
};
#define HF__SQL_COUNT (HF__SQL_PAGES + 1)

/* Apart from the session, because a forked child must find it after the core
 * has freed that: see connect.h. */
struct hf__connection {
    struct hf__link link;       /* among the process's, see connect.h */
    struct hf__link idle;       /* among the store's, see below */
    struct hf__sqlite *session; /* that uses it now */
    sqlite3 *handle;
    sqlite3_stmt *statement[HF__SQL_COUNT];
    struct hf__file_ids ids;
    int system_errno; /* of the last statement that failed */
    /* See transaction.h. */
    int64_t page_size;
    int64_t bytes_before; /* of all pages, as the transaction began */
    int64_t bytes;        /* of all pages at a commit; they have blocks */
    atomic_bool is_busy;  /* between the first and last call of SQLite */
};

/* What a statement is given; texts and tokens are lent until it was run. */
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

/* NULL is none. */
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

/* Five of them. */
#define HF__VALUES_OF_OWNER(owner)                                             \
    hf__value_of_text((owner)->label), hf__value_of_text((owner)->host),       \
        hf__value_of((owner)->pid), hf__value_of_text((owner)->thread),        \
        hf__value_of_text((owner)->note)

/* The statement, prepared at first use, ready for binding. NULL: no memory,
 * or the schema is not what it was. */
sqlite3_stmt *hf__sql(struct hf__sqlite *s, enum hf__statement which);
/* Why hf__sql() has just given NULL: straight after it, for any other call
 * would put its own success in the place of the reason. */
int hf__sql_failure(const struct hf__sqlite *s);
/* sqlite3_step() of one that writes. */
HF_MUST_CHECK int hf__sql_step(struct hf__sqlite *s, sqlite3_stmt *statement);
/* Run a statement that gives no rows, or none of interest, and reset it. */
HF_MUST_CHECK int hf__sql_run(struct hf__sqlite *s, enum hf__statement which);
/* The statement with these values, in the order of its parameters; lent until
 * it was run. As hf__sql(). */
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
/* End the running transaction, if there is one, without a change. */
void hf__sql_undo(struct hf__sqlite *s);
/* The first column of the first row of `text`, as text, with `bound` (NULL: no)
 * in its place. SQLITE_OK, or why there is none. */
HF_MUST_CHECK int hf__sql_ask(struct hf__sqlite *s, const char *text,
                              const char *bound, char *to, size_t size);
/* The integer in the first column of the first row of `text`. SQLITE_OK, or
 * why there is none. */
HF_MUST_CHECK int hf__sql_number(struct hf__sqlite *s, const char *text,
                                 int64_t *ret_number);

/* "PATH-wal was deleted, cut off or replaced while in use; …" */
HF_MUST_CHECK int hf__sqlite_fail_moved(const struct hf__sqlite *s, int file,
                                        hf_error *err);
/* HF_OK for SQLITE_OK and SQLITE_DONE; else the status, and its text with
 * path and remedy. HF_EUNAVAIL for SQLITE_BUSY. */
int hf__sql_status(const struct hf__sqlite *s, int rc, hf_error *err);
/* Is the session of no use after this? */
bool hf__sql_is_fatal(const struct hf__sqlite *s, int rc);
/* Did an operation fail for want of space? */
bool hf__sql_is_full(const struct hf__sqlite *s, int rc);

/* ---- idle connections of a process to one store
 *
 * Each session brings one and takes one away, but works with whichever was used
 * last: that one's pages are in its cache, while each commit through another
 * empties it. A client's claims come in one session and its releases in
 * another, so without this every transaction would read its pages anew.
 * Sessions that work at the same time have a connection each, so none ever
 * waits for another. */

/* s->db becomes an idle connection, or stays what a failed call left. */
void hf__pool_take(struct hf__sqlite *s);
/* s->db is idle from now on. */
void hf__pool_give(struct hf__sqlite *s);

#endif
