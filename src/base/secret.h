/* SPDX-License-Identifier: MIT */
/*
 * Finds the password for the store of a URL. It is read for each connection, so
 * that it may change, and wiped after use. No message ever holds it. Thread:
 * any.
 */
#ifndef HF_BASE_SECRET_H
#define HF_BASE_SECRET_H

#include "src/base/url.h"

/* The longest password. */
#define HF__SECRET_MAX 1024

struct hf__secret {
    bool is_given; /* false: no password was given */
    char text[HF__SECRET_MAX + 1];
};

/*
 * Takes the first of: the URL's password, the file of its option
 * password_file=, HOLDFAST_PASSWORD, the file of HOLDFAST_PASSWORD_FILE; an
 * empty variable counts as unset. A file's last newline does not count. HF_OK,
 * also if none is given; HF_EINVAL (two in one URL, or too long, or a file
 * without exactly one line), HF_EAUTH (the file can't be read), HF_EUNSAFE
 * (others than its owner and group have access to the file, or its owner is
 * neither root nor this user).
 */
HF_MODULE_API HF_MUST_CHECK int hf__secret_read(const struct hf__url *url,
                                                struct hf__secret *ret_secret,
                                                hf_error *err);
/* The same for the file that this option names, if the option is given. */
HF_MODULE_API HF_MUST_CHECK int
hf__secret_read_option(const struct hf__url *url, const char *option,
                       struct hf__secret *ret_secret, hf_error *err);
/* Also as a cleanup: HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
 */
HF_MODULE_API void hf__secret_wipe(struct hf__secret *);

#endif
