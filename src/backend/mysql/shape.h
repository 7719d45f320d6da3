/* SPDX-License-Identifier: MIT */
/*
 * How a table must be, and whether one that is there is so. All functions
 * judge the session's last reply; each gives HF_OK, or HF_EPROTO naming what
 * is wrong and what it must be. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_SHAPE_H
#define HF_BACKEND_MYSQL_SHAPE_H

#include "src/base/base.h"

struct hf__mysql;

enum hf__column_kind {
    HF__KIND_BYTES,
    HF__KIND_TEXT,
    HF__KIND_SIGNED,
    HF__KIND_UNSIGNED,
    HF__KIND_VALUE /* bytes, as long as that; or NULL */
};

struct hf__column {
    const char *name;
    enum hf__column_kind kind;
    unsigned size; /* at least: bytes, letters */
    bool is_key;
    const char *sql;
};

struct hf__table {
    const char *name;
    const struct hf__column *columns;
    int n;
    const char *key;
};

/* The columns that hold letters. */
#define HF__MYSQL_LABELS 4
extern const char *const hf__mysql_labels[HF__MYSQL_LABELS];

/* Of all its columns; no row is needed. */
HF_MUST_CHECK int hf__mysql_shape_columns(struct hf__mysql *s,
                                          const struct hf__table *t);
/* One row: the character set of each label. */
HF_MUST_CHECK int hf__mysql_shape_letters(struct hf__mysql *s,
                                          const struct hf__table *t);
/* Rows: a table's name, its engine, an index that would take one name's row
 * for another's (or NULL). */
HF_MUST_CHECK int hf__mysql_shape_engines(struct hf__mysql *s,
                                          const struct hf__table *tables,
                                          int n);

#endif
