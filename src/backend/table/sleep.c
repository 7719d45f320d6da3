/* SPDX-License-Identifier: MIT */
/*
 * poll() on a socket and on the session's waker. Called by the session's
 * thread.
 */
#include "src/backend/table/sleep.h"

#include <poll.h>

/* poll() takes an int. */
#define SLEEP_MAX_MS 3600000

short hf__table_sleep(struct hf__head *head, struct hf__waker *waker,
                      struct hf__sought sought, hf__time until)
{
    struct pollfd fds[2] = {
        {.fd = sought.events == 0 ? -1 : sought.fd, .events = sought.events},
        {.fd = hf__waker_fd(waker), .events = POLLIN}};
    bool is_ending = false;

    for (;;) {
        int64_t ms;
        int n;

        if (!is_ending && hf__is_interrupted(head)) {
            if (sought.grace_ms == 0) {
                return 0;
            }
            is_ending = true;
            until =
                hf__earlier(until, hf__after_ms(hf__now(), sought.grace_ms));
        }
        ms = hf__ms_until(until, hf__now());
        n = poll(fds, 2, (int)(ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS));
        if (n > 0 && fds[1].revents != 0) {
            hf__waker_drain(waker); /* perhaps meant for an earlier call */
        }
        if (n > 0 && fds[0].revents != 0) {
            return fds[0].revents;
        }
        if (n == 0 && ms < SLEEP_MAX_MS) {
            return 0;
        }
    }
}
