/* SPDX-License-Identifier: MIT */
/*
 * One row of holdfast_lock as a query returned it: reading it, judging it by
 * the server's clock, and reporting it to the core. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_ROW_H
#define HF_BACKEND_MYSQL_ROW_H

#include "src/backend/mysql/mysql.h"
#include "src/backend/table/name.h"

/* The columns of a row that hf__mysql_row_read() reads, in its order. */
#define HF__MYSQL_ROW_COLUMNS                                                  \
    "name_key,fence,token,expires-" HF__SQL_NOW ",keep_until-" HF__SQL_NOW     \
    ",acquired_at,broken,crowd,label,host,pid,thread,note,freed,"              \
    "detached"

struct hf__mysql_row {
    bool is_there; /* false: nobody has had the name before */
    bool is_damaged;
    struct hf__key key; /* name_at is not set; valid until the next reply */
    uint64_t fence;
    struct hf__token token; /* zero: released */
    int64_t expires_in;     /* µs; the lease of the token */
    int64_t kept_for;       /* µs; ≤ 0: the name is not kept */
    int64_t acquired_at;
    uint64_t broken;
    unsigned crowd; /* HF__HAS_… */
    struct hf__owner owner;
    struct hf__token freed; /* the token that was released last */
    bool took_over;         /* token's holder took over an unreleased lock */
};

/* The next row of s->reply; is_there is false after the last. */
void hf__mysql_row_read(struct hf__mysql *s, struct hf__mysql_row *ret_row);
/* May the token's claim have the name, as far as this row says? */
bool hf__mysql_row_is_free_for(const struct hf__mysql_row *row,
                               const struct hf__token *token);
/* Report the row to record, which may be NULL. */
void hf__mysql_row_tell(const struct hf__mysql_row *row,
                        struct hf__record *record);

/* Reading columns of any table. */
uint64_t hf__column_u64(const char *cell);
int64_t hf__column_i64(const char *cell);
/* Read label, host, pid, thread, note: five adjacent columns. */
void hf__column_owner(char *const *row, const unsigned long *lengths, int at,
                      struct hf__owner *ret_owner);
/* Write "label=…,host=…,…" for an UPDATE, or "…,…" for an INSERT, in that
 * order. */
void hf__mysql_owner_set(struct hf__text *t, const struct hf__owner *owner);
void hf__mysql_owner_values(struct hf__text *t, const struct hf__owner *owner);

#endif
