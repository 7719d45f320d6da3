/* SPDX-License-Identifier: MIT */
/*
 * Certificates for a private server with TLS: its own, a client's, and those
 * that a client must not accept.
 *
 *     ca.crt         who signed most of them
 *     server.crt     of 127.0.0.1 and localhost
 *     client.crt
 *     elsewhere.crt  of another host
 *     expired.crt
 *     stranger.crt   of 127.0.0.1, signed by another, other-ca.crt
 *
 * Each has its key beside it, as server.key.
 */
#ifndef HF_TESTS_SERVERS_CERTIFICATES_H
#define HF_TESTS_SERVERS_CERTIFICATES_H

/* Makes them in a folder "tls" of that one. Ends the test where openssl is not
 * installed. */
void hf__certificates_make(const char *folder);
/* The path of a file there. Valid until this thread's next call. */
const char *hf__certificates_file(const char *folder, const char *name);

#endif
