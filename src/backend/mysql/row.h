/* SPDX-License-Identifier: MIT */
/*
 * One row of holdfast_lock as a query gave it: reading it, judging it by the
 * server's clock, and telling the core. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_ROW_H
#define HF_BACKEND_MYSQL_ROW_H

#include "src/backend/mysql/mysql.h"
#include "src/backend/table/name.h"

/* The columns of a row that hf__mysql_row_read() takes, in its order. */
#define HF__MYSQL_ROW_COLUMNS                                                  \
    "name_key,fence,token,expires-" HF__SQL_NOW ",keep_until-" HF__SQL_NOW     \
    ",acquired_at,broken,crowd,label,host,pid,thread,note,freed,"              \
    "detached"

struct hf__mysql_row {
    bool is_there; /* false: nobody has had the name before */
    bool is_damaged;
    struct hf__key key; /* name_at is not set; until the next reply */
    uint64_t fence;
    struct hf__token token; /* zero: let go */
    int64_t expires_in;     /* µs; of a token */
    int64_t kept_for;       /* µs; ≤ 0: open */
    int64_t acquired_at;
    uint64_t broken;
    unsigned crowd; /* HF__CROWD_… */
    struct hf__owner owner;
    struct hf__token freed; /* the one that was released last */
    bool took_over;         /* whose token it is: what nobody gave back */
};

/* The next row of s->reply; is_there is false after the last. */
void hf__mysql_row_read(struct hf__mysql *s, struct hf__mysql_row *ret_row);
/* May the token's claim have it, as far as this row says? */
bool hf__mysql_row_is_free_for(const struct hf__mysql_row *row,
                               const struct hf__token *token);
/* What is known of it; record may be NULL. */
void hf__mysql_row_tell(const struct hf__mysql_row *row,
                        struct hf__record *record);

/* Columns of other tables. */
uint64_t hf__column_u64(const char *cell);
int64_t hf__column_i64(const char *cell);
/* Label, host, pid, thread, note: five columns that follow one another. */
void hf__column_owner(char *const *row, const unsigned long *lengths, int at,
                      struct hf__owner *ret_owner);
/* "label=…,host=…,…" of an UPDATE; "…,…" of an INSERT, in the same order. */
void hf__mysql_owner_set(struct hf__text *t, const struct hf__owner *owner);
void hf__mysql_owner_values(struct hf__text *t, const struct hf__owner *owner);

#endif
