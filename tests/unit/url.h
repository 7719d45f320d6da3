/* SPDX-License-Identifier: MIT */
/*
 * What the programs that take URLs apart share: a URL that is expected to be
 * right, its parts as one text, and the last error.
 */
#ifndef HF_TESTS_UNIT_URL_H
#define HF_TESTS_UNIT_URL_H

#include "src/base/url.h"
#include "tests/lib/test.h"

#include <stdio.h>

static hf_error err = HF_ERROR_INIT;

/* The caller frees it. */
static inline struct hf__url *parsed(const char *text)
{
    struct hf__url *url = NULL;

    if (hf__url_parse(text, &url, &err) != HF_OK) {
        EXPECT_TEXT(err.text, "");
    }
    EXPECT_MORE(url != NULL, 0);
    return url;
}

/* "user|password|host=port,host=0|path", with - for what is not given. */
static inline const char *parts(const struct hf__url *url)
{
    static char text[4096];
    size_t at = 0;

    at += (size_t)snprintf(text, sizeof text, "%s|%s|",
                           url->user != NULL ? url->user : "-",
                           url->password != NULL ? url->password : "-");
    for (size_t i = 0; i < url->n_hosts; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s=%d",
                               i > 0 ? "," : "", url->hosts[i].name,
                               url->hosts[i].port);
    }
    snprintf(text + at, sizeof text - at, "|%s", url->path);
    return text;
}

#endif
