/* SPDX-License-Identifier: MIT */
/*
 * Connections that break before, or after, each statement and each reply of an
 * acquire, a renewal and a release: the lock is had or not, and never by two;
 * what was given up is free, and fences rise over all of it.
 */
#include "tests/servers/proxy.h"
#include "tests/store_mysql_row/world.h"

/* The connections of a client are not all made when the first breaks. */
enum { STATEMENTS = 6, ASKS = 20 };

struct scene {
    struct hf__proxy *proxy;
    struct party alice; /* behind the proxy */
    struct party bob;
    uint64_t fence; /* the highest that was seen */
};

/* The answer to whatever got none. */
static int insist(struct party *p, int (*ask_for)(struct party *, const char *))
{
    int r = HF_EUNKNOWN;

    for (int i = 0; i < ASKS && r < 0; i++) {
        r = ask_for(p, "job");
    }
    return r;
}

static void see_fence(struct scene *s, struct party *p)
{
    EXPECT_SAFE_MORE(fence_of(p, "job"), s->fence);
    s->fence = fence_of(p, "job");
}

/* Nothing is left of it. */
static void expect_free(struct scene *s)
{
    UNTIL(acquire(&s->bob, "job") == HF_OK);
    see_fence(s, &s->bob);
    EXPECT_IS(release(&s->bob, "job"), HF_OK);
}

/* Who has lost the connection that he was granted by has lost it at once. */
static void expect_one(struct scene *s)
{
    int other = acquire(&s->bob, "job");

    EXPECT_SAFE(renew(&s->alice, "job") != HF_OK || other == HF_BUSY);
    if (other == HF_OK) {
        see_fence(s, &s->bob);
        EXPECT_IS(release(&s->bob, "job"), HF_OK);
    }
}

static void acquire_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    int r;

    hf__proxy_rule(s->proxy, rule);
    r = try_once(&s->alice, "job");
    hf__proxy_heal(s->proxy);
    if (r == HF_OK) {
        expect_one(s);
    }
    (void)insist(&s->alice, release);
    begin_anew(&s->alice, "job");
}

static void renew_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    int r;

    EXPECT_IS(insist(&s->alice, acquire), HF_OK);
    see_fence(s, &s->alice);
    hf__proxy_rule(s->proxy, rule);
    r = renew(&s->alice, "job");
    hf__proxy_heal(s->proxy);
    if (r == HF_OK) {
        expect_one(s);
    }
    r = insist(&s->alice, release);
    EXPECT(r == HF_OK || r == HF_LOST);
    begin_anew(&s->alice, "job");
}

static void release_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    int r;

    EXPECT_IS(insist(&s->alice, acquire), HF_OK);
    see_fence(s, &s->alice);
    hf__proxy_rule(s->proxy, rule);
    (void)release(&s->alice, "job");
    hf__proxy_heal(s->proxy);
    r = insist(&s->alice, release);
    EXPECT(r == HF_OK || r == HF_LOST);
    begin_anew(&s->alice, "job");
}

/* With the name's row there, or not. */
static void play(void (*act)(struct scene *, const struct hf__proxy_rule *),
                 bool is_new)
{
    struct scene s = {
        .proxy =
            hf__proxy_start(hf__mariadb_port(server()), &hf__framing_mysql),
    };

    EXPECT_IS(join_url(&s.bob, "bob", url_with("")), HF_OK);
    EXPECT_IS(join_url(&s.alice, "alice", url_by(hf__proxy_port(s.proxy))),
              HF_OK);
    for (int i = 0; i < 4 * STATEMENTS; i++) {
        struct hf__proxy_rule rule = {
            .what = i % 2 ? HF__STATEMENT : HF__REPLY,
            .where = i / 2 % 2 ? HF__BEFORE : HF__AFTER,
            .action = HF__CLOSE,
            .n = 1 + i / 4,
        };

        if (is_new) {
            hf__mariadb_sql(server(), "DELETE FROM %s.holdfast_row",
                            database());
        }
        act(&s, &rule);
        expect_free(&s);
    }
    leave(&s.alice);
    leave(&s.bob);
    hf__proxy_free(s.proxy);
}

CASE_WITHIN(60, an_acquire_of_a_row_that_is_cut_is_one_grant_or_none,
            play(acquire_cut, false));
CASE_WITHIN(60, the_first_acquire_of_a_row_too, play(acquire_cut, true));
CASE_WITHIN(60, a_renewal_of_a_row_that_is_cut_is_held_or_lost,
            play(renew_cut, false));
CASE_WITHIN(60, a_release_of_a_row_that_is_cut_is_done,
            play(release_cut, false));
