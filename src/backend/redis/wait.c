/* SPDX-License-Identifier: MIT */
/*
 * wait(): sleep until the server says that a name may be had. This file decides
 * when to look, and calls off what nobody waits for any more; armed.c has the
 * list of what the server was told, arm.c what is said. Between two calls all
 * stays as it is, and what comes meanwhile is found by the next.
 *
 * A message is lost with its connection only, and then the session is. Who was
 * woken and does nothing, because its process is stopped, costs the others the
 * moment that the server keeps the name for it, and then their next look.
 * Called by the session's thread.
 */
#include "src/backend/redis/armed.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

/* A server that leaves a look unanswered for so long is not there. */
#define ANSWER_MS 10000
/* Without memory nothing can be asked. */
#define BLIND_MS 100

/* ---- sleeping */

/* The peer's own reason. */
static int tell_dead(struct hf__redis *s, hf_error *err)
{
    return hf__fail(err, s->peer.status, "%s", s->peer.err.text);
}

static int take_replies(struct hf__redis *s)
{
    int r = HF_OK;

    while (r == HF_OK) {
        redisReply *reply = NULL;

        r = hf__resp_next(&s->peer.resp, &reply);
        if (r != HF_OK) {
            hf__peer_fail(&s->peer, r, "it does not speak as Redis does");
        }
        if (reply == NULL) {
            break;
        }
        r = hf__arm_take(s, reply);
        freeReplyObject(reply);
    }
    hf__armed_forget(s->armed);
    return r;
}

/* Until something comes, at the latest until then. */
static int sleep_until(struct hf__redis *s, hf__time until)
{
    struct hf__peer *peer = &s->peer;
    int r = HF_OK;

    if (hf__peers_poll(&peer, 1, &s->rest, &s->head, until)) {
        r = take_replies(s);
    }
    return s->peer.state == HF__PEER_DEAD ? s->peer.status : r;
}

static bool is_over(struct hf__redis *s, hf__time deadline)
{
    return hf__is_interrupted(&s->head) || !hf__before(hf__now(), deadline);
}

/* A reply is owed: until it comes, or should have. */
static int await_reply(struct hf__redis *s, hf__time deadline)
{
    hf__time limit = hf__after_ms(s->armed->asked_at, ANSWER_MS);
    int r = sleep_until(s, hf__earlier(limit, deadline));

    if (r == HF_OK && hf__arm_is_asking(s->armed) &&
        !hf__before(hf__now(), limit)) {
        hf__peer_fail(&s->peer, HF_EUNAVAIL, "it does not answer");
        r = s->peer.status;
    }
    return r;
}

/* Until nothing is owed any more. */
static int hear_out(struct hf__redis *s, hf__time deadline)
{
    int r = take_replies(s);

    while (r == HF_OK && hf__arm_is_asking(s->armed) && !is_over(s, deadline)) {
        r = await_reply(s, deadline);
    }
    return r;
}

/* Nothing fired: the core asks again. Without memory nothing was asked, so
 * that no reply is owed. */
static int sleep_blindly(struct hf__redis *s, hf__time deadline)
{
    struct hf__peer *peer = &s->peer;
    hf__time until = hf__earlier(deadline, hf__after_ms(hf__now(), BLIND_MS));

    while (hf__before(hf__now(), until) &&
           hf__peers_poll(&peer, 1, &s->rest, &s->head, until) &&
           peer->state == HF__PEER_READY) {
        /* What came is looked at by the next call. */
    }
    return peer->state == HF__PEER_DEAD ? peer->status : (int)HF_OK;
}

static int step(struct hf__redis *s, hf__time deadline)
{
    struct hf__armed *p = s->armed;
    hf__time now = hf__now();
    hf__time next;

    if (hf__arm_is_asking(p)) {
        return await_reply(s, deadline);
    }
    next = hf__armed_next_due(p, now);
    if (hf__armed_has_news(p)) {
        return HF_OK;
    }
    return hf__before(now, next) ? sleep_until(s, hf__earlier(next, deadline))
                                 : hf__arm_ask(s);
}

static int wait_for_news(struct hf__redis *s, struct hf__watch *w[], int n,
                         hf__time deadline)
{
    int r = hear_out(s, deadline);

    if (r != HF_OK || hf__arm_is_asking(s->armed)) {
        return r;
    }
    r = hf__armed_take(s->armed, w, n);
    if (r != HF_OK) {
        return sleep_blindly(s, deadline);
    }
    while (r == HF_OK && !hf__armed_has_news(s->armed) &&
           !is_over(s, deadline)) {
        r = step(s, deadline);
    }
    if (r == HF_OK) {
        hf__armed_tell(s->armed, w, n);
    }
    return r;
}

/* ---- letting go */

/* Nobody waits; what was told to have fired may be being tried. */
static int part(struct hf__redis *s, bool with_told, hf__time deadline)
{
    struct hf__armed *p = s->armed;
    int r = hear_out(s, deadline);

    if (r != HF_OK || hf__arm_is_asking(p)) {
        return r;
    }
    hf__armed_part(p, with_told);
    while (r == HF_OK && (p->n > 0 || p->is_subscribed) &&
           !hf__arm_is_asking(p)) {
        r = hf__arm_part(s);
        r = r == HF_OK ? hear_out(s, deadline) : r;
    }
    return r;
}

int hf__redis_wait_leave(struct hf__redis *s, hf__time deadline, hf_error *err)
{
    int r = HF_OK;

    if (s->armed == NULL ||
        (!s->armed->is_subscribed && !hf__arm_is_asking(s->armed))) {
        return HF_OK;
    }
    r = part(s, false, deadline);
    if (r == HF_OK && hf__arm_is_asking(s->armed)) {
        hf__peer_fail(&s->peer, HF_EUNAVAIL, "it does not answer");
        r = s->peer.status;
    }
    return r == HF_OK ? HF_OK : tell_dead(s, err);
}

/* ---- the call */

int hf__redis_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__redis *s = state;
    int grace_ms;
    int r;

    if (s->armed == NULL && n > 0) {
        s->armed = hf__alloc(sizeof *s->armed);
    }
    if (s->armed == NULL) {
        return n > 0 ? sleep_blindly(s, deadline) : HF_OK;
    }
    grace_ms = s->rest.grace_ms;
    s->rest.grace_ms = 0; /* what is owed can be read by the next call */
    r = n > 0 ? wait_for_news(s, w, n, deadline) : part(s, true, deadline);
    s->rest.grace_ms = grace_ms;
    return r == HF_OK ? HF_OK : tell_dead(s, err);
}

/* What is sent now need not arrive: those whom the server can't reach are
 * passed over. */
void hf__redis_wait_fini(struct hf__redis *s)
{
    struct hf__armed *p = s->armed;
    int r = HF_OK;

    if (p == NULL) {
        return;
    }
    if (s->peer.state == HF__PEER_READY && take_replies(s) == HF_OK &&
        !hf__arm_is_asking(p)) {
        hf__armed_part(p, true);
        r = p->n > 0 ? hf__arm_part(s) : HF_OK;
    }
    (void)r;
    hf__free(p->list);
    hf__free(p);
    s->armed = NULL;
}
