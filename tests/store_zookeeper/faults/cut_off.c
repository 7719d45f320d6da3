/* SPDX-License-Identifier: MIT */
/*
 * Holders that hear nothing of the server, which hears nothing of them, or one
 * of both: each knows that its lock is lost before its node is gone. And
 * an ensemble that has no majority for a while, and then has.
 */
#include "tests/store_zookeeper/faults/world.h"

#include "include/holdfast-cell.h"

#include <string.h>

enum { SESSION_MS = 3000, QUORUM_SESSION_MS = 6000 };

/* ---- a black hole */

/* Since when it is known that the claim is gone at the server, which is asked
 * every few milliseconds on a session of its own. */
struct lookout {
    const struct hf__zookeeper *s;
    int64_t gone_us;
};

static void look_out(void *arg)
{
    struct lookout *l = arg;
    struct hf__zookeeper_client *c =
        hf__zookeeper_dial(hf__zookeeper_port(l->s), 60000);
    int64_t start = hf__test_now_ms();
    const char *names = NULL;

    EXPECT(c != NULL);
    for (;;) {
        int r = hf__zookeeper_children(c, folder_of("job"), &names);

        if (r == HF__ZOOKEEPER_NO_NODE || (r == 0 && names[0] == '\0')) {
            break;
        }
        EXPECT_IS(r, 0);
        EXPECT_LESS(since(start), patience(40000));
        hf__test_pause_ms(3);
    }
    l->gone_us = now_us();
    hf__zookeeper_hang_up(c);
}

enum { TO_SERVER = 1, TO_CLIENT = 2 };

static void black_hole(const struct hf__zookeeper *s, const char *recipe,
                       unsigned ways)
{
    AUTO_PROXY *p = start_proxy(s);
    char options[120];
    struct lookout l = {s, 0};
    struct hf__test_thread *thread;
    struct history *seen = new_history();
    int64_t held_us;
    int64_t from_us;

    snprintf(options, sizeof options,
             "session_timeout=%lldms&io_timeout=1s&recipe=%s",
             (long long)patience(SESSION_MS), recipe);
    AUTO_CLIENT *alice = open_by(p, options);
    AUTO_LOCK *job = acquire(alice, "job");

    thread = hf__test_start(look_out, &l);
    hf__test_pause_ms(300);
    from_us = now_us();
    if (ways & TO_SERVER) {
        hf__proxy_hold(p, HF__TO_SERVER);
    }
    if (ways & TO_CLIENT) {
        hf__proxy_hold(p, HF__TO_CLIENT);
    }
    stay_inside(seen, job, 0, 1, patience(20000));
    held_us = seen->stays[0].until_us;
    expect_lost(job, HF_REASON_EXPIRED);
    hf__test_join(thread);
    printf("%s: held for %lld ms, gone after %lld ms\n", recipe,
           (long long)(held_us - from_us) / 1000,
           (long long)(l.gone_us - from_us) / 1000);
    EXPECT_SAFE_MORE(l.gone_us, held_us);
    EXPECT_SOON(held_us - from_us,
                patience(lease_of_session(SESSION_MS) + 300) * 1000);
    hf__proxy_heal(p);
    hf_lock *again = acquire(alice, "job");

    EXPECT_SAFE_MORE(hf_fence(again), hf_fence(job));
    EXPECT_IS(hf_release(again, NULL), HF_OK);
    hf_free(again);
    await_claims(s, "job", 0);
}

TEST_WITHIN(90, a_holder_in_a_black_hole_knows_before_the_claim_is_gone)
{
    AUTO_SERVER *s = start_server("");

    black_hole(s, "fair", TO_SERVER);
    black_hole(s, "fair", TO_CLIENT);
    black_hole(s, "simple", TO_SERVER | TO_CLIENT);
}

/* ---- a server that is cut off from the others, with a client on it */

struct inside {
    struct history *history;
    hf_lock *lock;
};

static void stay_till_lost(void *arg)
{
    struct inside *in = arg;

    stay_inside(in->history, in->lock, 0, 1, patience(30000));
}

static int count_one(void *arg, const hf_info *info)
{
    (void)info;
    ++*(int *)arg;
    return 0;
}

/* It goes on to answer what is asked of it, of a session that is over: what it
 * says proves nothing. */
static void enter_behind_it(struct hf__zookeeper_ensemble *e, int leader,
                            int follower)
{
    char options[100];

    snprintf(options, sizeof options, "io_timeout=1s&session_timeout=%lldms",
             (long long)SESSION_MS);
    AUTO_CLIENT *alice =
        open_at(hf__zookeeper_port(hf__zookeeper_member(e, follower)), options);
    AUTO_CLIENT *bob =
        open_at(hf__zookeeper_port(hf__zookeeper_member(e, leader)), options);
    struct inside in = {new_history(), acquire(alice, "job")};
    struct hf__test_thread *thread = hf__test_start(stay_till_lost, &in);
    hf_lock *next;

    hf__test_pause_ms(300);
    hf__zookeeper_divide(e, leader, follower);
    next = acquire_leased(bob, "job", 30000);
    stay_inside(in.history, next, 0, 2, 300);
    hf__test_join(thread);
    EXPECT_IS(atomic_load(&in.history->n), 2);
    expect_innocent(in.history);
    EXPECT_IS(hf_lost_reason(in.lock), HF_REASON_EXPIRED);
    hf__zookeeper_unite(e);
    EXPECT_IS(hf_release(next, NULL), HF_OK);
    hf_free(next);
    hf_free(in.lock);
    await_claims(hf__zookeeper_member(e, leader), "job", 0);
}

/* What it knows is old: who asks it is told nothing rather than that. */
static void look_at_it(struct hf__zookeeper_ensemble *e, int leader,
                       int follower)
{
    const char *options = "io_timeout=1s&session_timeout=20s";
    AUTO_CLIENT *alice =
        open_at(hf__zookeeper_port(hf__zookeeper_member(e, leader)), options);
    AUTO_CLIENT *bob =
        open_at(hf__zookeeper_port(hf__zookeeper_member(e, follower)), options);
    AUTO_LOCK *job = acquire(alice, "job");
    hf_info *info = NULL;
    hf_cell *cell = NULL;
    uint64_t version = 0;
    int n = 0;

    EXPECT_IS(hf_cell_put(alice, "stock", "ten", 3, &version, NULL), HF_OK);
    EXPECT_IS(hf_cell_get(bob, "stock", &cell, NULL), HF_OK);
    hf_cell_free(cell);
    cell = NULL;
    EXPECT_IS(hf_list(bob, NULL, count_one, &n, NULL), HF_OK);
    EXPECT_IS(n, 1);
    hf__zookeeper_divide(e, leader, follower);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_cell_put(alice, "stock", "nine", 4, &version, NULL), HF_OK);
    EXPECT_SAFE_IS(hf_cell_get(bob, "stock", &cell, NULL), HF_EUNAVAIL);
    EXPECT_IS(hf_inspect(bob, "job", &info, NULL), HF_EUNAVAIL);
    EXPECT_IS(hf_list(bob, NULL, count_one, &n, NULL), HF_EUNAVAIL);
    EXPECT_IS(n, 1);
    hf__zookeeper_unite(e);
}

TEST_WITHIN(180, a_server_that_is_cut_off_keeps_nobody_in_and_tells_no_old_news)
{
    AUTO_ENSEMBLE *e = start_divisible_ensemble("");
    int leader = hf__zookeeper_await_leader(e, -1);
    int follower = (leader + 1) % 3;

    enter_behind_it(e, leader, follower);
    hf__zookeeper_await(hf__zookeeper_member(e, follower));
    EXPECT_IS(hf__zookeeper_leader(e), leader);
    look_at_it(e, leader, follower);
}

/* ---- no majority */

static void await_no_service(const struct hf__zookeeper *s)
{
    UNTIL_WITHIN(30000, hf__zookeeper_value(s, "Mode", "srvr")[0] == '\0');
}

static int try_for(hf_client *client, int64_t wait_ms, hf_error *err)
{
    hf_acquire_opts opts = wanting(wait_ms, HF_LEASE_DEFAULT_MS);
    int64_t start = hf__test_now_ms();
    hf_lock *none = NULL;
    int r = hf_acquire(client, "another", &opts, &none, err);

    printf("%s: %s (%lld ms)\n", hf_strstatus(r), err->text,
           (long long)since(start));
    EXPECT_SOON(since(start), patience(wait_ms > 1000 ? wait_ms : 1000) + 500);
    return r;
}

/* Each call answers within its time. What it could not even ask for, it knows,
 * and says why; one that is left while a batch is about to ask, does not, nor
 * who comes while that one is in doubt. */
static void expect_unavailable(hf_client *client)
{
    hf_error err = HF_ERROR_INIT;
    int r = HF_EUNKNOWN;

    for (int i = 0; i < 5 && r == HF_EUNKNOWN; i++) {
        r = try_for(client, 0, &err);
    }
    EXPECT_IS(r, HF_EUNAVAIL);
    EXPECT_HAS(err.text, "no connection");
    r = try_for(client, 1500, &err);
    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
}

/* The others than that one. */
static void lose_quorum(struct hf__zookeeper_ensemble *e, int leader)
{
    hf__zookeeper_kill(hf__zookeeper_member(e, (leader + 1) % 3));
    hf__zookeeper_kill(hf__zookeeper_member(e, (leader + 2) % 3));
}

static void regain_quorum(struct hf__zookeeper_ensemble *e, int leader)
{
    hf__zookeeper_launch(hf__zookeeper_member(e, (leader + 1) % 3), NULL);
    hf__zookeeper_launch(hf__zookeeper_member(e, (leader + 2) % 3), NULL);
    for (int i = 0; i < 3; i++) {
        hf__zookeeper_await(hf__zookeeper_member(e, i));
    }
}

/* At risk first, then lost: by the holder's clock alone, for no server is there
 * that could end the session. */
static void expect_risk_and_loss(hf_lock *job, int64_t start)
{
    int64_t lease_ms = lease_of_session(patience(QUORUM_SESSION_MS));
    int64_t risk_ms = 0;

    while (hf_state(job) != HF_STATE_LOST) {
        if (hf_state(job) == HF_STATE_AT_RISK && risk_ms == 0) {
            risk_ms = since(start);
        }
        EXPECT_LESS(since(start), 3 * lease_ms);
        hf__test_pause_ms(2);
    }
    printf("at risk after %lld ms, lost after %lld\n", (long long)risk_ms,
           (long long)since(start));
    EXPECT_MORE(risk_ms, 0);
    EXPECT_SOON(since(start), lease_ms + 100);
    expect_lost(job, HF_REASON_EXPIRED);
}

TEST_WITHIN(120, a_quorum_that_is_lost_and_regained_costs_grants_no_client)
{
    char options[100];

    snprintf(options, sizeof options,
             "io_timeout=%lldms&session_timeout=%lldms",
             (long long)patience(1000), (long long)patience(QUORUM_SESSION_MS));
    AUTO_ENSEMBLE *e = start_ensemble(options);
    int leader = hf__zookeeper_await_leader(e, -1);
    HELD(job, alice, bob);
    AUTO_LOCK *again = NULL;
    const struct hf__zookeeper *last = hf__zookeeper_member(e, leader);
    struct waiter w;
    int64_t start;

    begin_to_wait(&w, bob, "job", patience(60000));
    await_claims(last, "job", 2);
    start = hf__test_now_ms();
    lose_quorum(e, leader);
    expect_risk_and_loss(job, start);
    await_no_service(last);
    expect_unavailable(alice);
    EXPECT_SAFE(!atomic_load(&w.is_done));
    regain_quorum(e, leader);
    start = hf__test_now_ms();
    again = acquire(alice, "another");
    printf("granted %lld ms after it was back\n", (long long)since(start));
    EXPECT_IS(end_waiting(&w), HF_OK);
    EXPECT_IS(w.released, HF_OK);
    EXPECT_SAFE_MORE(w.fence, hf_fence(job));
    expect_held(again);
    EXPECT_IS(hf_release(again, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    await_claims(last, "job", 0);
    await_claims(last, "another", 0);
}
