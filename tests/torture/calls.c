/* SPDX-License-Identifier: MIT */
/*
 * The n-th call to the store goes wrong, in each way that a network has, for
 * every n until none does. Each time the answer is one that the caller can
 * act on, nobody else gets what alice believes to hold, and when she is gone
 * nothing of hers outlives its lease.
 */
#include "src/backend/fault/plan.h"
#include "tests/contract/api.h"
#include "tests/torture/scene.h"
#include "tests/virtual/virtual.h"

#include <stdlib.h>
#include <string.h>

/* Calls that one act makes at most; far more than any does. */
enum { CALLS_MAX = 200 };

/* Where nothing fails nothing is waited out, so there is all the time; who
 * shall notice does so soon. */
static const char *const endless = "io_timeout=20s&connect_timeout=20s";
static const char *const ample = "io_timeout=200ms&connect_timeout=400ms";
static const char *const brief = "io_timeout=50ms&connect_timeout=100ms";

/* Undisturbed, or what a caller must be ready for. A delay is no failure as
 * long as it is short. */
static bool is_clean(const struct act *act, int r, bool is_harmless)
{
    if (r == act->result) {
        return true;
    }
    /* An outage that was waited through shows in nothing but the time. */
    if (is_harmless) {
        return false;
    }
    return r == HF_EUNAVAIL || r == HF_EUNKNOWN || r == HF_TIMEDOUT;
}

static bool play(struct scene *s, const struct act *act, bool is_harmless)
{
    unsigned before = hf__fault_count();
    int r = act->prepare(s);

    if (r == HF_OK) {
        r = act->play(s);
    } else {
        EXPECT(!is_harmless);
        EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
        r = act->result;
    }
    if (!is_clean(act, r, is_harmless)) {
        printf("%s, %s: %s\n", act->name, s->url, hf_strstatus(r));
        EXPECT(false);
    }
    scene_expect_exclusive(s);
    scene_clear(s);
    scene_expect_free(patience(500));
    return hf__fault_count() > before;
}

/* What happens to which calls: HEAD n TAIL is the rule. */
struct rule {
    const char *head;
    const char *tail;
    bool is_harmless;
    bool is_brief; /* the store's time, which is waited out */
    int step;      /* from one n to the next, where an outage takes its time */
};

static int torture(struct scene *s, const struct act *act,
                   const struct rule *rule)
{
    static unsigned times; /* each time a plan of its own, counting from 1 */
    int slow = rule->step * (getenv("HOLDFAST_TEST_SLOW") ? 3 : 1);
    int step = hf__virtual_is_on() ? 1 : slow;
    int n = 1 + rand() % step;
    bool has_failed = true;

    for (; has_failed && n < CALLS_MAX; n += step) {
        char plain[2100];
        char url[2200];

        scene_url(plain, sizeof plain,
                  rule->is_harmless ? endless
                  : rule->is_brief  ? brief
                                    : ample);
        snprintf(url, sizeof url, "fault+%s&seed=%u&fault=%s:%d%s", plain,
                 ++times, rule->head, n, rule->tail);
        s->url = url;
        has_failed = play(s, act, rule->is_harmless);
    }
    EXPECT_LESS(n, CALLS_MAX);
    return n - 1;
}

static void torture_all(const char *head, const char *tail, bool is_harmless)
{
    struct rule rule = {.head = head,
                        .tail = tail,
                        .is_harmless = is_harmless,
                        .is_brief = strcmp(tail, ":2s") == 0,
                        .step = *tail == '-' ? 5 : 1};
    AUTO_CLIENT *bob = open_lasting(NULL);
    AUTO_LOCK *taken = acquire_fixed(bob, "taken", HF_LEASE_MAX_MS);
    struct scene scene = {.bob = bob};
    const struct act *act = NULL;

    srand((unsigned)hf__test_seed());
    printf("seed %llu\n", (unsigned long long)hf__test_seed());
    expect_held(taken);
    for (int i = 0; (act = act_at(i)) != NULL; i++) {
        if (store_can(act->needs)) {
            int64_t start = hf__test_now_ms();
            int n = torture(&scene, act, &rule);

            printf("%s: %d calls, %lld ms\n", act->name, n,
                   (long long)since(start));
        }
    }
}

CASE_WITHIN(60, a_request_is_lost, torture_all("lose_request:any", "", false));
CASE_WITHIN(60, a_reply_is_lost, torture_all("lose_reply:any", "", false));
CASE_WITHIN(60, a_session_dies, torture_all("die:any", "", false));
CASE_WITHIN(60, sessions_die_from_then_on, torture_all("die:any", "-", false));
CASE_WITHIN(60, a_call_is_delayed, torture_all("delay:any", ":20ms", true));
CASE_WITHIN(60, a_call_is_delayed_beyond_its_time,
            torture_all("delay:any", ":2s", false));
CASE_WITHIN(60, a_reply_comes_too_late,
            torture_all("late_reply:any", ":2s", false));
CASE_WITHIN(60, an_operation_must_be_asked_again,
            torture_all("again:op", "", true));
CASE_WITHIN(60, an_acquire_arrives_twice,
            torture_all("duplicate:acquire", "", true));
CASE_WITHIN(60, a_release_arrives_twice,
            torture_all("duplicate:release", "", true));
