/* SPDX-License-Identifier: MIT */
/*
 * list() and check(): list() collects the names that any member has a record
 * of, and reports those that a majority holds; check() tells whether the
 * members are fit to be a quorum. Called by the session's thread.
 */
#include "src/backend/redis/scan.h"
#include "src/backend/redlock/members.h"

#include "src/backend/report.h"
#include "src/base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- list() */

/* Names that are inspected in one batch. */
enum { LOOKS = 64 };

/* The most time for a page; and once a majority has sent its page, what the
 * other members still have. */
#define PAGE_MS 1000
#define LAST_MS 50

struct scanning {
    struct hf__scan scans[HF__MEMBERS_MAX];
    struct hf__names names;
    unsigned out;    /* have not sent their page */
    unsigned over;   /* have sent their last page */
    unsigned failed; /* … will send no more */
    int status;      /* HF_OK, or why the listing failed */
};

static void take_page(struct hf__redlock *s, int member, int at,
                      const redisReply *reply)
{
    struct scanning *g = s->arg;
    unsigned own = 1u << member;

    (void)at;
    g->out &= ~own;
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        g->failed |= own;
        if (reply != NULL) {
            hf_error why = HF_ERROR_INIT;

            (void)hf__redis_error(reply, NULL, &why);
            hf__refusal_note(&s->members[member], &why);
        }
        return;
    }
    int r = hf__scan_take(&g->scans[member], reply, &g->names);
    g->status = r == HF_ENOMEM ? r : g->status;
    g->failed |= r != HF_OK ? own : 0;
    g->over |= r == HF_OK && g->scans[member].is_over ? own : 0;
}

static void hear_pages(struct hf__redlock *s, struct scanning *g,
                       unsigned asked, hf__time deadline)
{
    hf__time until = hf__earlier(deadline, hf__after_ms(hf__now(), PAGE_MS));
    bool is_hurried = false;

    while (g->out != 0 && !hf__is_majority(s, g->over) &&
           hf__round_turn(s, until)) {
        if (!is_hurried && hf__is_majority(s, asked & ~g->failed & ~g->out)) {
            is_hurried = true;
            until = hf__earlier(until, hf__after_ms(hf__now(), LAST_MS));
        }
    }
}

/* Fetch the next page of each member that has one. */
static void turn_pages(struct hf__redlock *s, struct scanning *g,
                       unsigned asked, hf__time deadline)
{
    hf__round_begin(s, take_page, g);
    g->out = 0;
    for (int i = 0; i < s->n; i++) {
        if (((asked & ~g->over & ~g->failed) >> i & 1) == 0) {
            continue;
        }
        hf__bytes_clear(&s->bytes);
        hf__scan_add(&s->bytes, &g->scans[i]);
        g->out |= 1u << i; /* before sending, which may lose it */
        if (s->bytes.is_broken || hf__round_send(s, 1u << i, 0, true) == 0) {
            g->out &= ~(1u << i);
            g->failed |= 1u << i;
        }
    }
    hear_pages(s, g, asked, deadline);
    g->failed |= g->out;
    hf__round_end(s);
}

/* Collect all names of a majority of the members, and those of the other
 * members that come meanwhile. */
static int scan_all(struct hf__redlock *s, struct scanning *g,
                    const struct hf__key *prefix, hf__time deadline)
{
    unsigned asked = 0;

    hf__members_tend(s);
    hf__members_await(s, deadline);
    for (int i = 0; i < s->n; i++) {
        hf__scan_begin(&g->scans[i], prefix);
        if (hf__member_counts(&s->members[i], hf__now())) {
            asked |= 1u << i;
        }
    }
    while ((asked & ~g->over & ~g->failed) != 0 &&
           !hf__is_majority(s, g->over) && g->status == HF_OK) {
        turn_pages(s, g, asked, deadline);
    }
    if (g->status != HF_OK) {
        return g->status;
    }
    /* Every majority has a member that knows a held name. */
    return hf__is_majority(s, g->over) ? (int)HF_OK : (int)HF_EUNAVAIL;
}

static int look_at(struct hf__redlock *s, const struct hf__key *keys, int n,
                   struct hf__record *records, hf__time deadline, hf_error *err)
{
    struct hf__op ops[LOOKS] = {{.kind = HF__OP_INSPECT}};
    struct hf__op *list[LOOKS];
    int r = HF_OK;

    for (int i = 0; i < n; i++) {
        ops[i] = (struct hf__op){.kind = HF__OP_INSPECT,
                                 .key = keys[i],
                                 .result = HF_EUNAVAIL,
                                 .ret_record = &records[i],
                                 .err = err,
                                 .sent = hf__now()};
        records[i] = (struct hf__record){0};
        list[i] = &ops[i];
    }
    if (hf__redlock_execute(s, list, n, deadline, err) != HF_OK) {
        return HF_EUNAVAIL;
    }
    for (int i = 0; i < n && r == HF_OK; i++) {
        r = ops[i].result;
    }
    return r;
}

/* Report the names in their order; they are inspected in batches. */
static int tell_names(struct hf__redlock *s, const struct hf__names *names,
                      hf__list_fn fn, void *arg, hf__time deadline,
                      hf_error *err)
{
    struct hf__record records[LOOKS];
    int r = HF_OK;

    for (size_t at = 0; at < names->n && r == HF_OK; at += LOOKS) {
        size_t left = names->n - at;
        int n = left < LOOKS ? (int)left : LOOKS;

        r = look_at(s, names->keys + at, n, records, deadline, err);
        for (int i = 0; i < n && r == HF_OK; i++) {
            const struct hf__key *key = &names->keys[at + (size_t)i];

            if (records[i].is_held &&
                fn(arg, key->bytes + key->name_at,
                   (size_t)(key->length - key->name_at), &records[i]) != 0) {
                return HF_OK;
            }
        }
    }
    return r;
}

int hf__redlock_list(void *state, const struct hf__key *prefix, hf__list_fn fn,
                     void *arg, hf__time deadline, hf_error *err)
{
    struct hf__redlock *s = state;
    struct scanning g = {.status = HF_OK};
    int r;

    hf__refusals_begin(s);
    r = scan_all(s, &g, prefix, deadline);
    if (r == HF_OK) {
        hf__names_sort(&g.names);
        r = tell_names(s, &g.names, fn, arg, deadline, err);
    } else if (r == HF_ENOMEM) {
        r = hf__fail(err, r, "out of memory for a list");
    } else {
        r = hf__members_tell(s, r, err);
    }
    hf__names_fini(&g.names);
    return r;
}

/* ---- check() */

struct checking {
    struct hf__report to;
    unsigned out;
    int64_t ahead_us[HF__MEMBERS_MAX]; /* the member's clock minus ours */
    unsigned has_clock;
    int64_t asked_us;
};

static void take_clock(struct hf__redlock *s, int member, int at,
                       const redisReply *reply)
{
    struct checking *c = s->arg;
    int64_t now = hf__wall_us();
    int64_t theirs = reply == NULL ? 0 : hf__answer_time(reply);

    (void)at;
    c->out &= ~(1u << member);
    if (theirs != 0) {
        c->has_clock |= 1u << member;
        c->ahead_us[member] = theirs - (c->asked_us / 2 + now / 2);
    }
}

static void ask_clocks(struct hf__redlock *s, struct checking *c,
                       hf__time deadline)
{
    hf__time until = hf__earlier(deadline, hf__after_ms(hf__now(), 1000));

    hf__round_begin(s, take_clock, c);
    hf__bytes_clear(&s->bytes);
    hf__bytes_words(&s->bytes, HF__WORDS("TIME"));
    c->asked_us = hf__wall_us();
    c->out = (1u << s->n) - 1; /* before sending, which may lose one */
    c->out &= s->bytes.is_broken ? 0 : hf__round_send(s, c->out, 0, true);
    while (c->out != 0 && hf__round_turn(s, until)) {
    }
    hf__round_end(s);
}

static void check_member(const struct hf__redlock *s, struct checking *c, int i)
{
    const struct hf__redlock_member *m = &s->members[i];
    const struct hf__redis_server *v = &m->peer.server;
    char name[400];
    char value[600];
    bool counts = hf__member_counts(m, hf__now());
    bool is_silent = counts && (c->has_clock >> i & 1) == 0;

    (void)snprintf(name, sizeof name, "member %d (%s)", i + 1, m->target.shown);
    if (!counts || is_silent) {
        hf__member_describe(s, i, value, sizeof value);
        hf__report_tell(&c->to, name, value, HF_WARN,
                        m->duplicate_of >= 0
                            ? "name each server once: it has one vote"
                            : "without a majority of its members this store "
                              "grants nothing");
        return;
    }
    (void)snprintf(value, sizeof value,
                   "%s, up %" PRId64 " s, %s, maxmemory-policy %s, %d replicas",
                   v->version, v->uptime_s,
                   m->is_durable ? "each write is flushed"
                   : v->has_aof  ? "appendonly, not each write is flushed"
                                 : "no appendonly file",
                   v->policy[0] == '\0' ? "not told" : v->policy, v->replicas);
    hf__report_tell(&c->to, name, value, HF_FINE, NULL);
}

/* Report why a connected member counts, or does not yet. */
static void check_memory(const struct hf__redlock *s, struct checking *c, int i)
{
    const struct hf__redlock_member *m = &s->members[i];
    int64_t left_ms = hf__ms_until(m->counts_at, hf__now());
    char name[64];
    char had[400];
    char value[500];

    if (!m->is_in) {
        return;
    }
    (void)snprintf(name, sizeof name, "member %d remembers", i + 1);
    hf__durability_tell(s, m, had, sizeof had);
    if (left_ms <= 0) {
        hf__report_tell(&c->to, name, had, HF_FINE, NULL);
        return;
    }
    (void)snprintf(value, sizeof value, "%s; counts in %" PRId64 " s", had,
                   hf__seconds_left(left_ms));
    hf__report_tell(&c->to, name, m->durability.is_unmarked ? had : value,
                    HF_WARN,
                    "wait: until then somebody may hold what it has forgotten");
}

static void check_quorum(const struct hf__redlock *s, struct checking *c)
{
    int counting = hf__members_count(s);
    int majority = hf__redlock_majority(s);
    char value[160];

    (void)snprintf(value, sizeof value,
                   "%d of %d members count, %d must; %d can be without",
                   counting, s->n, majority,
                   counting < majority ? 0 : counting - majority);
    hf__report_tell(&c->to, "quorum", value,
                    counting < majority    ? HF_UNFIT
                    : counting == majority ? HF_WARN
                                           : HF_FINE,
                    "see the members that do not count");
    (void)snprintf(value, sizeof value, "%" PRId64 " ms", s->longest_ms);
    hf__report_tell(&c->to, "longest_lease", value, HF_FINE, NULL);
}

/* Each member ends its leases by its own clock, so a difference does no harm,
 * but a step does. If the clocks are far apart, each grant's fence costs a
 * second round. */
static void check_clocks(const struct hf__redlock *s, struct checking *c)
{
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    char value[160];

    for (int i = 0; i < s->n; i++) {
        if ((c->has_clock >> i & 1) != 0) {
            low = c->ahead_us[i] < low ? c->ahead_us[i] : low;
            high = c->ahead_us[i] > high ? c->ahead_us[i] : high;
        }
    }
    if (c->has_clock == 0) {
        return;
    }
    (void)snprintf(value, sizeof value,
                   "%" PRId64 " ms apart, %+" PRId64 " to %+" PRId64
                   " ms of ours",
                   (high - low) / 1000, low / 1000, high / 1000);
    hf__report_tell(
        &c->to, "clocks", value, high - low < 50000 ? HF_FINE : HF_WARN,
        "let NTP keep them: a step of a clock ends leases early, and fences "
        "take two rounds");
}

static void check_durability(const struct hf__redlock *s, struct checking *c)
{
    int n = 0;
    char value[160];

    for (int i = 0; i < s->n; i++) {
        n += s->members[i].is_in && s->members[i].is_durable;
    }
    (void)snprintf(value, sizeof value, "%d of %d keep all their data", n,
                   s->n);
    hf__report_tell(
        &c->to, "durability", value, n == s->n ? HF_FINE : HF_WARN,
        s->allows_volatile
            ? "allow=volatile: a restarted member counts at once, so two "
              "clients may hold one lock"
            : "members with appendonly yes and appendfsync always count at "
              "once after a restart; the others after longest_lease");
}

int hf__redlock_check(void *state, hf__check_fn fn, void *arg,
                      hf__time deadline, hf_error *err)
{
    struct hf__redlock *s = state;
    struct checking c = {.to = {.fn = fn, .arg = arg}};

    (void)err;
    hf__members_tend(s);
    hf__members_await(s, deadline);
    ask_clocks(s, &c, deadline);
    check_quorum(s, &c);
    for (int i = 0; i < s->n; i++) {
        check_member(s, &c, i);
        check_memory(s, &c, i);
    }
    check_durability(s, &c);
    check_clocks(s, &c);
    hf__report_tell(&c.to, "waiting", "by polling, every 20 to 120 ms", HF_FINE,
                    NULL);
    return HF_OK;
}
