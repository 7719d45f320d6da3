/* SPDX-License-Identifier: MIT */
/*
 * The column that tells one state of a row from the next: a number or a time.
 * Its words of SQL: how it is read, compared, made later. Thread: the caller's.
 */
#ifndef HF_ROWS_MYSQL_STAMP_H
#define HF_ROWS_MYSQL_STAMP_H

#include "src/rows/mysql/ask.h"

enum hf__stamp_kind {
    HF__STAMP_NUMBER,
    HF__STAMP_DATETIME,
    HF__STAMP_TIMESTAMP,
};

struct hf__stamp {
    const char *name;
    enum hf__stamp_kind kind;
    int64_t largest;   /* of a number */
    char old[40];      /* as it was read */
    int64_t old_value; /* of a number */
};

/* Asks for the types of the version column and of that which tells deleted
 * rows, if it is not NULL. HF_OK, HF_EINVAL, HF_EUNSAFE (a time that is too
 * coarse). */
HF_MUST_CHECK int hf__stamp_find(struct hf__rows *, struct hf__stamp *,
                                 const char *name, const char *deleted);
/* What is to be selected. */
void hf__stamp_add_read(const struct hf__stamp *, struct hf__sql *);
/* Takes what was read. HF_OK, HF_EINVAL: there is nothing later. */
HF_MUST_CHECK int hf__stamp_take(struct hf__rows *, struct hf__stamp *,
                                 const char *text);
/* "`version`=8" */
void hf__stamp_add_next(const struct hf__stamp *, struct hf__sql *);
/* " AND `version`=7" */
void hf__stamp_add_is_old(const struct hf__stamp *, struct hf__sql *);

#endif
