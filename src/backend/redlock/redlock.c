/* SPDX-License-Identifier: MIT */
/*
 * The store redlock://, a majority of independent Redis servers. This file
 * reads the URL, which decides what is refused before any server is asked
 * (redis/target.c reads one server's part of it), and opens, closes and
 * interrupts a session; redlock.h says where the rest is. A session lives as
 * long as its client wants: members connect and disconnect inside it, and if
 * too few of them answer, that is the result of a single operation. Called as
 * in backend.h.
 */
#include "src/backend/redlock/members.h"

#include "src/backend/registry.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/files.h"

#include <stdio.h>
#include <string.h>

/* ---- the URL */

/* A majority of fewer members is all of them: none may fail. */
#define MEMBERS_MIN 3

#define LONGEST_MS     30000
#define LONGEST_MIN_MS 1000
#define LONGEST_MAX_MS 86400000

static const char *const options[] = {
    "tls", "ca", "cert", "key", "password_file", "longest_lease", NULL};

static int check_number(const struct hf__redlock *s, hf_error *err)
{
    if (s->n >= MEMBERS_MIN ||
        (s->n > 0 && hf__is_allowed(s->allow, "few-members"))) {
        return HF_OK;
    }
    return s->n == 0
               ? hf__fail(err, HF_EINVAL,
                          "url: it names no server: redlock://a,b,c/0")
               : hf__fail(err, HF_EUNSAFE,
                          "%d member%s: a majority needs three at least, five "
                          "to be without two; name them, use redis:, or say "
                          "allow=few-members",
                          s->n, s->n == 1 ? "" : "s");
}

/* Refuse a name that appears twice; the run_id later finds two names of one
 * server. */
static int check_names(const struct hf__redlock *s, hf_error *err)
{
    for (int i = 0; i < s->n; i++) {
        const struct hf__target *a = &s->members[i].target;

        for (int j = 0; j < i; j++) {
            const struct hf__target *b = &s->members[j].target;

            if (a->port == b->port && strcasecmp(a->host, b->host) == 0) {
                return hf__fail(err, HF_EINVAL,
                                "url: it names %s:%d twice; a server has one "
                                "vote",
                                a->host, a->port);
            }
        }
    }
    return HF_OK;
}

static int read_targets(struct hf__redlock *s, hf_error *err)
{
    const char *prefix = hf__url_option(s->url, "prefix");
    int r = HF_OK;

    (void)snprintf(s->mark_key, sizeof s->mark_key, "%s;member",
                   prefix == NULL ? "holdfast" : prefix);
    s->n = (int)s->url->n_hosts;
    for (int i = 0; i < s->n; i++) {
        hf__peer_init(&s->members[i].peer);
        s->members[i].duplicate_of = -1;
        s->members[i].is_over = true; /* so that it is tried at once */
    }
    for (int i = 0; i < s->n && r == HF_OK; i++) {
        r = hf__redis_target(s->url, (size_t)i, &s->members[i].target, err);
        s->members[i].target.mark_key = s->mark_key;
    }
    return r;
}

/* HF_OK; HF_EINVAL, HF_EUNSAFE (too few), HF_ENOMEM. */
static int read_url(struct hf__redlock *s, const struct hf__url *url,
                    const char *allow, hf_error *err)
{
    size_t length = strlen(allow);
    int r = hf__url_copy(url, &s->url);

    s->allow = hf__alloc(length + 1);
    if (r != HF_OK || s->allow == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a session");
    }
    memcpy(s->allow, allow, length);
    s->allows_volatile = hf__is_allowed(allow, "volatile");
    s->longest_ms = LONGEST_MS;
    s->margin_us = HF__MARGIN_US;
    r = read_targets(s, err);
    r = r == HF_OK ? check_number(s, err) : r;
    r = r == HF_OK ? check_names(s, err) : r;
    return r == HF_OK
               ? hf__url_duration(s->url, "longest_lease", LONGEST_MIN_MS,
                                  LONGEST_MAX_MS, &s->longest_ms, err)
               : r;
}

/* ---- the session */

/* How long to wait for the other members once a majority counts. */
#define LAST_MS 50
/* How long to wait for all members while no majority counts: at most ALL_MS,
 * and at most one part in ALL_PART of the time left. The rest is for marking;
 * without it, members would stay unmarked as long as all clients have that
 * little time. */
#define ALL_MS   1000
#define ALL_PART 2
/* The first clients of a new group come at the same time: how long to wait for
 * another client to mark the members, and how often. */
#define MARKING_MS     100
#define MARKING_PART   8
#define MARKING_ROUNDS 3
/* How long an interrupted command may go on; as in redis.c. */
#define GRACE_MS 50

static int check_duplicates(const struct hf__redlock *s, hf_error *err)
{
    for (int i = 0; i < s->n; i++) {
        const struct hf__redlock_member *m = &s->members[i];

        if (m->is_in && m->duplicate_of >= 0) {
            return hf__fail(err, HF_EUNSAFE,
                            "%s and %s are one server (run_id %s): it has one "
                            "vote; name each member once",
                            s->members[m->duplicate_of].target.shown,
                            m->target.shown, m->peer.server.run_id);
        }
    }
    return HF_OK;
}

static bool is_anything_owed(const struct hf__redlock *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->members[i].is_in && s->members[i].n_pending > 0) {
            return true;
        }
    }
    return false;
}

/* At most most_ms, and at most one part in `part` of the time left: so members
 * are marked even if little time is left. */
static hf__time until_part(hf__time deadline, int64_t most_ms, int part)
{
    hf__time now = hf__now();
    int64_t left_ms = hf__ms_until(deadline, now) / part;

    return hf__after_ms(now, left_ms < most_ms ? left_ms : most_ms);
}

static void look_again(struct hf__redlock *s, hf__time deadline)
{
    hf__time until = until_part(deadline, MARKING_MS, MARKING_PART);
    unsigned again = 0;

    for (int i = 0; i < s->n; i++) {
        again |= hf__durability_may_be_marked(s, i) ? 1u << i : 0;
    }
    while (again != 0 && hf__round_turn(s, until)) {
    }
    for (int i = 0; i < s->n; i++) {
        if ((again >> i & 1) != 0) {
            hf__member_start(s, i);
        }
    }
    while (hf__is_any_due(s, again) && hf__round_turn(s, deadline)) {
    }
}

/* Whether the group is new is known only once all members have connected. They
 * are marked before anything is granted: otherwise nobody could tell later that
 * a member was emptied. */
static void mark_all(struct hf__redlock *s, hf__time deadline)
{
    hf__time until = until_part(deadline, ALL_MS, ALL_PART);

    hf__members_await(s, until);
    for (int i = 0; i < MARKING_ROUNDS; i++) {
        look_again(s, deadline);
    }
    if (hf__durability_settle_all(s)) {
        until = hf__earlier(deadline, hf__after_ms(hf__now(), ALL_MS));
        while (is_anything_owed(s) && hf__round_turn(s, until)) {
        }
    }
}

static int connect_all(struct hf__redlock *s, hf__time deadline, hf_error *err)
{
    hf__time until;
    int r;

    for (int i = 0; i < s->n; i++) {
        hf__member_start(s, i);
    }
    mark_all(s, deadline);
    hf__members_await(s, deadline);
    if (hf__members_count(s) < hf__redlock_majority(s)) {
        mark_all(s, deadline); /* members that connected late */
        hf__members_await(s, deadline);
    }
    until = hf__earlier(deadline, hf__after_ms(hf__now(), LAST_MS));
    while (hf__is_any_due(s, ~0U) && hf__round_turn(s, until)) {
    }
    r = check_duplicates(s, err);
    if (r == HF_OK && hf__members_count(s) < hf__redlock_majority(s)) {
        r = hf__members_tell(s, hf__members_status(s), err);
    }
    return r;
}

static int redlock_open(void *state, const struct hf__url *url,
                        const char *allow, hf__time deadline, hf_error *err)
{
    struct hf__redlock *s = state;
    int r = read_url(s, url, allow, err);

    r = r == HF_OK ? hf__redlock_reserve(s, err) : r;
    r = r == HF_OK ? hf__waker_init(&s->rest.waker, err) : r;
    r = r == HF_OK ? connect_all(s, deadline, err) : r;
    s->rest.grace_ms = GRACE_MS;
    /* Grade C however durable the members are: nobody notices a clock that
     * steps, or a lease that two of them forget. */
    s->head.server_info =
        (struct hf__server_info){.grade = 'C',
                                 .rests_on = "majority of independent servers",
                                 .reach = HF_REACH_HOSTS};
    return r;
}

static void redlock_close(void *state)
{
    struct hf__redlock *s = state;

    for (int i = 0; i < s->n; i++) {
        hf__peer_close(&s->members[i].peer);
    }
    hf__waker_fini(&s->rest.waker);
    hf__bytes_fini(&s->bytes);
    hf__free(s->votes);
    hf__free(s->order);
    hf__free(s->allow);
    hf__url_free(s->url);
}

static void redlock_interrupt(void *state)
{
    struct hf__redlock *s = state;

    hf__waker_wake(&s->rest.waker);
}

const struct hf__backend hf__redlock_backend = {
    .scheme = "redlock",
    .caps = HF_CAP_FENCE | HF_CAP_LIST | HF_CAP_KEEP | HF_CAP_DETACH,
    .size = sizeof(struct hf__redlock),
    .options = options,
    .has_no_sigpipe = true,
    .open = redlock_open,
    .close = redlock_close,
    .execute = hf__redlock_execute,
    .list = hf__redlock_list,
    .check = hf__redlock_check,
    .interrupt = redlock_interrupt,
};
