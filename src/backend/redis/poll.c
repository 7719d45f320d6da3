/* SPDX-License-Identifier: MIT */
/*
 * Sleeping until a server has something to say, several at once, and what is
 * made of it for one. An interrupt ends the sleep; what it was meant for may
 * have a grace to come to its end in. Called by the session's thread,
 * hf__waker_wake() by any.
 */
#include "src/backend/redis/peer.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* poll() takes an int. */
#define SLEEP_MAX_MS 3600000

/* ---- the waker */

int hf__waker_init(struct hf__waker *w, hf_error *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0) {
        return hf__fail(err, HF_EUNAVAIL, "out of descriptors (ulimit -n)");
    }
    atomic_store(&w->fd, fd + 1);
    return hf__fd_register(fd) == HF_OK
               ? HF_OK
               : hf__fail(err, HF_ENOMEM, "out of memory for a session");
}

void hf__waker_fini(struct hf__waker *w)
{
    hf__fd_close(atomic_load(&w->fd) - 1);
    atomic_store(&w->fd, 0);
}

void hf__waker_wake(struct hf__waker *w)
{
    int fd = atomic_load(&w->fd) - 1;
    ssize_t ignored = fd < 0 ? 0 : write(fd, &(uint64_t){1}, sizeof(uint64_t));

    (void)ignored; /* full: it is awake already */
}

static void drain(int fd)
{
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof count);

    (void)ignored;
}

/* ---- several at once */

/* The most that are polled together: the hosts of a URL. */
#define PEERS_MAX 16

static bool is_polled(const struct hf__peer *p)
{
    return p->state == HF__PEER_CONNECTING || p->state == HF__PEER_SECURING ||
           p->state == HF__PEER_GREETING || p->state == HF__PEER_READY;
}

/* When the sleep ends at the latest, if it is not interrupted: false then. */
static bool may_sleep(struct hf__waker *w, struct hf__head *head,
                      hf__time *until_io)
{
    if (!hf__is_interrupted(head)) {
        return true;
    }
    if (w->grace_ms == 0) {
        return false;
    }
    if (w->ending != head->generation) {
        w->ending = head->generation;
        w->ending_until = hf__after_ms(hf__now(), w->grace_ms);
    }
    *until_io = hf__earlier(*until_io, w->ending_until);
    return true;
}

/* Let those move that can. */
static bool advance_all(struct hf__peer *const peers[],
                        const struct pollfd *fds, int n)
{
    bool has_moved = false;

    for (int i = 0; i < n; i++) {
        if (fds[i].fd >= 0 && fds[i].revents != 0) {
            hf__peer_advance(peers[i], fds[i].revents);
            has_moved = true;
        } else if (hf__peer_tick(peers[i])) {
            has_moved = true;
        }
    }
    return has_moved;
}

bool hf__peers_poll(struct hf__peer *const peers[], int n,
                    struct hf__waker *waker, struct hf__head *head,
                    hf__time until)
{
    struct pollfd fds[PEERS_MAX + 1];
    int wake_fd = atomic_load(&waker->fd) - 1;

    HF_ASSERT(n <= PEERS_MAX);
    while (may_sleep(waker, head, &until)) {
        hf__time next = until;

        for (int i = 0; i < n; i++) {
            fds[i] = (struct pollfd){
                .fd = is_polled(peers[i]) ? peers[i]->resp.fd : -1,
                .events = peers[i]->resp.wants};
            if (peers[i]->state == HF__PEER_CONNECTING) {
                next = hf__earlier(next, peers[i]->address_until);
            }
        }
        fds[n] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
        int64_t ms = hf__ms_until(next, hf__now());
        (void)poll(fds, (nfds_t)n + 1,
                   (int)(ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS));
        if (fds[n].revents != 0) {
            drain(wake_fd); /* perhaps meant for an earlier call */
        }
        if (advance_all(peers, fds, n)) {
            return true;
        }
        if (!hf__before(hf__now(), until)) {
            return false;
        }
    }
    return false;
}

/* ---- with one server */

static void fail_late(struct hf__peer *p)
{
    hf__peer_fail(p, HF_EUNAVAIL,
                  p->state == HF__PEER_SECURING
                      ? "the server did not answer in time: has it TLS on "
                        "this port?"
                      : "the server did not answer in time");
}

int hf__peer_open(struct hf__peer *p, struct hf__waker *waker,
                  struct hf__head *head, hf__time deadline, hf_error *err)
{
    while (p->state != HF__PEER_READY && p->state != HF__PEER_DEAD) {
        if (!hf__peers_poll(&p, 1, waker, head, deadline)) {
            fail_late(p);
        }
    }
    if (p->state == HF__PEER_READY) {
        return HF_OK;
    }
    hf__error_copy(err, &p->err);
    return p->status;
}

int hf__peer_reply(struct hf__peer *p, struct hf__waker *waker,
                   struct hf__head *head, hf__time deadline,
                   redisReply **ret_reply)
{
    for (;;) {
        int r = hf__resp_next(&p->resp, ret_reply);

        if (r != HF_OK) {
            hf__peer_fail(p, r, hf__peer_why(r));
            return p->status;
        }
        if (*ret_reply != NULL) {
            return HF_OK;
        }
        if (p->state != HF__PEER_READY) {
            return p->state == HF__PEER_DEAD ? p->status : (int)HF_EUNAVAIL;
        }
        if (!hf__peers_poll(&p, 1, waker, head, deadline)) {
            fail_late(p);
        }
    }
}
