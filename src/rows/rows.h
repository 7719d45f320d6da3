/* SPDX-License-Identifier: MIT */
/*
 * What every call for a row has, whatever the client library: the text of its
 * statements, the caller's arguments, checked and copied, what he is told; and
 * of an update by version what no server has part in: the caller's callback,
 * and when it is tried again. Thread: the caller's.
 */
#ifndef HF_ROWS_ROWS_H
#define HF_ROWS_ROWS_H

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
/* A name that was checked. */
void hf__sql_quoted(struct hf__sql *, char quote, const char *name);
/* Room for `more` bytes and a NUL at the end, or NULL. Who writes there adds
 * to the length. */
HF_MUST_CHECK char *hf__sql_room(struct hf__sql *, size_t more);

/* The condition of a guard: "`fence`<=17". HF_OK, HF_EINVAL, HF_ENOMEM. */
HF_MUST_CHECK int hf__sql_guard(char *buf, size_t size, const char *column,
                                uint64_t fence, const struct hf__names *,
                                hf_error *err);
/* The name of a status, also of one of holdfast.h; never NULL. */
const char *hf__sql_strstatus(int status);

struct hf__call {
    hf_error *err; /* of this call, until it is known how that ends */
    hf_error own_err;
    hf_error *ret_err;     /* the caller's */
    hf_row_info *ret_info; /* the caller's, or NULL */
    hf_row row;
    hf_row_info info;
};

/* What the caller gave. Not to be moved then. */
void hf__call_begin(struct hf__call *, hf_row_info *ret_info,
                    hf_error *ret_err);
/* Copies the row. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__call_open(struct hf__call *, const void *db,
                                const hf_row *);
/* Are these names, and values of a key? HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__call_check_row(struct hf__call *,
                                     const struct hf__names *);
/* The end of the call: what is known goes to the caller, and the error unless
 * r is HF_OK. Gives r. */
HF_MUST_CHECK int hf__call_end(struct hf__call *, int r);

/* Copy the caller's options of a lock over the defaults, NULL leaves these,
 * and check them. */
HF_MUST_CHECK int hf__call_lock_opts(hf_row_lock_opts *,
                                     const hf_row_lock_opts *theirs,
                                     hf_error *);
/* HF_ROW_GONE, told; `how` follows "no such row". */
HF_MUST_CHECK int hf__call_gone(struct hf__call *, const char *how);
/* HF_EUNSAFE: a lock without a transaction. */
HF_MUST_CHECK int hf__call_outside(struct hf__call *);

struct hf__change {
    struct hf__call *call;
    hf_row_update u;
    hf_row_value old[HF_ROW_COLUMNS_MAX];
    hf_row_value new[HF_ROW_COLUMNS_MAX];
};

/* Copies and checks what is given. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__change_open(struct hf__change *,
                                  const hf_row_update *given,
                                  const struct hf__names *);
/* From the old values to the new. HF_OK, HF_ROW_DECLINED, HF_EINVAL. */
HF_MUST_CHECK int hf__change_ask(struct hf__change *);
/* HF_CONFLICT, told. */
HF_MUST_CHECK int hf__change_conflict(struct hf__change *);
/* Attempts until one ends otherwise than by HF_CONFLICT or HF_DEADLOCK, as
 * often as the update says; is_once: one. Counts them. */
HF_MUST_CHECK int hf__change_attempts(struct hf__change *, bool is_once,
                                      int (*attempt)(void *), void *arg);

#endif
