/* SPDX-License-Identifier: MIT */
/*
 * Adopting a grant by its token, after another thread or process acquired it
 * and left it to its lease.
 */
#ifndef HF_CORE_ADOPT_H
#define HF_CORE_ADOPT_H

#include "src/core/grant.h"

/* HF_OK and a held grant; HF_LOST; or the store's error. Thread: user. Blocks:
 * up to io_timeout. */
HF_MUST_CHECK int hf__adopt(struct hf_client *, const char *name,
                            const struct hf__token *, const hf_acquire_opts *,
                            struct hf__grant **ret_grant, hf_error *err);

#endif
