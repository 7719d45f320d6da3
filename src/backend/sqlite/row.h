/* SPDX-License-Identifier: MIT */
/*
 * One record of holdfast_lock: reading it, judging where it stands by this
 * kernel's clock and by what the kernel knows of the holder, and telling the
 * core. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_ROW_H
#define HF_BACKEND_SQLITE_ROW_H

#include "src/backend/sqlite/sqlite.h"

enum hf__standing {
    HF__STANDS_FREE,
    HF__STANDS_KEPT,    /* free, but closed for a while */
    HF__STANDS_HELD,    /* the lease runs */
    HF__STANDS_DEAD,    /* the lease runs, the holder is gone */
    HF__STANDS_EXPIRED, /* the lease has run out */
    HF__STANDS_STALE,   /* held before the machine started anew */
    HF__STANDS_FOREIGN, /* held by another time namespace's clock, or alive
                           under another boot id */
    HF__STANDS_DAMAGED  /* not what we wrote */
};

struct hf__row {
    enum hf__standing standing;
    uint64_t fence;         /* 0: there is no such row */
    uint64_t broken;        /* fence of the last hold that was broken */
    struct hf__token token; /* of the last holder; zero: let go */
    int64_t remaining_us;   /* of the lease, or the keeping; −1: unknown */
    int holder_lives;       /* as in hf__record */
    uint64_t life;          /* of the holder's process; 0: unknown */
    bool has_beside; /* of a name: there may be grants in holdfast_beside, */
    bool has_line;   /* … and tickets in holdfast_ticket */
    struct hf__manner manner; /* of a grant beside others */
    int slot;
    bool is_broken; /* one that an operator ended; its holder is yet to hear */
};

/* Set s->now_us and s->wall_us; before judging. */
void hf__row_set_clock(struct hf__sqlite *s);

/* Find a name. record may be NULL. SQLITE_OK also if there is none. */
HF_MUST_CHECK int hf__row_get(struct hf__sqlite *s, const struct hf__key *key,
                              struct hf__row *ret_row,
                              struct hf__record *record);
/* The same from a row that HF__SQL_GET or HF__SQL_SCAN stands on. */
void hf__row_read(const struct hf__sqlite *s, sqlite3_stmt *statement,
                  struct hf__row *ret_row, struct hf__record *record);
/* A grant, from a row of HF__SQL_LIST or one of holdfast_beside. */
void hf__row_read_grant(const struct hf__sqlite *s, sqlite3_stmt *statement,
                        struct hf__row *ret_row, struct hf__record *record);
/* What nobody is told of: as at the start of each reading. */
void hf__row_clear(struct hf__row *row, struct hf__record *record);

/* When that row's name was granted, freed or broken last, by the wall clock. */
int64_t hf__row_touched_us(sqlite3_stmt *statement);

/* May a new claim have it now, as far as the name's own record says? */
bool hf__row_is_free(const struct hf__row *row);
/* Does a token own it, be its holder dead or of another clock? */
bool hf__row_is_held(const struct hf__row *row);

/* Bind a key or a token; they must live until the statement is run. */
void hf__bind_key(sqlite3_stmt *statement, int at, const struct hf__key *key);
void hf__bind_token(sqlite3_stmt *statement, int at,
                    const struct hf__token *token);
void hf__bind_text(sqlite3_stmt *statement, int at, const char *text);

/* The token in a column. False: there is none that we wrote. */
HF_MUST_CHECK bool hf__read_token(sqlite3_stmt *statement, int at,
                                  struct hf__token *ret_token);
/* The mode and the number of slots in two columns. False: as above. */
HF_MUST_CHECK bool hf__read_manner(sqlite3_stmt *statement, int at,
                                   struct hf__manner *ret_manner);
/* Label, host, pid, thread and note, as far as they are text, in columns that
 * follow one another. */
void hf__read_owner(sqlite3_stmt *statement, int at, struct hf__owner *owner);
void hf__bind_owner(sqlite3_stmt *statement, int at,
                    const struct hf__owner *owner);

#endif
