/* SPDX-License-Identifier: MIT */
/*
 * Tells the library's descriptors from the application's: see fds.c.
 */
#ifndef HF_BACKEND_ZOOKEEPER_FDS_H
#define HF_BACKEND_ZOOKEEPER_FDS_H

#include "src/base/base.h"
#include "src/base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The pipes that this process has now, so that later ones can be told. */
struct hf__zk_fds {
    uint64_t *pipes;
    size_t n;
    size_t room;
    bool is_whole;
};
void hf__zk_fds_note(struct hf__zk_fds *fds);
void hf__zk_fds_free(struct hf__zk_fds *fds);
/* Sets close-on-exec on the library's pipe, if it is the only new one. */
void hf__zk_fds_keep_pipe(const struct hf__zk_fds *before);

/* Is the server one of these, "127.0.0.1:2181,::1:2181"? */
bool hf__zk_is_listed(const char *addresses, const struct sockaddr *server,
                      socklen_t size);
/* Sets close-on-exec on the socket of a session with this server. Returns a
 * duplicate of it, to be closed by hf__fd_close(), if there was exactly one;
 * else −1. */
HF_MUST_CHECK int hf__zk_fds_keep_socket(const struct sockaddr *server,
                                         socklen_t size);
/* Shut down every connection to one of these addresses that has never received
 * a byte, and whose last acknowledgement is for_ns old. Spare those that were
 * made after the first such call, later than `since`, that shut one down.
 * False: there was none. */
bool hf__zk_fds_end_unheard(const char *addresses, int64_t for_ns,
                            hf__time since);

#endif
