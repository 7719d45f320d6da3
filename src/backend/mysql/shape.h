/* SPDX-License-Identifier: MIT */
/*
 * What a table must look like, and checking an existing one. All functions read
 * the session's last reply; each returns HF_OK, or HF_EPROTO with an error that
 * names what is wrong and what it must be. Thread: the session's.
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
    HF__KIND_VALUE /* a BLOB with room for size bytes, or NULL */
};

struct hf__column {
    const char *name;
    enum hf__column_kind kind;
    unsigned size; /* minimum, in bytes or characters */
    bool is_key;
    const char *sql;
};

struct hf__table {
    const char *name;
    const struct hf__column *columns;
    int n;
    const char *key;
};

/* The columns that hold text. */
#define HF__MYSQL_LABELS 4
extern const char *const hf__mysql_labels[HF__MYSQL_LABELS];

/* Check all columns by the metadata; no row is needed. */
HF_MUST_CHECK int hf__mysql_shape_columns(struct hf__mysql *s,
                                          const struct hf__table *t);
/* Check the one row: the character set of each label. */
HF_MUST_CHECK int hf__mysql_shape_letters(struct hf__mysql *s,
                                          const struct hf__table *t);
/* Check the rows: a table's name, its engine, and an index that could mix up
 * the rows of different names (or NULL). */
HF_MUST_CHECK int hf__mysql_shape_engines(struct hf__mysql *s,
                                          const struct hf__table *tables,
                                          int n);

#endif
