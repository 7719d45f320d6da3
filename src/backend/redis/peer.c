/* SPDX-License-Identifier: MIT */
/*
 * A server from connected, through TLS and what is said at first, to one that
 * can be asked; and its end. dial.c finds and connects it, greet.c has what is
 * said. Called by the session's thread.
 */
#include "src/backend/redis/peer.h"

#include "src/backend/redis/tls.h"
#include "src/base/error.h"

#include <poll.h>
#include <string.h>

/* ---- its end */

void hf__peer_init(struct hf__peer *p)
{
    *p = (struct hf__peer){.err = HF_ERROR_INIT};
    hf__resp_init(&p->resp);
}

/* The password was in it. */
static void wipe_greeting(struct hf__peer *p)
{
    if (p->resp.out.at != NULL) {
        explicit_bzero(p->resp.out.at, p->resp.out.room);
    }
}

void hf__peer_fail(struct hf__peer *p, int status, const char *why)
{
    if (p->state != HF__PEER_DEAD) {
        p->state = HF__PEER_DEAD;
        p->status = hf__fail(&p->err, status, "%s: %s", p->target.shown, why);
        p->resp.wants = 0;
    }
}

/* What is left of the connection; of one that was only begun, the one before
 * it. */
static struct hf__ghost ghost_of(const struct hf__peer *p)
{
    bool was_ready = p->greetings > 0 && p->greeted == p->greetings;

    if (was_ready && p->resp.owed > 0 && p->server.id != 0) {
        return (struct hf__ghost){p->server.id, p->server.place};
    }
    return p->ghost;
}

void hf__peer_close(struct hf__peer *p)
{
    struct hf__ghost ghost = ghost_of(p);
    struct hf__addresses known = p->known;

    wipe_greeting(p);
    hf__resp_fini(&p->resp);
    hf__peer_init(p);
    p->ghost = ghost;
    p->known = known;
}

/* ---- from a connection to a conversation */

static void greet(struct hf__peer *p)
{
    p->state = HF__PEER_GREETING;
    (void)hf__resp_flush(&p->resp);
}

static void secure(struct hf__peer *p)
{
    hf_error why = HF_ERROR_INIT;
    int r = hf__tls_handshake(p->resp.tls, &p->resp.wants, &why);

    if (r == HF_OK) {
        greet(p);
    } else if (r != HF_BUSY) {
        hf__peer_fail(p, r, why.text);
    }
}

static void speak(struct hf__peer *p)
{
    hf_error why = HF_ERROR_INIT;
    int r;

    if (p->target.tls == HF__TLS_OFF) {
        greet(p);
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
    struct hf__target copy = *target; /* it may be p's own */

    hf__peer_close(p);
    p->target = copy;
    p->allow = allow;
    p->state = HF__PEER_CONNECTING;
    if (hf__greet_queue(p, secret) != HF_OK) {
        hf__peer_fail(p, HF_ENOMEM, "out of memory for a connection");
    } else if (p->target.socket != NULL ? hf__dial_socket(p)
                                        : hf__dial_host(p, may_look_up)) {
        speak(p);
    }
}

void hf__peer_ask_again(struct hf__peer *p)
{
    if (hf__greet_again(p) == HF_OK) {
        greet(p);
    } else {
        hf__peer_fail(p, HF_ENOMEM, "out of memory for a question");
    }
}

/* ---- in steps */

/* Bytes out and in. */
static void move_bytes(struct hf__peer *p, short events)
{
    int r = HF_OK;

    if (p->resp.sent < p->resp.queued) {
        r = hf__resp_flush(&p->resp);
    }
    /* Also when it could not be sent: it may have said why. And TLS may have
     * waited for room to answer something. */
    if (r != HF_OK || (events & (POLLIN | POLLHUP | POLLERR)) != 0 ||
        (p->resp.tls != NULL && events != 0)) {
        p->resp.is_dead = false;
        r = hf__resp_fill(&p->resp);
    }
    (void)r; /* is_dead has it */
}

const char *hf__peer_why(int status)
{
    return status == HF_ENOMEM
               ? "out of memory for a reply"
               : "what answers there does not speak as Redis does: "
                 "check host, port and tls=";
}

static void take_greeting(struct hf__peer *p)
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
        r = hf__greet_take(p, reply);
        freeReplyObject(reply);
    }
    p->state = r == HF_OK ? HF__PEER_READY : HF__PEER_DEAD;
    p->status = r;
    p->allow = NULL;
}

/* It was closed: by TLS, that has a reason, or just so. */
static void fail_closed(struct hf__peer *p)
{
    hf_error why = HF_ERROR_INIT;
    bool has_greeted = p->state != HF__PEER_GREETING || p->greeted > 0;

    if (p->resp.tls != NULL) {
        int r = hf__tls_fail(p->resp.tls, &why);

        hf__peer_fail(p, has_greeted ? (int)HF_EUNAVAIL : r, why.text);
        return;
    }
    hf__peer_fail(p, HF_EUNAVAIL,
                  has_greeted
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
    if (p->state != HF__PEER_GREETING && p->state != HF__PEER_READY) {
        return;
    }
    move_bytes(p, events);
    if (p->state == HF__PEER_GREETING) {
        if (p->resp.out.length == 0) {
            wipe_greeting(p);
        }
        take_greeting(p);
        /* It may have asked on. */
        if (p->state == HF__PEER_GREETING && !p->resp.is_dead) {
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
