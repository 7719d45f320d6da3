/* SPDX-License-Identifier: MIT */
/*
 * Takes a server from a connection through TLS and the handshake to READY, and
 * to its end. dial.c connects, handshake.c has the first commands. This file
 * also sleeps until one of several servers has something to read, and has the
 * calls for a single server. An interrupt ends the sleep; the interrupted
 * command may get a grace time in which to finish. Called by the session's
 * thread.
 */
#include "src/backend/redis/peer.h"

#include "src/backend/redis/tls.h"
#include "src/base/error.h"

#include <poll.h>
#include <string.h>

/* ---- the end of a connection */

void hf__peer_init(struct hf__peer *p)
{
    *p = (struct hf__peer){.err = HF_ERROR_INIT};
    hf__resp_init(&p->resp);
}

/* The buffer had the password. */
static void wipe_handshake(struct hf__peer *p)
{
    if (p->resp.out.at != NULL) {
        explicit_bzero(p->resp.out.at, p->resp.out.room);
    }
}

/* The connection to kill at the server: this one, if it was READY and commands
 * are unanswered; else the one before it. */
static struct hf__stale_conn stale_of(const struct hf__peer *p)
{
    bool was_ready = p->n_handshake > 0 && p->n_answered == p->n_handshake;

    if (was_ready && p->resp.owed > 0 && p->server.id != 0) {
        return (struct hf__stale_conn){p->server.id, p->server.server_id};
    }
    return p->stale;
}

void hf__peer_close(struct hf__peer *p)
{
    struct hf__stale_conn stale = stale_of(p);
    struct hf__addresses known = p->known;

    wipe_handshake(p);
    hf__resp_fini(&p->resp);
    hf__peer_init(p);
    p->stale = stale;
    p->known = known;
}

/* ---- from a connection to the handshake */

static void shake_hands(struct hf__peer *p)
{
    p->state = HF__PEER_HANDSHAKE;
    (void)hf__resp_flush(&p->resp);
}

static void secure(struct hf__peer *p)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__tls_handshake(p->resp.tls, &p->resp.wants, &why);

    if (r == HF_OK) {
        shake_hands(p);
    } else if (r != HF_BUSY) {
        hf__peer_fail(p, r, why.text);
    }
}

static void speak(struct hf__peer *p)
{
    hf_error why = HF_ERROR_INIT;
    int r;

    if (p->target.tls == HF__TLS_OFF) {
        shake_hands(p);
        return;
    }
    r = hf__tls_new(&p->target, p->resp.fd, &p->resp.tls, &why);
    if (r != HF_OK) {
        hf__peer_fail(p, r, why.text);
        return;
    }
    p->state = HF__PEER_SECURING;
    secure(p);
}

void hf__peer_start(struct hf__peer *p, const struct hf__target *target,
                    const struct hf__secret *secret, const char *allow,
                    bool may_look_up)
{
    struct hf__target copy = *target; /* `target` may be p->target */

    hf__peer_close(p);
    p->target = copy;
    p->allow = allow;
    p->state = HF__PEER_CONNECTING;
    if (hf__handshake_queue(p, secret) != HF_OK) {
        hf__peer_fail(p, HF_ENOMEM, "out of memory for a connection");
    } else if (p->target.socket != NULL ? hf__dial_socket(p)
                                        : hf__dial_host(p, may_look_up)) {
        speak(p);
    }
}

void hf__peer_ask_again(struct hf__peer *p)
{
    if (hf__handshake_again(p) == HF_OK) {
        shake_hands(p);
    } else {
        hf__peer_fail(p, HF_ENOMEM, "out of memory for a question");
    }
}

/* ---- in steps */

/* Send and receive bytes. */
static void move_bytes(struct hf__peer *p, short events)
{
    int r = HF_OK;

    if (p->resp.sent < p->resp.queued) {
        r = hf__resp_flush(&p->resp);
    }
    /* Also if sending failed, for the server may have said why; and TLS may
     * have waited for room to send an answer. */
    if (r != HF_OK || (events & (POLLIN | POLLHUP | POLLERR)) != 0 ||
        (p->resp.tls != NULL && events != 0)) {
        p->resp.is_dead = false;
        r = hf__resp_fill(&p->resp);
    }
    (void)r; /* is_dead tells it */
}

const char *hf__peer_why(int status)
{
    return status == HF_ENOMEM
               ? "out of memory for a reply"
               : "what answers there does not speak as Redis does: "
                 "check host, port and tls=";
}

static void take_handshake(struct hf__peer *p)
{
    redisReply *reply = NULL;
    int r = HF_BUSY;

    while (r == HF_BUSY) {
        r = hf__resp_next(&p->resp, &reply);
        if (r != HF_OK) {
            hf__peer_fail(p, r, hf__peer_why(r));
            return;
        }
        if (reply == NULL) {
            return;
        }
        r = hf__handshake_take(p, reply);
        freeReplyObject(reply);
    }
    p->state = r == HF_OK ? HF__PEER_READY : HF__PEER_DEAD;
    p->status = r;
    p->allow = NULL;
}

/* The connection was closed: by TLS, which has a reason, or without one. */
static void fail_closed(struct hf__peer *p)
{
    hf_error why = HF_ERROR_INIT;
    bool has_handshake = p->state != HF__PEER_HANDSHAKE || p->n_answered > 0;

    if (p->resp.tls != NULL) {
        int r = hf__tls_fail(p->resp.tls, &why);

        hf__peer_fail(p, has_handshake ? (int)HF_EUNAVAIL : r, why.text);
        return;
    }
    hf__peer_fail(p, HF_EUNAVAIL,
                  has_handshake
                      ? "the server has closed the connection"
                      : "the server has closed the connection without a word: "
                        "if it wants TLS, say rediss: or tls=verify");
}

void hf__peer_advance(struct hf__peer *p, short events)
{
    if (p->state == HF__PEER_CONNECTING && events != 0) {
        if (hf__dial_finish(p)) {
            speak(p);
        }
        return;
    }
    if (p->state == HF__PEER_SECURING && events != 0) {
        secure(p);
        return;
    }
    if (p->state != HF__PEER_HANDSHAKE && p->state != HF__PEER_READY) {
        return;
    }
    move_bytes(p, events);
    if (p->state == HF__PEER_HANDSHAKE) {
        if (p->resp.out.length == 0) {
            wipe_handshake(p);
        }
        take_handshake(p);
        /* The handshake may have queued more commands. */
        if (p->state == HF__PEER_HANDSHAKE && !p->resp.is_dead) {
            (void)hf__resp_flush(&p->resp);
        }
    }
    if (p->resp.is_dead) {
        fail_closed(p);
    }
}

bool hf__peer_tick(struct hf__peer *p)
{
    if (p->state != HF__PEER_CONNECTING || hf__is_never(p->address_until) ||
        hf__before(hf__now(), p->address_until)) {
        return false;
    }
    if (hf__dial_next(p)) {
        speak(p);
    }
    return true;
}

/* The timeout of poll() is an int. */
#define SLEEP_MAX_MS 3600000

/* ---- several peers at once */

/* The most peers that are polled together: the hosts of a URL and, if those are
 * Sentinels, the server that they name. */
#define PEERS_MAX 17

static bool is_polled(const struct hf__peer *p)
{
    return p->state == HF__PEER_CONNECTING || p->state == HF__PEER_SECURING ||
           p->state == HF__PEER_HANDSHAKE || p->state == HF__PEER_READY;
}

/* May the session sleep? False: it is interrupted and has no grace. During a
 * grace, *until_io is limited to its end. */
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

/* Advance the peers that have events or whose address is late. True: there were
 * some. */
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
            hf__waker_drain(&rest->waker); /* perhaps for an earlier call */
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
