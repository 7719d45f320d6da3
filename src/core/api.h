/* SPDX-License-Identifier: MIT */
/*
 * What the calls share that acquire: their arguments, checked before any I/O.
 */
#ifndef HF_CORE_API_H
#define HF_CORE_API_H

#include "src/core/client.h"

/* The client, the name, and the options, copied over what ret_opts has: HF_OK,
 * HF_EINVAL, HF_ENOTSUP or HF_EFORK. The owner_id stays 0 if it is. */
HF_MUST_CHECK int hf__acquire_check(hf_client *, const char *name,
                                    const hf_acquire_opts *given,
                                    hf_acquire_opts *ret_opts, hf_error *err);

#endif
