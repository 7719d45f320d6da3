/* SPDX-License-Identifier: MIT */
/*
 * An update by version, as far as no server has part in it: its arguments, the
 * caller's callback, and when it is tried again. Thread: the caller's.
 */
#ifndef HF_ROWS_CHANGE_H
#define HF_ROWS_CHANGE_H

#include "src/rows/call.h"

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
