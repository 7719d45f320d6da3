/* SPDX-License-Identifier: MIT */
/*
 * Sleeping for a server's socket, which an interrupt ends. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_TABLE_SLEEP_H
#define HF_BACKEND_TABLE_SLEEP_H

#include "src/backend/backend.h"
#include "src/base/wake.h"

struct hf__sought {
    int fd;
    short events;
    int grace_ms; /* so long may go on what is interrupted */
};

/* Until the socket is ready for `events` of poll(), which may be none: gives
 * what it is ready for, or 0 at `until` and when interrupted. */
short hf__table_sleep(struct hf__head *head, struct hf__waker *waker,
                      struct hf__sought sought, hf__time until);

#endif
