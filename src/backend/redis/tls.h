/* SPDX-License-Identifier: MIT */
/*
 * TLS over a socket that never blocks, by OpenSSL. It touches nothing of the
 * process but the calling thread's queue of OpenSSL's errors, which it leaves
 * empty. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_TLS_H
#define HF_BACKEND_REDIS_TLS_H

#include "src/backend/redis/target.h"

#include <sys/types.h>

struct hf__tls;

/* For a connected socket, which stays the caller's. HF_OK; HF_EINVAL (a file
 * of the URL is not what it should be), HF_ENOMEM. */
HF_MUST_CHECK int hf__tls_new(const struct hf__target *, int fd,
                              struct hf__tls **ret_tls, hf_error *err);
/* Takes NULL; sends nothing. */
void hf__tls_free(struct hf__tls *);
/* A step: HF_OK, it is done; HF_BUSY: again after what *ret_wants says to
 * poll() for; HF_EUNSAFE (not whom the URL names, or no TLS there), HF_EAUTH
 * (it wants to know who we are), HF_EUNAVAIL. */
HF_MUST_CHECK int hf__tls_handshake(struct hf__tls *, short *ret_wants,
                                    hf_error *err);
/* More than 0: so many bytes; 0: not now, *ret_wants is what to poll() for;
 * less: never again. */
ssize_t hf__tls_send(struct hf__tls *, const void *bytes, size_t n,
                     short *ret_wants);
ssize_t hf__tls_recv(struct hf__tls *, void *bytes, size_t n, short *ret_wants);
/* Are bytes here that poll() knows nothing of? */
bool hf__tls_has_more(const struct hf__tls *);
/* After "never again": HF_EUNAVAIL, the connection ended; or what the other
 * side objected to, with err told. */
int hf__tls_fail(const struct hf__tls *, hf_error *err);

#endif
