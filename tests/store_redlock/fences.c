/* SPDX-License-Identifier: MIT */
/*
 * Many clients at one name while members stop, are killed and come back: one
 * at a time has it, and its fence is above all that were given before.
 */
#include "tests/store_redlock/world.h"

#include <stdatomic.h>
#include <time.h>

enum { CLIENTS = 8, GRANTS = 200 };
#define TIME_MS 10000

static struct {
    atomic_int inside;
    atomic_ullong last;
    atomic_int grants;
    atomic_bool is_over;
} history;

static void contend(void *arg)
{
    AUTO_CLIENT *client = open_with("io_timeout=1s");

    (void)arg;
    while (!atomic_load(&history.is_over)) {
        hf_acquire_opts opts = wanting(1000, 2000);
        AUTO_LOCK *job = NULL;
        int r = hf_acquire(client, "job", &opts, &job, NULL);

        if (r != HF_OK) {
            EXPECT(r == HF_TIMEDOUT || r == HF_EUNAVAIL || r == HF_EUNKNOWN);
            continue;
        }
        EXPECT_SAFE_IS(atomic_fetch_add(&history.inside, 1), 0);
        EXPECT_SAFE_MORE(hf_fence(job), atomic_load(&history.last));
        atomic_store(&history.last, hf_fence(job));
        atomic_fetch_add(&history.grants, 1);
        EXPECT_SAFE(hf_held(job) == 1 || hf_lost_reason(job) != 0);
        EXPECT_SAFE_IS(atomic_fetch_sub(&history.inside, 1), 1);
        r = hf_release(job, NULL);
        EXPECT(r == HF_OK || r == HF_LOST || r == HF_EUNKNOWN);
    }
}

/* ---- how far ahead of the clock they are */

static int64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t ahead_ms(hf_client *client, const char *name)
{
    int64_t start = wall_us();
    AUTO_LOCK *job = acquire_fixed(client, name, 5000);

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    return ((int64_t)hf_fence(job) - start) / 1000;
}

/* Two members have a fence that is ahead, as of a clock that was. */
static int64_t learn_margin(hf_client *client)
{
    for (int i = 0; i < 3; i++) {
        char fence[32];

        snprintf(fence, sizeof fence, "%lld",
                 (long long)wall_us() + 250000 + i * 1000);
        (void)hf__redis_command(
            member(i), "HMSET holdfast:{ahead} fence %s expires 0", fence);
    }
    (void)ahead_ms(client, "ahead");
    return ahead_ms(client, "job");
}

TEST_WITHIN(60, a_margin_that_was_learned_is_lowered_again)
{
    GROUP(3);
    AUTO_CLIENT *alice = open_store();
    int64_t high;

    UNTIL((high = learn_margin(alice)) > 160); /* the fence is soon reached */
    for (int i = 0; i < 1100; i++) {
        (void)ahead_ms(alice, "job");
    }
    printf("# %lld ms ahead, then %lld\n", (long long)high,
           (long long)ahead_ms(alice, "job"));
    /* Where it has come to is what the machine is like. */
    UNTIL(ahead_ms(alice, "job") < high - 60);
}

static void disturb(struct hf__redis_group *g, int i)
{
    struct hf__redis *one = hf__redis_member(g, i % 5);
    struct hf__redis *other = hf__redis_member(g, (i + 2) % 5);

    hf__redis_kill(one);
    hf__redis_pause(other);
    hf__test_pause_ms(150);
    hf__redis_resume(other);
    hf__redis_restart(one, NULL);
    hf__test_pause_ms(100);
}

TEST_WITHIN(60, fences_rise_while_members_come_and_go)
{
    AUTO_GROUP *g = durable_group(5);
    struct hf__test_thread *threads[CLIENTS];
    int64_t start = hf__test_now_ms();

    hf__test_start_all(threads, CLIENTS, contend, NULL);
    for (int i = 0;
         since(start) < TIME_MS && atomic_load(&history.grants) < GRANTS; i++) {
        disturb(g, i);
    }
    atomic_store(&history.is_over, true);
    hf__test_join_all(threads, CLIENTS);
    printf("# %d grants in %d ms\n", atomic_load(&history.grants),
           (int)since(start));
    EXPECT_MORE(atomic_load(&history.grants), 20);
    expect_nothing_left(~0U, "job");
}
