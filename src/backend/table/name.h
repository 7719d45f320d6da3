/* SPDX-License-Identifier: MIT */
/*
 * All that the tables have of one name, read by one statement and so from one
 * moment, in the form in which the engine decides on it: the record, the grants
 * that stand beside others, the tickets. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_NAME_H
#define HF_BACKEND_TABLE_NAME_H

#include "src/backend/name/name.h"

/* Bits of the column crowd: holdfast_beside or holdfast_ticket may have rows of
 * that name. */
#define HF__HAS_HOLDERS 1
#define HF__HAS_WAITERS 2

/* Times are by the server's clock. A ticket's fence is its number in the queue;
 * `life` says whether a connection has its wake lock. All zero is empty. */
struct hf__table_name {
    struct hf__name name;
    struct hf__inline_participants inline_one;
    const struct hf__key *key; /* lent */
    /* Columns of the record, as they were read: */
    uint64_t revision;
    uint64_t fence;
    unsigned crowd;
};

enum hf__table_part {
    HF__PART_NAME,  /* a row of holdfast_lock */
    HF__PART_GRANT, /* … of holdfast_beside */
    HF__PART_TICKET /* … of holdfast_ticket */
};

/* One row of any of the tables. Columns share fields; those that a table lacks
 * do not matter. Times that are left are by the server's clock. */
struct hf__table_row {
    enum hf__table_part part;
    const char *key;
    size_t key_length;
    uint64_t number; /* the fence; of a ticket its number in the queue */
    const void *token;
    size_t token_length;
    int64_t left_us;  /* until it expires; for a ticket, since its claim asked,
                         negative */
    int64_t since_us; /* 0: was not read */
    union {
        int64_t keep_left_us;
        int64_t mode; /* of grants and tickets */
    };
    union {
        uint64_t broken;
        int64_t slots; /* of grants and tickets */
    };
    union {
        uint64_t revision;
        int64_t slot; /* of a grant */
    };
    union {
        int64_t crowd;
        int64_t ended; /* of a grant: not 0, it was broken */
    };
    uint64_t life; /* not 0: a connection has its wake lock; 0: none, or was not
                      read */
    int64_t now_us;
    int64_t changed_us; /* of a record; 0: was not read */
    bool has_owner;
    struct hf__owner owner;
};

/* ---- columns, of any table */

/* No bytes give the zero token: the lock was released. False: this is not as we
 * wrote it. */
bool hf__column_token(const void *cell, size_t length,
                      struct hf__token *ret_token);
/* May this be the fence of a grant with the token, or (zero token) of a
 * released one? Fence 0 means that the name was never granted. */
bool hf__column_is_fence_of(uint64_t fence, const struct hf__token *token);
/* Copies text, cut where a letter ends. Bytes that are not UTF-8 give "". */
void hf__column_text(const char *cell, size_t length, char *to, size_t size);

/* ---- names */

/* Begin an empty name of that key, which is lent. hf__table_name_end() is to
 * follow. */
void hf__table_name_init(struct hf__table_name *, const struct hf__key *key);
/* Add a row; one of another key is skipped. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__table_name_add(struct hf__table_name *,
                                     const struct hf__table_row *);
/* Call this after the last row. */
void hf__table_name_end(struct hf__table_name *);
void hf__table_name_fini(struct hf__table_name *);

#endif
