/* SPDX-License-Identifier: MIT */
/*
 * TLS over a non-blocking socket, by OpenSSL. Of the process it changes only
 * the calling thread's queue of OpenSSL errors, which it leaves empty. Thread:
 * the session's.
 */
#ifndef HF_BACKEND_REDIS_TLS_H
#define HF_BACKEND_REDIS_TLS_H

#include "src/backend/redis/target.h"

#include <sys/types.h>

struct hf__tls;

/* Create TLS for a connected socket, which the caller keeps. HF_OK; HF_EINVAL
 * (a file that the URL names is not usable), HF_ENOMEM. */
HF_MUST_CHECK int hf__tls_new(const struct hf__target *, int fd,
                              struct hf__tls **ret_tls, hf_error *err);
/* Accepts NULL; sends nothing. */
void hf__tls_free(struct hf__tls *);
/* Do a step of the handshake. HF_OK: it is done; HF_BUSY: call again after
 * poll() for *ret_wants; HF_EUNSAFE (not the server that the URL names, or no
 * TLS there), HF_EAUTH (it wants a certificate from us), HF_EUNAVAIL. */
HF_MUST_CHECK int hf__tls_handshake(struct hf__tls *, short *ret_wants,
                                    hf_error *err);
/* Return the number of bytes; 0: none now, poll() for *ret_wants; negative: the
 * connection has ended. */
ssize_t hf__tls_send(struct hf__tls *, const void *bytes, size_t n,
                     short *ret_wants);
ssize_t hf__tls_recv(struct hf__tls *, void *bytes, size_t n, short *ret_wants);
/* Has it bytes that poll() does not know of? */
bool hf__tls_has_more(const struct hf__tls *);
/* Why the connection has ended: HF_EUNAVAIL if it was closed; else what a side
 * objected to. Sets err. */
int hf__tls_fail(const struct hf__tls *, hf_error *err);

#endif
