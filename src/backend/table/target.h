/* SPDX-License-Identifier: MIT */
/*
 * The common part of URLs of SQL servers: the user, hosts or a unix socket,
 * TLS. Pure, but looks at the files that are named. Thread: any.
 */
#ifndef HF_BACKEND_TABLE_TARGET_H
#define HF_BACKEND_TABLE_TARGET_H

#include "src/base/url.h"

/* The system's name for the process's user, which counts if a URL names no
 * user. */
struct hf__table_login {
    char bytes[1024];
    const char *name; /* NULL: the system has none */
};
void hf__table_login(struct hf__table_login *ret_login);

/* The option, if it is given, must be one of three words. */
HF_MUST_CHECK int hf__table_check_word(const struct hf__url *url,
                                       const char *option,
                                       const char *const words[4],
                                       hf_error *err);
/* Hosts must have proper names, or a socket of this host is given. `example`
 * shows people how a URL names a server. */
HF_MUST_CHECK int hf__table_check_hosts(const struct hf__url *url,
                                        const char *example, hf_error *err);
/* Check tls=, ca=, cert= and key=. */
HF_MUST_CHECK int hf__table_check_tls(const struct hf__url *url, hf_error *err);
/* What these options mean: "verify", "require", "off"; NULL: they are not
 * given. */
const char *hf__table_tls(const struct hf__url *url);

#endif
