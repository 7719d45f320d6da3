/* SPDX-License-Identifier: MIT */
/*
 * What every call for a row has, whatever the client library: the caller's
 * arguments, checked and copied, and what he is told. Thread: the caller's.
 */
#ifndef HF_ROWS_CALL_H
#define HF_ROWS_CALL_H

#include "src/rows/sql.h"

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

/* Copy the caller's options over the defaults; NULL leaves these. */
HF_MUST_CHECK int hf__call_options(void *ours, size_t size, const void *theirs,
                                   hf_error *);
/* The same for those of a lock, and checks them. */
HF_MUST_CHECK int hf__call_lock_opts(hf_row_lock_opts *,
                                     const hf_row_lock_opts *theirs,
                                     hf_error *);
/* HF_ROW_GONE, told; `how` follows "no such row". */
HF_MUST_CHECK int hf__call_gone(struct hf__call *, const char *how);
/* HF_EUNSAFE: a lock without a transaction. */
HF_MUST_CHECK int hf__call_outside(struct hf__call *);

#endif
