/* SPDX-License-Identifier: MIT */
/*
 * An acquire whose connection breaks at any point: one grant or none, and none
 * that stays after its caller was told of a failure.
 */
#include "tests/store_server/cuts.h"

static void acquire_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    hf_acquire_opts opts = fixed(0);
    AUTO_LOCK *job = NULL;
    int r;

    hf__proxy_rule(s->proxy, rule);
    r = hf_acquire(s->alice, "job", &opts, &job, NULL);
    hf__proxy_heal(s->proxy);
    expect_answer(s, r);
    if (r == HF_OK) {
        see_fence(s, hf_fence(job));
        EXPECT_IS(try_once(s->bob, "job"), HF_BUSY);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
}

static void first_acquire_cut(struct scene *s,
                              const struct hf__proxy_rule *rule)
{
    forget_all();
    acquire_cut(s, rule);
}

static void many_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    static const char *const names[] = {"c", "a", "job", "b"};
    hf_acquire_opts opts = fixed(0);
    AUTO_LOCK *all = NULL;
    int r;

    hf__proxy_rule(s->proxy, rule);
    r = hf_acquire_many(s->alice, names, 4, &opts, &all, NULL);
    hf__proxy_heal(s->proxy);
    expect_answer(s, r);
    if (r == HF_OK) {
        see_fence(s, hf_fence_at(all, 2));
        EXPECT_IS(try_once(s->bob, "a"), HF_BUSY);
        EXPECT_IS(hf_release(all, NULL), HF_OK);
    }
    expect_settled(s->alice);
    for (int i = 0; i < 4; i++) {
        expect_free(s, names[i]);
    }
}

CASE_WITHIN(60, an_acquire_that_is_cut_is_one_grant_or_none,
            play_all(acquire_cut, 1));
CASE_WITHIN(60, the_first_acquire_of_a_name_too,
            play_all(first_acquire_cut, 2));
CASE_WITHIN(60, many_that_are_cut_are_all_or_none, play_all(many_cut, 1));
