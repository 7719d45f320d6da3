/* SPDX-License-Identifier: MIT */
/*
 * The first packet of a server, looked at before the library answers it: the
 * library would tell a server without TLS who we are, whatever was asked for.
 * Thread: any.
 */
#ifndef HF_BACKEND_MYSQL_GREETING_H
#define HF_BACKEND_MYSQL_GREETING_H

#include "src/base/base.h"

enum hf__greeting {
    HF__GREETING_PART,  /* more of it is to come */
    HF__GREETING_TLS,   /* it has TLS */
    HF__GREETING_PLAIN, /* it has none */
    HF__GREETING_ERROR, /* it lets nobody in, and says why */
    HF__GREETING_NONE,  /* it is none, or could be taken for another one */
    HF__GREETING_MORE,  /* more has come behind it, and nobody has answered */
    HF__GREETING_END,   /* the connection ended before it was whole */
};

enum hf__greeting hf__greeting_read(const unsigned char *bytes, size_t n);
/* The same of what that socket has to read, and leaves there. *n_seen is how
 * much that was, 0 at first; after a part the socket is readable when there is
 * more, or its end. */
enum hf__greeting hf__greeting_peek(int fd, size_t *n_seen);

#endif
