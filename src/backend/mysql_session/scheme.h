/* SPDX-License-Identifier: MIT */
/*
 * What the schemes whose locks are a connection's do each in its own way: a
 * user lock alone (scheme=session, scheme.c), or a row that an open
 * transaction has locked, with a user lock beside it that says whose it is
 * (scheme=row, src/backend/mysql_row/). All else of them is session.h's.
 *
 * Thread: the front's.
 */
#ifndef HF_BACKEND_MYSQL_SESSION_SCHEME_H
#define HF_BACKEND_MYSQL_SESSION_SCHEME_H

#include "src/backend/mysql/schema.h"
#include "src/backend/mysql_session/session.h"

/* The table of holders and fences: its columns are the same for all. */
#define HF__UL_HOLDER_COLUMNS(X)                                               \
    X(name_key, HF__KIND_BYTES, 320, true, "VARBINARY(320) NOT NULL")          \
    X(lock_name, HF__KIND_TEXT, 64, false, HF__SQL_WORDS(64))                  \
    X(fence, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)    \
    X(broken, HF__KIND_UNSIGNED, 8, false, "BIGINT UNSIGNED" HF__SQL_NUMBER)   \
    X(token, HF__KIND_BYTES, 16, false, "VARBINARY(16) NOT NULL DEFAULT ''")   \
    X(connection, HF__KIND_UNSIGNED, 8, false,                                 \
      "BIGINT UNSIGNED" HF__SQL_NUMBER)                                        \
    X(acquired_at, HF__KIND_SIGNED, 8, false, "BIGINT" HF__SQL_NUMBER)         \
    HF__OWNER_COLUMNS(X)

struct hf__report;

struct hf__ul_scheme {
    const char *name;
    const char *what;     /* it locks, for people */
    const char *prefix;   /* of the names of its user locks */
    const char *patience; /* seconds for a user lock that is tried */
    const char *table;    /* of holders and fences */
    const struct hf__schema *schema;
    bool is_apart; /* a lock's line has nothing but that lock, and is no home */

    /* A new line, for locks if is_apart, is as it must be. NULL: it is. */
    int (*fit)(struct hf__ul_front *f);
    /* The first session of a front: what the server can. NULL: nothing. */
    int (*probe)(struct hf__ul_front *f);
    /* Write hf__ul_write_packet() and send it, as hf__ul_line_ask(). */
    int (*ask)(struct hf__ul_front *f, struct hf__ul_line *line);
    /* Before each question of a line that stands in a queue. NULL: nothing. */
    int (*stand)(struct hf__ul_front *f, struct hf__ul_line *line,
                 bool is_missing);
    /* The question's end, after "SELECT GET_LOCK(name,". */
    void (*write_queue)(struct hf__ul_front *f);
    /* In the packet that deletes the record of an idle name. NULL: nothing. */
    void (*write_deletion)(struct hf__text *to, const char *key, size_t length);
    /* What check() says besides, as hf__ul_line_ask(). NULL: nothing. */
    int (*check)(struct hf__ul_front *f, struct hf__ul_line *line,
                 struct hf__report *to);
};

extern const struct hf__ul_scheme hf__ul_session_scheme; /* store.c's */

/* What the tasks that have a lock ask: one SELECT, without a FROM. */
void hf__ul_write_packet(struct hf__ul_front *f,
                         const struct hf__ul_line *line);

/* open() of a store with that scheme. `most`: locks of one line. */
HF_MUST_CHECK int hf__ul_open(struct hf__ul_front *f, const struct hf__url *url,
                              const char *allow, int most);
void hf__ul_close(void *state);

#endif
