/* SPDX-License-Identifier: MIT */
/*
 * The column that tells one state of a row from the next, a number or a time,
 * and that which tells deleted rows. Their words of SQL. Thread: the caller's.
 */
#ifndef HF_ROWS_POSTGRES_STAMP_H
#define HF_ROWS_POSTGRES_STAMP_H

#include "src/rows/postgres/ask.h"
#include "src/rows/postgres/value.h"

struct hf__rows_pg_stamp {
    const char *name;
    enum hf__rows_pg_type type;
    int64_t largest;     /* of a number */
    int64_t old_value;   /* of a number */
    char old[24];        /* of a time: its eight bytes in hexadecimal */
    const char *deleted; /* the other column, or NULL */
    enum hf__rows_pg_type deleted_type;
};

/* Asks for the types of both. HF_OK, HF_EINVAL, HF_EUNSAFE (a time that is too
 * coarse). */
HF_MUST_CHECK int hf__rows_pg_stamp_find(struct hf__pg *,
                                         struct hf__rows_pg_stamp *,
                                         const char *name, const char *deleted);
/* What is to be selected. */
void hf__rows_pg_stamp_add_read(const struct hf__rows_pg_stamp *,
                                struct hf__sql *);
/* Takes what was read; NULL is that. HF_OK, HF_EINVAL: there is nothing
 * later. */
HF_MUST_CHECK int hf__rows_pg_stamp_take(struct hf__pg *,
                                         struct hf__rows_pg_stamp *,
                                         const char *text);
/* "version"=8 */
void hf__rows_pg_stamp_add_next(const struct hf__rows_pg_stamp *,
                                struct hf__sql *);
/* " AND "version"=7", and the row is not deleted */
void hf__rows_pg_stamp_add_is_old(struct hf__rows_pg_stamp *, struct hf__pg *);
/* That it is not deleted: "("deleted" IS NULL OR "deleted"=0)", or "true". */
void hf__rows_pg_stamp_add_is_alive(const struct hf__rows_pg_stamp *,
                                    struct hf__sql *);

#endif
