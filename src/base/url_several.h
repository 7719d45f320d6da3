/* SPDX-License-Identifier: MIT */
/*
 * Several URLs in one string, as one. For url.c. Thread: any.
 */
#ifndef HF_BASE_URL_SEVERAL_H
#define HF_BASE_URL_SEVERAL_H

#include "src/base/base.h"

/* HF_OK, and in *ret_joined the one URL that means the same (the caller wipes
 * and frees it), or NULL: it is one already. HF_EINVAL naming what differs;
 * HF_ENOMEM. */
HF_MUST_CHECK int hf__url_join(const char *text, char **ret_joined,
                               hf_error *err);

#endif
