/* SPDX-License-Identifier: MIT */
/*
 * Taking up a grant by its token: somebody else acquired it, perhaps another
 * process, and left it to its lease.
 */
#ifndef HF_CORE_ADOPT_H
#define HF_CORE_ADOPT_H

#include "src/core/grant.h"

/* HF_OK and a grant that is held; HF_LOST; or what the store answers.
 * Thread: user. Blocks: up to io_timeout. */
HF_MUST_CHECK int hf__adopt(struct hf_client *, const char *name,
                            const struct hf__token *, const hf_acquire_opts *,
                            struct hf__grant **ret_grant, hf_error *err);

#endif
