/* SPDX-License-Identifier: MIT */
/*
 * Sleeping until a server has something to say, several at once, and what is
 * made of it for one. An interrupt ends the sleep; what it was meant for may
 * have a grace to come to its end in. Called by the session's thread.
 */
#include "src/backend/redis/peer.h"
#include "src/base/error.h"

#include <poll.h>

/* poll() takes an int. */
#define SLEEP_MAX_MS 3600000

/* ---- several at once */

/* The most that are polled together: the hosts of a URL, and the server that
 * they name if they are Sentinels. */
#define PEERS_MAX 17

static bool is_polled(const struct hf__peer *p)
{
    return p->state == HF__PEER_CONNECTING || p->state == HF__PEER_SECURING ||
           p->state == HF__PEER_GREETING || p->state == HF__PEER_READY;
}

/* When the sleep ends at the latest, if it is not interrupted: false then. */
static bool may_sleep(struct hf__rest *rest, struct hf__head *head,
                      hf__time *until_io)
{
    if (!hf__is_interrupted(head)) {
        return true;
    }
    if (rest->grace_ms == 0) {
        return false;
    }
    if (rest->ending != head->generation) {
        rest->ending = head->generation;
        rest->ending_until = hf__after_ms(hf__now(), rest->grace_ms);
    }
    *until_io = hf__earlier(*until_io, rest->ending_until);
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
                    struct hf__rest *rest, struct hf__head *head,
                    hf__time until)
{
    struct pollfd fds[PEERS_MAX + 1];

    HF_ASSERT(n <= PEERS_MAX);
    while (may_sleep(rest, head, &until)) {
        hf__time next = until;

        for (int i = 0; i < n; i++) {
            fds[i] = (struct pollfd){
                .fd = is_polled(peers[i]) ? peers[i]->resp.fd : -1,
                .events = peers[i]->resp.wants};
            if (peers[i]->state == HF__PEER_CONNECTING) {
                next = hf__earlier(next, peers[i]->address_until);
            }
        }
        fds[n] =
            (struct pollfd){.fd = hf__waker_fd(&rest->waker), .events = POLLIN};
        int64_t ms = hf__ms_until(next, hf__now());
        (void)poll(fds, (nfds_t)n + 1,
                   (int)(ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS));
        if (fds[n].revents != 0) {
            hf__waker_drain(
                &rest->waker); /* perhaps meant for an earlier call */
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

int hf__peer_open(struct hf__peer *p, struct hf__rest *rest,
                  struct hf__head *head, hf__time deadline, hf_error *err)
{
    while (p->state != HF__PEER_READY && p->state != HF__PEER_DEAD) {
        if (!hf__peers_poll(&p, 1, rest, head, deadline)) {
            fail_late(p);
        }
    }
    if (p->state == HF__PEER_READY) {
        return HF_OK;
    }
    hf__error_copy(err, &p->err);
    return p->status;
}

int hf__peer_reply(struct hf__peer *p, struct hf__rest *rest,
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
        if (!hf__peers_poll(&p, 1, rest, head, deadline)) {
            fail_late(p);
        }
    }
}
