/* SPDX-License-Identifier: MIT */
/*
 * The server is killed, stopped and started again while eight processes
 * contend for two locks, and their history is checked: never two holders at a
 * time, no fence that falls, and all go on afterwards. It is durable.
 */
#include "tests/contract/peer.h"
#include "tests/store_server/server.h"

#include <stdatomic.h>

enum { CREW = 8, NAMES = 2, LEASE_MS = 2000, WAIT_MS = 1000 };

/* What all processes see. */
struct page {
    atomic_int is_over;
    atomic_int clashes;
    atomic_int fallen;
    atomic_int strange; /* the first status that nobody expected */
    atomic_int lost;
    atomic_llong top[NAMES]; /* fence */
    /* By the clock that all share: until then it surely holds the name. */
    atomic_llong held_until[NAMES][CREW];
    atomic_llong grants[CREW];
};

static struct page *page;

static void look_for_others(int name, int me)
{
    for (int i = 0; i < CREW; i++) {
        long long until = atomic_load(&page->held_until[name][i]);

        if (i != me && until > hf__test_now_ms()) {
            atomic_fetch_add(&page->clashes, 1);
        }
    }
}

static void see_fence(int name, long long fence)
{
    if (atomic_exchange(&page->top[name], fence) >= fence) {
        atomic_fetch_add(&page->fallen, 1);
    }
}

/* Some milliseconds with the lock, and now and then many. */
static void work(int name, int me, const hf_lock *lock)
{
    int turns = hf_fence(lock) % 16 == 0 ? 400 : 4;
    atomic_llong *until = &page->held_until[name][me];

    look_for_others(name, me);
    see_fence(name, (long long)hf_fence(lock));
    for (int i = 0; i < turns; i++) {
        int64_t now = hf__test_now_ms();

        atomic_store(until, now + hf_remaining_ms(lock));
        hf__test_pause_ms(1);
    }
    atomic_fetch_add(&page->lost, !hf_held(lock));
    atomic_store(until, 0);
}

static void contend(int me)
{
    static const char *const names[NAMES] = {"red", "blue"};
    hf_client *client = open_with(io_timeout(500, ""));

    for (int i = me; !atomic_load(&page->is_over); i++) {
        hf_acquire_opts opts = wanting(WAIT_MS, patience(LEASE_MS));
        hf_lock *lock = NULL;
        int r = hf_acquire(client, names[i % NAMES], &opts, &lock, NULL);

        if (r == HF_OK) {
            work(i % NAMES, me, lock);
            r = hf_release(lock, NULL);
            atomic_fetch_add(&page->grants[me], 1);
        }
        hf_free(lock);
        if (r != HF_OK && r != HF_TIMEDOUT && r != HF_LOST &&
            r != HF_EUNAVAIL && r != HF_EUNKNOWN) {
            atomic_store(&page->strange, r);
        }
    }
    hf_close(client);
}

/* Each of them is granted a lock again. */
static void await_progress(void)
{
    int64_t start = hf__test_now_ms();
    long long seen[CREW];

    for (int i = 0; i < CREW; i++) {
        seen[i] = atomic_load(&page->grants[i]);
    }
    for (int i = 0; i < CREW; i++) {
        UNTIL_WITHIN(15000, atomic_load(&page->grants[i]) >= seen[i] + 2);
    }
    printf("all went on within %lld ms\n", (long long)since(start));
}

static void stir(void (*disturb)(void))
{
    pid_t crew[CREW];
    long long grants = 0;

    hf_close(open_store()); /* what the first to come makes */
    page = shared_page(sizeof *page);
    for (int i = 0; i < CREW; i++) {
        crew[i] = start_crew(contend, i);
    }
    await_progress();
    for (int i = 0; i < 2; i++) {
        disturb();
        await_progress();
    }
    atomic_store(&page->is_over, 1);
    for (int i = 0; i < CREW; i++) {
        end_crew(crew[i]);
        grants += atomic_load(&page->grants[i]);
    }
    printf("%lld grants, %d lost\n", grants, atomic_load(&page->lost));
    EXPECT_SAFE_IS(atomic_load(&page->clashes), 0);
    EXPECT_SAFE_IS(atomic_load(&page->fallen), 0);
    EXPECT_IS(atomic_load(&page->strange), 0);
}

static void kill_and_restart(void)
{
    kill_server();
    hf__test_pause_ms(100);
    restart_server();
}

TEST_WITHIN(90, eight_go_on_when_the_server_is_killed)
{
    OWN_SERVER(true);

    stir(kill_and_restart);
}

static void stop_and_restart(void)
{
    stop_server();
    restart_server();
}

TEST_WITHIN(90, eight_go_on_when_the_server_is_restarted)
{
    OWN_SERVER(true);

    stir(stop_and_restart);
}

static void pause_for_long(void)
{
    pause_server();
    hf__test_pause_ms(patience(LEASE_MS) + 700);
    resume_server();
}

TEST_WITHIN(90, eight_go_on_when_the_server_stands_still)
{
    OWN_SERVER(false);

    stir(pause_for_long);
}
