/* SPDX-License-Identifier: MIT */
/*
 * Does what is wished of a lock fit what the store can? Before any I/O: what
 * it can, and the lease that it gives where that is its own, is known since
 * the client was opened. Thread: user.
 */
#ifndef HF_CORE_FIT_H
#define HF_CORE_FIT_H

#include "src/core/client.h"

/* HF_OK, and the lease is the one that the grant will have; else HF_ENOTSUP
 * naming the option and what to do instead. */
HF_MUST_CHECK int hf__fit_options(hf_client *, hf_acquire_opts *,
                                  hf_error *err);
/* Can a grant be taken over by its token? HF_OK or HF_ENOTSUP. */
HF_MUST_CHECK int hf__fit_adoption(const hf_client *, hf_error *err);

#endif
