/* SPDX-License-Identifier: MIT */
/*
 * What URLs of servers of SQL tables have alike: the user, hosts or a unix
 * socket, TLS. Pure, but for the files that are looked at. Thread: any.
 */
#ifndef HF_BACKEND_TABLE_TARGET_H
#define HF_BACKEND_TABLE_TARGET_H

#include "src/base/url.h"

/* Whoever names no user is meant by the name that the system has for them. */
struct hf__table_login {
    char bytes[1024];
    const char *name; /* NULL: it has none */
};
void hf__table_login(struct hf__table_login *ret_login);

/* The option, if it is given, is one of three words. */
HF_MUST_CHECK int hf__table_check_word(const struct hf__url *url,
                                       const char *option,
                                       const char *const words[4],
                                       hf_error *err);
/* Hosts by names that are some, or a socket of this host; for people, how a
 * URL names a server. */
HF_MUST_CHECK int hf__table_check_hosts(const struct hf__url *url,
                                        const char *example, hf_error *err);
/* tls=, ca=, cert= and key=. */
HF_MUST_CHECK int hf__table_check_tls(const struct hf__url *url, hf_error *err);
/* What is meant by them: "verify", "require", "off"; NULL: nothing is said. */
const char *hf__table_tls(const struct hf__url *url);

#endif
