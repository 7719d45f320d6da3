/* SPDX-License-Identifier: MIT */
/*
 * Finds the primary by its Sentinels, and notices when it is deposed. This file
 * decides which Sentinel to believe: the newest configuration (config-epoch)
 * that any of a majority knows. Less than a majority may be cut off from the
 * network together with the old primary, and then there is no primary. All are
 * asked at the same time, at each connect. Called by the session's thread.
 */
#include "src/backend/redis/sentinel.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <stdio.h>
#include <string.h>

/* Time for the other Sentinels once a majority has answered. */
#define LATE_MS 50
/* Pause between two attempts while there is no primary: at first that much,
 * then doubled up to the maximum; each is shortened by up to half at random, so
 * that clients do not ask in step. */
#define AGAIN_MS     100
#define AGAIN_MAX_MS 1000
/* A Sentinel, or the server that should be the primary, may take this part of
 * the time that is left. */
#define SHARES 3
/* How often a listener asks again, in case news was lost. */
#define ASK_AGAIN_MS 10000
/* … how long after the first of its news, which come in bunches … */
#define NEWS_MS 50
/* … and how long after the connection to a Sentinel was lost. */
#define LOST_MS 1000
/* Time for a Sentinel to answer a listener. */
#define ANSWER_MS 2000

/* ---- asking the Sentinels */

static int start_all(struct hf__redis *s, hf_error *err)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__sentinels *a = s->sentinels;
    int r =
        hf__secret_read_option(a->url, "sentinel_password_file", &secret, err);

    for (int i = 0; r == HF_OK && i < a->n; i++) {
        struct hf__target target;

        r = hf__redis_sentinel_target(a->url, (size_t)i, a->service, &target,
                                      err);
        target.is_heard = s->head.only_listens;
        if (r == HF_OK && a->peers[i].state == HF__PEER_READY &&
            !target.is_heard) {
            hf__peer_ask_again(&a->peers[i]);
        } else if (r == HF_OK) {
            hf__peer_start(&a->peers[i], &target, &secret, "", true);
        }
    }
    return r;
}

/* Was this Sentinel named before, by another name? It has one vote. */
static bool is_duplicate(const struct hf__sentinels *a, int i)
{
    const char *id = a->peers[i].said.id;

    for (int j = 0; j < i && id[0] != '\0'; j++) {
        if (a->peers[j].state == HF__PEER_READY &&
            strcmp(a->peers[j].said.id, id) == 0) {
            return true;
        }
    }
    return false;
}

/* Update the counts and `best`. Returns how many have yet to answer. */
static int count(struct hf__sentinels *a)
{
    int waiting = 0;

    a->best = NULL;
    a->answered = 0;
    a->known = a->n;
    for (int i = 0; i < a->n; i++) {
        struct hf__peer *p = &a->peers[i];

        if (p->state != HF__PEER_READY) {
            waiting += p->state != HF__PEER_DEAD;
            continue;
        }
        a->answered += !is_duplicate(a, i);
        a->known = p->said.others < a->known ? a->known : p->said.others + 1;
        if (a->best == NULL || p->said.epoch > a->best->epoch) {
            a->best = &p->said;
        }
    }
    return waiting;
}

static bool is_majority(const struct hf__sentinels *a)
{
    return a->best != NULL && a->answered * 2 > a->known;
}

static void await_all(struct hf__redis *s, hf__time until)
{
    struct hf__sentinels *a = s->sentinels;
    struct hf__peer *peers[HF__SENTINELS_MAX];
    bool had_majority = false;

    for (int i = 0; i < a->n; i++) {
        peers[i] = &a->peers[i];
    }
    while (count(a) > 0) {
        if (!had_majority && is_majority(a)) {
            had_majority = true;
            until = hf__earlier(until, hf__after_ms(hf__now(), LATE_MS));
        }
        if (!hf__peers_poll(peers, a->n, &s->rest, &s->head, until)) {
            break;
        }
    }
}

/* A Sentinel that gave no answer, for the error: one that refused, else one
 * that failed, else NULL. */
static const struct hf__peer *find_reason(const struct hf__sentinels *a)
{
    const struct hf__peer *found = NULL;

    for (int i = 0; i < a->n; i++) {
        const struct hf__peer *p = &a->peers[i];

        if (p->state == HF__PEER_DEAD &&
            (found == NULL || found->status == HF_EUNAVAIL)) {
            found = p;
        }
    }
    return found;
}

static int fail_few(const struct hf__sentinels *a, hf_error *err)
{
    const struct hf__peer *p = find_reason(a);
    const char *why =
        p == NULL ? "the others do not answer in time" : p->err.text;

    if (a->best == NULL) {
        int status = p == NULL ? (int)HF_EUNAVAIL : p->status;

        return hf__fail(err, status,
                        "no Sentinel knows the primary of \"%s\": %s",
                        a->service, p == NULL ? "none answers in time" : why);
    }
    if (a->n * 2 <= a->known) {
        return hf__fail(err, HF_EUNSAFE,
                        "the url names %d of the %d Sentinels of \"%s\": name "
                        "them all, since fewer than a majority may not know of "
                        "a failover",
                        a->n, a->known, a->service);
    }
    return hf__fail(err, HF_EUNAVAIL,
                    "%d of the %d Sentinels of \"%s\" answered, fewer than a "
                    "majority, and may not know of a failover: %s",
                    a->answered, a->known, a->service, why);
}

int hf__sentinel_ask(struct hf__redis *s, hf__time until, hf_error *err)
{
    struct hf__sentinels *a = s->sentinels;
    int r = start_all(s, err);

    if (r != HF_OK) {
        return r;
    }
    await_all(s, until);
    if (!is_majority(a)) {
        return fail_few(a, err);
    }
    return !a->best->is_down
               ? HF_OK
               : hf__fail(err, HF_EUNAVAIL,
                          "the Sentinels of \"%s\" hold %s:%d for down, and "
                          "have no other primary yet",
                          a->service, a->best->host, a->best->port);
}

/* ---- the primary */

static int try_primary(struct hf__redis *s, const char *allow, hf__time until,
                       hf_error *err)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__sentinels *a = s->sentinels;
    struct hf__target target;
    int r = hf__secret_read(a->url, &secret, err);

    (void)snprintf(a->host, sizeof a->host, "%s", a->best->host);
    r = r == HF_OK ? hf__redis_primary_target(a->url, a->host, a->best->port,
                                              &target, err)
                   : r;
    if (r != HF_OK) {
        return r;
    }
    hf__peer_start(&s->peer, &target, &secret, allow, true);
    r = hf__peer_open(&s->peer, &s->rest, &s->head, until, err);
    if ((r == HF_OK || r == HF_EUNSAFE) &&
        strcmp(s->peer.server.role, "slave") == 0) {
        hf__peer_close(&s->peer);
        return hf__fail(err, HF_EUNAVAIL,
                        "%s: the Sentinels of \"%s\" name it as the primary, "
                        "but it is a replica, or one still",
                        target.shown, a->service);
    }
    return r;
}

static hf__time share_of(hf__time now, hf__time deadline)
{
    return hf__after_ns(now, hf__between_ns(now, deadline) / SHARES);
}

static int find_primary(struct hf__redis *s, const char *allow,
                        hf__time deadline, hf_error *err)
{
    for (int64_t ms = AGAIN_MS;;
         ms = ms * 2 < AGAIN_MAX_MS ? ms * 2 : AGAIN_MAX_MS) {
        hf__time now = hf__now();
        int r = hf__sentinel_ask(s, share_of(now, deadline), err);

        now = hf__now();
        r = r == HF_OK ? try_primary(s, allow, share_of(now, deadline), err)
                       : r;
        if (r != HF_EUNAVAIL) {
            return r;
        }
        now = hf__after_ms(hf__now(), hf__random_between(ms / 2, ms));
        if (!hf__before(now, deadline)) {
            return r;
        }
        (void)!hf__peers_poll(NULL, 0, &s->rest, &s->head, now);
        if (hf__is_interrupted(&s->head)) {
            return r;
        }
    }
}

static int prepare(struct hf__redis *s, const struct hf__url *url,
                   hf_error *err)
{
    struct hf__target target;
    struct hf__sentinels *a;

    a = hf__alloc(sizeof *a + url->n_hosts * sizeof a->peers[0]);
    s->sentinels = a;
    if (a == NULL || hf__url_copy(url, &a->url) != HF_OK) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a session");
    }
    a->n = (int)url->n_hosts;
    for (int i = 0; i < a->n; i++) {
        hf__peer_init(&a->peers[i]);
    }
    if (a->n == 0) {
        return hf__fail(err, HF_EINVAL,
                        "url: it names no Sentinel: "
                        "redis+sentinel://s1,s2,s3/SERVICE/0");
    }
    int r = hf__redis_service(url, a->service, err);

    return r == HF_OK
               ? hf__redis_sentinel_target(url, 0, a->service, &target, err)
               : r;
}

void hf__sentinel_hang_up(struct hf__redis *s)
{
    struct hf__sentinels *a = s->sentinels;

    a->best = NULL;
    for (int i = 0; i < a->n; i++) {
        if (!s->head.only_listens || a->peers[i].state == HF__PEER_DEAD) {
            hf__peer_close(&a->peers[i]);
        }
    }
    a->ask_at = hf__after_ms(hf__now(), ASK_AGAIN_MS);
}

int hf__sentinel_open(struct hf__redis *s, const struct hf__url *url,
                      const char *allow, hf__time deadline, hf_error *err)
{
    int r = prepare(s, url, err);

    if (r == HF_OK) {
        r = find_primary(s, allow, deadline, err);
        hf__sentinel_hang_up(s);
    }
    return r;
}

void hf__sentinel_fini(struct hf__redis *s)
{
    struct hf__sentinels *a = s->sentinels;

    for (int i = 0; a != NULL && i < a->n; i++) {
        hf__peer_close(&a->peers[i]);
    }
    if (a != NULL) {
        hf__url_free(a->url);
        hf__free(a);
        s->sentinels = NULL;
    }
}

/* ---- listening */

static bool is_at(const struct hf__sentinel_reply *said, const char *host,
                  int port)
{
    return said != NULL && said->port == port && strcmp(said->host, host) == 0;
}

/* Do the Sentinels still name our primary? */
static int ask_again(struct hf__redis *s, hf_error *err)
{
    struct hf__sentinels *a = s->sentinels;
    int r = hf__sentinel_ask(s, hf__after_ms(hf__now(), ANSWER_MS), err);

    if (r == HF_OK && !is_at(a->best, a->host, s->peer.target.port)) {
        r = hf__fail(err, HF_EUNAVAIL,
                     "%s: it is not the primary of \"%s\" any more",
                     s->peer.target.shown, a->service);
    }
    hf__sentinel_hang_up(s);
    return r;
}

/* Drops the news unread: whatever it is, all Sentinels are asked again. */
static bool has_news(struct hf__peer *p)
{
    redisReply *reply = NULL;
    bool has = false;

    while (p->state == HF__PEER_READY) {
        int r = hf__resp_next(&p->resp, &reply);

        if (r != HF_OK) {
            hf__peer_fail(p, r, hf__peer_why(r));
        } else if (reply == NULL) {
            break;
        }
        freeReplyObject(reply);
        has = true;
    }
    return has;
}

static void take_news(struct hf__sentinels *a)
{
    for (int i = 0; i < a->n; i++) {
        struct hf__peer *p = &a->peers[i];

        if (has_news(p)) {
            a->ask_at =
                hf__earlier(a->ask_at, hf__after_ms(hf__now(), NEWS_MS));
        }
        if (p->state == HF__PEER_DEAD) {
            hf__peer_close(p);
            a->ask_at =
                hf__earlier(a->ask_at, hf__after_ms(hf__now(), LOST_MS));
        }
    }
}

/* The connection to the primary is polled, too: nothing is asked on it, so an
 * event there means that it has ended. */
int hf__redis_listen(void *state, hf__broken_fn fn, void *arg,
                     hf__time deadline, hf_error *err)
{
    struct hf__redis *s = state;
    struct hf__sentinels *a = s->sentinels;
    struct hf__peer *peers[HF__SENTINELS_MAX + 1];

    (void)fn; /* breaks are not reported */
    (void)arg;
    for (int i = 0; i < a->n; i++) {
        peers[i] = &a->peers[i];
    }
    peers[a->n] = &s->peer;
    while (!hf__is_interrupted(&s->head) && hf__before(hf__now(), deadline)) {
        int r = HF_OK;

        if (!hf__before(hf__now(), a->ask_at)) {
            r = ask_again(s, err);
        }
        if (r != HF_OK) {
            return r;
        }
        (void)!hf__peers_poll(peers, a->n + 1, &s->rest, &s->head,
                              hf__earlier(deadline, a->ask_at));
        take_news(a);
        if (s->peer.state == HF__PEER_DEAD) {
            hf__error_copy(err, &s->peer.err);
            return s->peer.status;
        }
    }
    return HF_OK;
}
