/* SPDX-License-Identifier: MIT */
/*
 * The password of a store that a URL names, from wherever people put it. It
 * is read for each connection, so that it may change, and wiped after use.
 * No message ever holds it. Thread: any.
 */
#ifndef HF_BASE_SECRET_H
#define HF_BASE_SECRET_H

#include "src/base/url.h"

/* The longest password. */
#define HF__SECRET_MAX 1024

struct hf__secret {
    bool is_given; /* false: nobody named one */
    char text[HF__SECRET_MAX + 1];
};

/*
 * The first of: the URL's, its option password_file=, HOLDFAST_PASSWORD,
 * HOLDFAST_PASSWORD_FILE; an empty variable counts as unset. A file's last
 * newline does not count; others than its owner and its group must not be able
 * to read it. HF_OK; HF_EINVAL (two in one URL, or not a
 * password), HF_EAUTH (the file can't be read), HF_EUNSAFE (by others it can).
 */
HF_MODULE_API HF_MUST_CHECK int hf__secret_read(const struct hf__url *url,
                                                struct hf__secret *ret_secret,
                                                hf_error *err);
/* From the file that this option names, if it is given; the same. */
HF_MODULE_API HF_MUST_CHECK int
hf__secret_read_option(const struct hf__url *url, const char *option,
                       struct hf__secret *ret_secret, hf_error *err);
/* Also as a cleanup: HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
 */
HF_MODULE_API void hf__secret_wipe(struct hf__secret *);

#endif
