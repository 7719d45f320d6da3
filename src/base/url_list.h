/* SPDX-License-Identifier: MIT */
/*
 * Parses several URLs in one string as one URL. The caller says which schemes
 * that is for. Thread: any.
 */
#ifndef HF_BASE_URL_LIST_H
#define HF_BASE_URL_LIST_H

#include "src/base/url.h"

/* Several URLs of `scheme` mean one URL of `joined` with all their hosts. */
struct hf__url_joint {
    const char *scheme; /* NULL ends a list */
    const char *joined; /* scheme of the one URL */
    const char *option; /* "key=value", added to the one URL unless they have an
                           option of that name; NULL: none */
};

/* As hf__url_parse(), for one URL or several. HF_EINVAL also if they differ in
 * more than the host: the text says in what. */
HF_MUST_CHECK int hf__url_parse_list(const char *text,
                                     const struct hf__url_joint *joints,
                                     struct hf__url **ret_url, hf_error *err);

#endif
