/* SPDX-License-Identifier: MIT */
/*
 * What holders do, while the connection breaks at any point: a renewal costs
 * no lock, a release is done all the same, a hand-over has one heir or none.
 */
#include "tests/store_server/cuts.h"

static hf_lock *acquire_seen(struct scene *s)
{
    hf_acquire_opts opts = fixed(patient_ms());
    hf_lock *job = NULL;

    EXPECT_IS(hf_acquire(s->alice, "job", &opts, &job, NULL), HF_OK);
    see_fence(s, hf_fence(job));
    return job;
}

static void renew_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    AUTO_LOCK *job = acquire_seen(s);
    int r;

    hf__proxy_rule(s->proxy, rule);
    r = hf_renew(job, NULL);
    hf__proxy_heal(s->proxy);
    expect_answer(s, r);
    EXPECT_IS(hf_held(job), 1);
    EXPECT_IS(try_once(s->bob, "job"), HF_BUSY);
    for (int i = 0; i < 5 && (r = hf_renew(job, NULL)) != HF_OK; i++) {
        EXPECT(is_outage(r));
    }
    EXPECT_IS(r, HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

static void release_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    AUTO_LOCK *job = acquire_seen(s);
    int r;

    hf__proxy_rule(s->proxy, rule);
    r = hf_release(job, NULL);
    hf__proxy_heal(s->proxy);
    expect_answer(s, r);
    EXPECT_IS(hf_held(job), 0);
}

struct heir {
    struct scene *scene;
    hf_lock *lock;
    int status;
};

static void inherit(void *arg)
{
    struct heir *heir = arg;
    hf_acquire_opts opts = fixed(patient_ms());

    heir->status =
        hf_acquire(heir->scene->alice, "job", &opts, &heir->lock, NULL);
}

static void hand_over_cut(struct scene *s, const struct hf__proxy_rule *rule)
{
    struct heir heir = {.scene = s};
    hf_stats_info stats = HF_STATS_INFO_INIT;
    struct hf__test_thread *thread;
    AUTO_LOCK *job = acquire_seen(s);
    int r;

    thread = hf__test_start(inherit, &heir);
    while (stats.waiting == 0) {
        EXPECT_IS(hf_stats(s->alice, &stats), HF_OK);
        hf__test_pause_ms(1);
    }
    hf__test_pause_ms(5);
    hf__proxy_rule(s->proxy, rule);
    r = hf_release(job, NULL);
    EXPECT_IS(hf_held(job), 0);
    hf__proxy_heal(s->proxy);
    EXPECT(r == HF_OK || is_outage(r));
    hf__test_join(thread);
    expect_answer(s, heir.status);
    if (heir.status == HF_OK) {
        see_fence(s, hf_fence(heir.lock));
        EXPECT_IS(try_once(s->bob, "job"), HF_BUSY);
        EXPECT_IS(hf_release(heir.lock, NULL), HF_OK);
    }
    hf_free(heir.lock);
}

CASE_WITHIN(60, a_renewal_that_is_cut_costs_no_lock, play_all(renew_cut, 1));
CASE_WITHIN(60, a_release_that_is_cut_is_done_all_the_same,
            play_all(release_cut, 1));
CASE_WITHIN(60, a_hand_over_that_is_cut_has_one_heir_or_none,
            play_all(hand_over_cut, 2));
