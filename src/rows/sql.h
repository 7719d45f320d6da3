/* SPDX-License-Identifier: MIT */
/*
 * The text of a statement: a buffer that grows, and names in quotes. Thread:
 * any, one at a time.
 */
#ifndef HF_ROWS_SQL_H
#define HF_ROWS_SQL_H

#include "include/holdfast-rows.h"
#include "src/base/base.h"

struct hf__sql {
    char *bytes;
    size_t length;
    size_t room;
    bool is_broken; /* out of memory: nothing of it may be sent */
};

/* What a server takes for a name. */
struct hf__names {
    char quote;  /* around it; doubled within */
    int longest; /* in characters, or in bytes */
    bool is_in_bytes;
    bool is_utf8; /* the connection: then names beyond ASCII are taken */
    const char *encoding; /* what else to call that, for the error */
};

void hf__sql_clear(struct hf__sql *);
/* Takes a zeroed one. */
void hf__sql_fini(struct hf__sql *);

__attribute__((format(printf, 2, 3))) void
hf__sql_addf(struct hf__sql *, const char *format, ...);
/* A name that hf__sql_check_name() has passed. */
void hf__sql_quoted(struct hf__sql *, char quote, const char *name);
/* Room for `more` bytes and a NUL at the end, or NULL. Who writes there adds
 * to the length. */
HF_MUST_CHECK char *hf__sql_room(struct hf__sql *, size_t more);

/* `what` is for the error: "table". HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__sql_check_name(const char *what, const char *name,
                                     const struct hf__names *, hf_error *err);
/* `name` is its column's. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__sql_check_value(const char *name, const hf_row_value *,
                                      hf_error *err);

/* The condition of a guard: "`fence`<=17". HF_OK, HF_EINVAL, HF_ENOMEM. */
HF_MUST_CHECK int hf__sql_guard(char *buf, size_t size, const char *column,
                                uint64_t fence, const struct hf__names *,
                                hf_error *err);
/* The name of a status, also of one of holdfast.h; never NULL. */
const char *hf__sql_strstatus(int status);

#endif
