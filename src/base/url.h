/* SPDX-License-Identifier: MIT */
/*
 * A store's URL, taken apart (RFC 3986 shape, with lists of hosts):
 * scheme://user:password@h1:p1,h2:p2/path?key=value&key=value, or scheme:PATH
 * for stores without hosts. Parts are percent-decoded. The caller says which
 * options are valid. Thread: any.
 */
#ifndef HF_BASE_URL_H
#define HF_BASE_URL_H

#include "src/base/base.h"

struct hf__url_host {
    const char *name; /* never empty; IPv6 without brackets */
    int port;         /* 0: not given */
};

struct hf__url_option {
    const char *name;
    const char *value;
};

struct hf__url {
    const char *scheme;   /* lower case, "fault+sqlite" included */
    const char *user;     /* NULL: not given */
    const char *password; /* NULL: not given */
    const char *path;     /* "" if none; after hosts it begins with '/';
                             for scheme:PATH all up to '?' */
    struct hf__url_host *hosts;
    size_t n_hosts;
    struct hf__url_option *options;
    size_t n_options;
    char *redacted; /* the URL without its password, for people */
    char *memory;   /* what the strings above point into */
    size_t memory_size;
};

/* Check the text's length and bytes only. HF_OK; HF_EINVAL. */
HF_MUST_CHECK int hf__url_check(const char *text, hf_error *err);
/* HF_OK; HF_EINVAL naming the part that is wrong; HF_ENOMEM. At most 4096
 * bytes, 16 hosts, 64 options. */
HF_MUST_CHECK int hf__url_parse(const char *text, struct hf__url **ret_url,
                                hf_error *err);
/* A copy for a caller that needs it longer than it was lent. HF_OK,
 * HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__url_copy(const struct hf__url *,
                                             struct hf__url **ret_url);
HF_MODULE_API void hf__url_free(struct hf__url *);
HF_CLEANUP_FN(struct hf__url, hf__url_free);

/* The option's value, or NULL. */
HF_MODULE_API const char *hf__url_option(const struct hf__url *,
                                         const char *name);
/* *ms_io holds the default; the option's duration replaces it if it is given.
 * HF_OK; HF_EINVAL unless it is within [min_ms, max_ms]. */
HF_MODULE_API HF_MUST_CHECK int hf__url_duration(const struct hf__url *,
                                                 const char *name,
                                                 int64_t min_ms, int64_t max_ms,
                                                 int64_t *ms_io, hf_error *err);
/* The same for a whole number. */
HF_MODULE_API HF_MUST_CHECK int hf__url_int(const struct hf__url *,
                                            const char *name, int64_t min,
                                            int64_t max, int64_t *value_io,
                                            hf_error *err);
/* Check that the files of the options ca=, cert= and key= can be read, as far
 * as they are given. HF_OK; HF_EAUTH: one can't be read; HF_EINVAL: one is
 * given though TLS is off. */
HF_MODULE_API HF_MUST_CHECK int
hf__url_check_tls_files(const struct hf__url *, bool is_tls_off, hf_error *err);
/* HF_OK if each option is in one of the two NULL-ended lists and none is
 * repeated; else HF_EINVAL that lists the valid ones. `more` may be NULL. */
HF_MUST_CHECK int hf__url_check_options(const struct hf__url *,
                                        const char *const *valid,
                                        const char *const *more, hf_error *err);

#endif
