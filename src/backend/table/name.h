/* SPDX-License-Identifier: MIT */
/*
 * All that the tables have of one name, read by one statement and so of one
 * moment, in the form in which the engine decides on it: its record, the grants
 * that stand beside others, the tickets. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_NAME_H
#define HF_BACKEND_TABLE_NAME_H

#include "src/backend/name/name.h"

/* Bits of the column crowd: of that name the other tables may have rows. */
#define HF__HAS_HOLDERS 1
#define HF__HAS_WAITERS 2

/* By the server's clock. A ticket's fence is its number in the queue; the life
 * of each is the connection that has its wake lock. All zero is empty. */
struct hf__table_name {
    struct hf__name name;
    struct hf__inline_participants inline_one;
    const struct hf__key *key; /* lent */
    /* Of the record, as it was read: */
    uint64_t revision;
    uint64_t fence;
    unsigned crowd;
};

enum hf__table_part {
    HF__PART_NAME,  /* a row of holdfast_lock */
    HF__PART_GRANT, /* … of holdfast_beside */
    HF__PART_TICKET /* … of holdfast_ticket */
};

/* One row of one table; their columns are laid on each other, and what a part
 * has not, does not matter. What is left is of the server's clock. */
struct hf__table_row {
    enum hf__table_part part;
    const char *key;
    size_t key_length;
    uint64_t number; /* the fence; of a ticket its place */
    const void *token;
    size_t token_length;
    int64_t left_us;  /* until it expires; of a ticket: since it was asked for,
                         negative */
    int64_t since_us; /* 0: not asked for */
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
    uint64_t life; /* whose connection has its wake lock; 0: none, or not
                      asked */
    int64_t now_us;
    int64_t changed_us; /* of a record; 0: not asked for */
    bool has_owner;
    struct hf__owner owner;
};

/* ---- columns, of any table */

/* None for no bytes: it was let go. False: not what we wrote. */
bool hf__column_token(const void *cell, size_t length,
                      struct hf__token *ret_token);
/* May it be that of a grant of the token, or (zero) of one that was let go? Of
 * a record of fence 0 nobody has had the name yet. */
bool hf__column_is_fence_of(uint64_t fence, const struct hf__token *token);
/* Cut where a letter ends. Bytes that are no text are left out. */
void hf__column_text(const char *cell, size_t length, char *to, size_t size);

/* ---- names */

/* An empty one of that key, which is lent; to be ended. */
void hf__table_name_init(struct hf__table_name *, const struct hf__key *key);
/* A row of another key is skipped. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__table_name_add(struct hf__table_name *,
                                     const struct hf__table_row *);
/* After the last row. */
void hf__table_name_end(struct hf__table_name *);
void hf__table_name_fini(struct hf__table_name *);

#endif
