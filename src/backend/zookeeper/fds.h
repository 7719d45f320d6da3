/* SPDX-License-Identifier: MIT */
/*
 * The library's descriptors, told from others: see fds.c.
 */
#ifndef HF_BACKEND_ZOOKEEPER_FDS_H
#define HF_BACKEND_ZOOKEEPER_FDS_H

#include "src/base/base.h"
#include "src/base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The pipes of this process, to be told from later ones. */
struct hf__zk_fds {
    uint64_t *pipes;
    size_t n;
    size_t room;
    bool is_whole;
};
void hf__zk_fds_note(struct hf__zk_fds *fds);
void hf__zk_fds_free(struct hf__zk_fds *fds);
/* The library's pipe, if it is surely told from those, closes on exec. */
void hf__zk_fds_keep_pipe(const struct hf__zk_fds *before);

/* Is it one of these, "127.0.0.1:2181,::1:2181"? */
bool hf__zk_is_listed(const char *addresses, const struct sockaddr *server,
                      socklen_t size);
/* The socket of a session with this server closes on exec. Gives a duplicate of
 * it, to be closed by hf__fd_close(), if there was but one; else −1. */
HF_MUST_CHECK int hf__zk_fds_keep_socket(const struct sockaddr *server,
                                         socklen_t size);
/* Shut down whatever goes to one of these, has never heard a byte from there,
 * and was not acknowledged one for so long; but who connected after the first
 * such call, later than `since`, that ended one. False: there was none. */
bool hf__zk_fds_end_unheard(const char *addresses, int64_t for_ns,
                            hf__time since);

#endif
