/* SPDX-License-Identifier: MIT */
/*
 * The text of a statement: a buffer that grows, names in backquotes, values as
 * literals that no value can leave. Thread: any, one at a time.
 */
#ifndef HF_ROWS_SQL_H
#define HF_ROWS_SQL_H

#include "include/holdfast-mysql.h"
#include "src/base/base.h"

struct hf__sql {
    char *bytes;
    size_t length;
    size_t room;
    bool is_broken; /* out of memory: nothing of it may be sent */
};

void hf__sql_clear(struct hf__sql *);
/* Takes a zeroed one. */
void hf__sql_fini(struct hf__sql *);

__attribute__((format(printf, 2, 3))) void
hf__sql_addf(struct hf__sql *, const char *format, ...);
/* A name that hf__sql_check_name() has passed. */
void hf__sql_name(struct hf__sql *, const char *name);
/* A value that hf__sql_check_value() has passed; its text is in that character
 * set. */
void hf__sql_value(struct hf__sql *, const hf_mysql_value *,
                   const char *charset);

/* `what` is for the error: "table". HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__sql_check_name(const char *what, const char *name,
                                     bool is_utf8, hf_error *err);
/* `name` is its column's. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__sql_check_value(const char *name, const hf_mysql_value *,
                                      hf_error *err);

#endif
