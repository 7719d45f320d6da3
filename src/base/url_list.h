/* SPDX-License-Identifier: MIT */
/*
 * Several URLs in one string, as one. Which schemes have members that are
 * named so is the caller's to say. Thread: any.
 */
#ifndef HF_BASE_URL_LIST_H
#define HF_BASE_URL_LIST_H

#include "src/base/url.h"

/* Several URLs of a scheme are one URL of another, that names all hosts. */
struct hf__url_joint {
    const char *scheme; /* NULL ends a list */
    const char *joined; /* that of the one URL */
    const char *option; /* "key=value", which the one has unless they have
                           another value; NULL: none */
};

/* As hf__url_parse(), of one URL or several. HF_EINVAL also names in what they
 * differ besides the host. */
HF_MUST_CHECK int hf__url_parse_list(const char *text,
                                     const struct hf__url_joint *joints,
                                     struct hf__url **ret_url, hf_error *err);

#endif
