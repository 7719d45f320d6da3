/* SPDX-License-Identifier: MIT */
/*
 * Who leads the ensemble is killed again and again under load, and a follower
 * while clients hang on it: no grant is lost by that, no two are inside, and
 * nobody is left out. Clients are processes, whose history is judged.
 */
#include "tests/store_zookeeper/faults/world.h"

#include <string.h>

/* As often as there are members: most likely each of them led once. */
enum { CREW = 3, KILLS = HF__ZOOKEEPER_ENSEMBLE, STEPS = 2 };

static struct board {
    atomic_int done[2 * CREW]; /* stays of each thread */
    atomic_int failed;         /* acquires */
    atomic_int lost;
    atomic_bool is_over;
} * board;
static struct history *history;

/* ---- the load: a thread of each process on one name, and one on its own */

struct hand {
    hf_client *client;
    int who;
    int name; /* 0: that of all */
};

static void take_a_turn(struct hand *h, const char *name)
{
    hf_acquire_opts opts = wanting(patience(60000), HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *lock = NULL;
    int r = hf_acquire(h->client, name, &opts, &lock, NULL);

    if (r != HF_OK) {
        /* HF_TIMEDOUT: no member led for the whole wait. Whether all get on is
         * asked by await_progress(). */
        EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN || r == HF_TIMEDOUT);
        atomic_fetch_add(&board->failed, 1);
        return;
    }
    stay_inside(history, lock, h->name, h->who, 3);
    atomic_fetch_add(&board->lost, hf_release(lock, NULL) == HF_LOST);
    atomic_fetch_add(&board->done[h->who], 1);
}

static void work_on(void *arg)
{
    struct hand *h = arg;
    char name[20];

    snprintf(name, sizeof name, "job%d", h->name);
    while (!atomic_load(&board->is_over)) {
        take_a_turn(h, name);
        hf__test_pause_ms(h->name == 0 ? 0 : 10);
    }
}

static void work(int number)
{
    AUTO_CLIENT *client = open_store();
    struct hand hot = {client, number, 0};
    struct hand cold = {client, CREW + number, 1 + number};
    struct hf__test_thread *one = hf__test_start(work_on, &hot);
    struct hf__test_thread *other = hf__test_start(work_on, &cold);

    hf__test_join(one);
    hf__test_join(other);
}

/* Each of them gets on. */
static void await_progress(void)
{
    for (int i = 0; i < 2 * CREW; i++) {
        int from = atomic_load(&board->done[i]);

        UNTIL_WITHIN(30000, atomic_load(&board->done[i]) >= from + STEPS);
    }
}

/* It is gone before the next leads, and comes back while that works. */
static void kill_leader(struct hf__zookeeper_ensemble *e)
{
    int64_t start = hf__test_now_ms();
    int leader = hf__zookeeper_await_leader(e, -1);

    hf__zookeeper_kill(hf__zookeeper_member(e, leader));
    (void)hf__zookeeper_await_leader(e, leader);
    printf("another leads after %lld ms, ", (long long)since(start));
    hf__zookeeper_launch(hf__zookeeper_member(e, leader), NULL);
    await_progress();
    printf("all got on by %lld, ", (long long)since(start));
    hf__zookeeper_await(hf__zookeeper_member(e, leader));
    printf("it is back by %lld\n", (long long)since(start));
}

static void expect_nothing_left(struct hf__zookeeper_ensemble *e)
{
    char name[20];

    for (int i = 0; i <= CREW; i++) {
        snprintf(name, sizeof name, "job%d", i);
        await_claims(hf__zookeeper_member(e, 0), name, 0);
    }
}

/* Sessions outlive any election. */
static void kill_leaders(const char *options)
{
    AUTO_ENSEMBLE *e = start_ensemble(options);
    pid_t crew[CREW];

    board = shared_page(sizeof *board);
    history = new_history();
    for (int i = 0; i < CREW; i++) {
        crew[i] = start_crew(work, i);
    }
    await_progress();
    for (int i = 0; i < KILLS; i++) {
        kill_leader(e);
    }
    atomic_store(&board->is_over, true);
    for (int i = 0; i < CREW; i++) {
        end_crew(crew[i]);
    }
    printf("%d acquires failed, %d grants were lost\n",
           atomic_load(&board->failed), atomic_load(&board->lost));
    expect_innocent(history);
    expect_nothing_left(e);
}

CASE_WITHIN(120, leaders_killed_under_load_let_no_two_in,
            kill_leaders("session_timeout=30s"));
CASE_WITHIN(120, leaders_killed_under_load_of_the_simple_recipe_let_no_two_in,
            kill_leaders("session_timeout=30s&recipe=simple"));

/* ---- a follower */

static bool hangs_on(const struct hf__zookeeper *s, int64_t session)
{
    char sid[40];

    snprintf(sid, sizeof sid, "sid=0x%llx,", (unsigned long long)session);
    return strstr(hf__zookeeper_word(s, "cons"), sid) != NULL;
}

/* A client that holds "kept" and is connected to that one. */
static hf_lock *hold_by(const struct hf__zookeeper *s, hf_client **client)
{
    for (int i = 0; i < 100; i++) {
        hf_lock *lock;

        *client = open_store();
        lock = acquire(*client, "kept");
        if (hangs_on(s, session_of(s, "kept", 0))) {
            return lock;
        }
        hf_free(lock);
        hf_close(*client);
    }
    EXPECT(false); /* no client came to that server */
    return NULL;
}

TEST_WITHIN(120, a_follower_that_is_killed_costs_its_clients_nothing)
{
    AUTO_ENSEMBLE *e = start_ensemble("session_timeout=9s");
    int leader = hf__zookeeper_await_leader(e, -1);
    struct hf__zookeeper *victim = hf__zookeeper_member(e, leader == 0 ? 1 : 0);
    struct hf__zookeeper *other = hf__zookeeper_member(e, leader);
    AUTO_CLIENT *alice = NULL;
    AUTO_LOCK *kept = hold_by(victim, &alice);
    uint64_t fence = hf_fence(kept);
    int64_t session = session_of(other, "kept", 0);
    AUTO_CLIENT *bob = open_store();
    struct waiter waits[3];

    begin_to_wait(&waits[0], alice, "kept", 60000); /* by another thread */
    begin_to_wait(&waits[1], bob, "kept", 60000);
    begin_to_wait(&waits[2], bob, "kept", 60000);
    await_claims(other, "kept", 2);
    hf__zookeeper_kill(victim);
    hf__test_pause_ms(patience(lease_of_session(9000)) + 500);
    expect_held(kept);
    EXPECT_IS(hf_fence(kept), fence);
    EXPECT(
        hangs_on(other, session) ||
        hangs_on(hf__zookeeper_member(e, 3 - leader - (leader == 0)), session));
    for (int i = 0; i < 3; i++) {
        EXPECT_SAFE(!atomic_load(&waits[i].is_done));
    }
    EXPECT_IS(claims_of(other, "kept"), 2);
    EXPECT_IS(hf_release(kept, NULL), HF_OK);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(end_waiting(&waits[i]), HF_OK);
        EXPECT_IS(waits[i].released, HF_OK);
        EXPECT_SAFE_MORE(waits[i].fence, fence);
    }
    await_claims(other, "kept", 0);
}
