/* SPDX-License-Identifier: MIT */
/*
 * Answers that are lost, and answers that are late. A connection that is cut
 * takes its locks with it, so nothing stays locked; one that lives and says
 * nothing for a while has them still, and owes the answer, for which whoever
 * needs it next waits. Nothing is granted twice, and no lock is lost for an
 * answer that came in the end.
 */
#include "tests/store_mysql_session/relay.h"
#include "tests/store_mysql_session/world.h"

#include <string.h>

#define LONG "session_timeout=60s"

enum { LATE_MS = 1200 };

/* An answer within that is in time. */
static const char *quick(void)
{
    static char text[60];

    snprintf(text, sizeof text, "tls=off&io_timeout=%dms", LATE_MS / 3);
    return text;
}

static bool is_outage(int r)
{
    return r == HF_EUNAVAIL || r == HF_EUNKNOWN;
}

static void expect_settled(hf_client *client)
{
    UNTIL(stats_of(client).owing == 0);
}

/* ---- cut at any point, in any way */

/* alice, by the proxy, holds "kept"; whatever becomes of "job", one is inside
 * at most, and it is free in the end. */
static void cut_at(struct hf__proxy *p, hf_client *bob,
                   const struct hf__proxy_rule *rule, int *ret_done)
{
    hf_client *alice = open_by(hf__proxy_port(p), quick());
    hf_acquire_opts opts = wanting(patience(3000), HF_LEASE_DEFAULT_MS);
    hf_lock *kept = acquire(alice, "kept");
    int64_t holder = holder_of("kept");
    hf_lock *lock = NULL;
    int r;

    hf__proxy_rule(p, rule);
    r = hf_acquire(alice, "job", &opts, &lock, NULL);
    EXPECT(r == HF_OK || r == HF_TIMEDOUT || is_outage(r));
    *ret_done += r == HF_OK;
    if (r == HF_OK) {
        /* It may be lost by now, with its connection; then it is told. */
        bool was_held = hf_held(lock) == 1;

        EXPECT_SAFE(!was_held || try_once(bob, "job") == HF_BUSY ||
                    hf_wait_lost(lock, patience(3000)) == HF_LOST);
        r = hf_release(lock, NULL);
        EXPECT(r == HF_OK || r == HF_LOST || is_outage(r));
        hf_free(lock);
    }
    hf__proxy_heal(p);
    expect_settled(alice);
    EXPECT_MORE(await_free(bob, "job", patience(5000)), -1);
    if (holder_of("kept") == holder) {
        expect_held(kept); /* its connection lives */
        EXPECT_IS(hf_release(kept, NULL), HF_OK);
    } else {
        EXPECT_IS(hf_wait_lost(kept, patience(5000)), HF_LOST);
    }
    hf_free(kept);
    EXPECT_MORE(await_free(bob, "kept", patience(5000)), -1);
    hf_close(alice);
}

static void cut_everywhere(enum hf__proxy_what what,
                           enum hf__proxy_action action)
{
    static const char *const texts[] = {"GET_LOCK", "INSERT", "RELEASE_LOCK"};
    AUTO_PROXY *p = NULL;
    AUTO_CLIENT *bob = NULL;
    struct hf__proxy_rule rule = {.what = what, .action = action, .bytes = 5};
    int done = 0;

    say_options(LONG);
    p = start_proxy();
    bob = open_store();
    for (int i = 0; i < 3; i++) {
        for (rule.where = HF__BEFORE; rule.where <= HF__AFTER; rule.where++) {
            snprintf(rule.text, sizeof rule.text, "%s", texts[i]);
            cut_at(p, bob, &rule, &done);
        }
    }
    printf("%d granted, %d hits\n", done, hf__proxy_counts(p).hits);
    EXPECT_IS(hf__proxy_counts(p).hits, 9);
}

CASE_WITHIN(60, statements_cut_by_an_end_leave_nothing,
            cut_everywhere(HF__STATEMENT, HF__CLOSE));
CASE_WITHIN(60, statements_cut_by_a_reset_leave_nothing,
            cut_everywhere(HF__STATEMENT, HF__RESET));
CASE_WITHIN(90, statements_that_never_arrive_leave_nothing,
            cut_everywhere(HF__STATEMENT, HF__SILENCE));
CASE_WITHIN(60, replies_cut_by_an_end_leave_nothing,
            cut_everywhere(HF__REPLY, HF__CLOSE));
CASE_WITHIN(60, replies_cut_by_a_reset_leave_nothing,
            cut_everywhere(HF__REPLY, HF__RESET));
CASE_WITHIN(90, replies_that_never_arrive_leave_nothing,
            cut_everywhere(HF__REPLY, HF__SILENCE));

/* ---- a waiter whose answer is lost */

TEST_WITHIN(60, a_turn_whose_answer_is_lost_is_passed_on)
{
    say_options(LONG);
    AUTO_PROXY *p = start_proxy();
    AUTO_CLIENT *bob = open_by(hf__proxy_port(p), "tls=off");
    HELD(job, alice);
    struct waiter w;

    begin_to_wait(&w, bob, "job", patience(20000));
    await_queue(1);
    hf__proxy_rule(
        p, &(struct hf__proxy_rule){.what = HF__REPLY,
                                    .action = HF__CLOSE,
                                    .text = "SELECT CONNECTION_ID(),GET_LOCK"});
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT(hf__proxy_wait_hits(p, 1, patience(10000)));
    EXPECT_IS(end_waiting(&w), HF_OK);
    expect_held(w.lock);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(hf_release(w.lock, NULL), HF_OK);
    hf_free(w.lock);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* ---- late */

/* Again and again what the server says comes later than anybody waits. */
TEST_WITHIN(60, renewals_answered_late_lose_no_lock)
{
    AUTO_PROXY *p = start_proxy();
    AUTO_CLIENT *alice = open_by(hf__proxy_port(p), quick());
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *other = acquire(alice, "other");
    int64_t holder = holder_of("job");

    for (int i = 0; i < 6; i++) {
        hf__proxy_delay(p, HF__TO_CLIENT, session_ms() / 5);
        EXPECT_IS(hf_wait_lost(job, session_ms() / 4), HF_TIMEDOUT);
        hf__proxy_heal(p);
        EXPECT_IS(hf_wait_lost(job, session_ms() / 4), HF_TIMEDOUT);
    }
    UNTIL(hf_state(job) == HF_STATE_HELD);
    UNTIL(hf_state(other) == HF_STATE_HELD);
    EXPECT_IS(holder_of("job"), holder);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_release(other, NULL), HF_OK);
    expect_settled(alice);
    EXPECT_IS(holder_of("job"), 0);
}

/* All that the server says comes later than a renewal waits for it, and is
 * believed as of when it was asked for. */
static void hold_by_late_answers(const char *scheme, int64_t late_ms)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    enum { N = sizeof names / sizeof *names };
    AUTO_PROXY *p = start_proxy();
    AUTO_CLIENT *alice = NULL;
    hf_lock *locks[N];
    char options[50];
    int64_t start;
    uint64_t counted;

    choose_scheme(scheme);
    /* As long beside the lease as by default, on a slow machine, too: one
     * answer may wait for another. */
    snprintf(options, sizeof options, "tls=off&io_timeout=%dms",
             (int)patience(5000));
    alice = open_by(hf__proxy_port(p), options);
    for (int i = 0; i < N; i++) {
        locks[i] = acquire(alice, names[i]);
        hf__test_pause_ms(session_ms() / 10); /* they are not due together */
    }
    hf__proxy_delay(p, HF__TO_CLIENT, late_ms);
    start = hf__test_now_ms();
    counted = stats_of(alice).renewed;
    while (since(start) < 2 * session_ms()) {
        for (int i = 0; i < N; i++) {
            EXPECT_IS(hf_wait_lost(locks[i], 5), HF_TIMEDOUT);
            EXPECT_SAFE(since(start) < late_ms ||
                        hf_remaining_ms(locks[i]) <= session_ms() - late_ms);
        }
    }
    EXPECT_MORE(stats_of(alice).renewed, counted + 2 * N);
    hf__proxy_heal(p);
    for (int i = 0; i < N; i++) {
        UNTIL(hf_state(locks[i]) == HF_STATE_HELD);
        EXPECT_IS(hf_release(locks[i], NULL), HF_OK);
        hf_free(locks[i]);
    }
}

CASE_WITHIN(60, answers_late_by_a_quarter_of_the_lease_lose_no_lock,
            hold_by_late_answers("session", session_ms() / 4));
CASE_WITHIN(60, answers_late_by_a_quarter_of_the_lease_lose_no_row,
            hold_by_late_answers("row", session_ms() / 4));

/* The connection ends while one of them is under way. */
TEST_WITHIN(60, a_late_answer_before_the_end_of_its_connection_holds_nothing)
{
    AUTO_PROXY *p = start_proxy();
    AUTO_CLIENT *alice = open_by(hf__proxy_port(p), "tls=off");
    AUTO_LOCK *job = acquire(alice, "job");
    uint64_t renewed;

    hf__proxy_delay(p, HF__TO_CLIENT, session_ms() / 4);
    renewed = stats_of(alice).renewed;
    UNTIL(stats_of(alice).renewed > renewed + 1);
    end_connection(holder_of("job"));
    EXPECT_IS(hf_wait_lost(job, session_ms()), HF_LOST);
    expect_lost(job, HF_REASON_SESSION);
}

/* The claim is given up; the lock that the connection has besides is not, and
 * what the late answer says is given back. */
TEST_WITHIN(60, a_claim_answered_late_costs_no_other_lock)
{
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), quick());
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *kept = acquire(alice, "kept");
    int64_t holder = holder_of("kept");
    hf_lock *none = NULL;
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    int status;

    relay_translate(r, "GET_LOCK(", "SLEEP(1.2)*0+GET_LOCK(", 1);
    status = hf_acquire(alice, "job", &opts, &none, NULL);
    EXPECT(is_outage(status));
    EXPECT(!none);
    EXPECT_IS(relay_hits(r), 1);
    expect_settled(alice);
    EXPECT_MORE(await_free(bob, "job", patience(5000)), -1);
    expect_held(kept);
    EXPECT_IS(holder_of("kept"), holder);
    EXPECT_IS(hf_release(kept, NULL), HF_OK);
}

/* Its fence, too. */
TEST_WITHIN(60, a_fence_answered_late_costs_no_other_lock)
{
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), quick());
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *kept = acquire(alice, "kept");
    int64_t holder = holder_of("kept");
    hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *job = NULL;

    relay_translate(r, "LAST_INSERT_ID(", "LAST_INSERT_ID(SLEEP(1.2)*0+", 1);
    (void)!hf_acquire(alice, "job", &opts, &job, NULL);
    EXPECT_IS(relay_hits(r), 1);
    if (job != NULL) {
        EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
    expect_settled(alice);
    EXPECT_MORE(await_free(bob, "job", patience(5000)), -1);
    expect_held(kept);
    EXPECT_IS(holder_of("kept"), holder);
    EXPECT_IS(hf_release(kept, NULL), HF_OK);
}

/* Its answer comes when nobody waits for it any more: it was refused, so its
 * transaction is open, with a row that others need. */
TEST_WITHIN(60, fences_refused_late_keep_no_row_locked)
{
    static const char *const names[] = {"a", "b"};
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), quick());
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *kept = acquire(alice, "kept");
    int64_t holder = holder_of("kept");
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_lock *none = NULL;

    EXPECT_IS(try_once(bob, "a"), HF_OK);
    relay_translate(r, "COMMIT",
                    "BEGIN NOT ATOMIC DO SLEEP(1.2); SIGNAL SQLSTATE '45000'; "
                    "END",
                    1);
    EXPECT_NOT(hf_acquire_many(alice, names, 2, &opts, &none, NULL), HF_OK);
    EXPECT_IS(relay_hits(r), 1);
    expect_settled(alice);
    EXPECT_MORE(await_free(bob, "a", patience(5000)), -1);
    EXPECT_MORE(await_free(bob, "b", patience(5000)), -1);
    expect_held(kept);
    EXPECT_IS(holder_of("kept"), holder);
    EXPECT_IS(hf_release(kept, NULL), HF_OK);
}

/* ---- what ends a statement, or refuses it, and not the connection */

TEST_WITHIN(60, a_limit_of_the_servers_ends_no_lock)
{
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), "tls=off");
    AUTO_LOCK *kept = acquire(alice, "kept");
    int64_t holder = holder_of("kept");

    relay_translate(r, "SELECT CONNECTION_ID(),GET_LOCK(",
                    "SET STATEMENT max_statement_time=0.1 FOR SELECT "
                    "CONNECTION_ID(),SLEEP(3)+GET_LOCK(",
                    1);
    relay_translate(r, "ROLLBACK;SELECT ",
                    "ROLLBACK;SET STATEMENT max_statement_time=0.1 FOR SELECT "
                    "SLEEP(3)+",
                    1);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    EXPECT_IS(relay_hits(r), 2);
    expect_held(kept);
    EXPECT_IS(holder_of("kept"), holder);
    EXPECT_IS(hf_release(kept, NULL), HF_OK);
}

/* A look at the server that does not end. */
static int ignore(void *arg, const hf_check_item *item)
{
    (void)arg;
    (void)item;
    return 0;
}

TEST_WITHIN(60, a_check_without_an_answer_costs_no_lock)
{
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *alice = open_by(relay_port(r), quick());
    AUTO_LOCK *kept = acquire(alice, "kept");
    int64_t holder = holder_of("kept");

    relay_translate(r, "SHOW SLAVE STATUS", "DO SLEEP(9)", 0);
    (void)!hf_check(alice, ignore, NULL, NULL);
    EXPECT_MORE(relay_hits(r), 0);
    expect_held(kept);
    EXPECT_IS(holder_of("kept"), holder);
    EXPECT_IS(hf_release(kept, NULL), HF_OK);
}

/* Nor does it end the wait, nor the waiter's connection. */
TEST_WITHIN(60, a_limit_of_the_servers_ends_no_wait)
{
    say_options(LONG);
    AUTO_RELAY *r = start_relay();
    AUTO_CLIENT *bob = open_by(relay_port(r), "tls=off");
    HELD(job, alice);
    struct waiter w;
    int64_t waiting;

    relay_translate(r, "SELECT CONNECTION_ID(),GET_LOCK(",
                    "SET STATEMENT max_statement_time=0.3 FOR SELECT "
                    "CONNECTION_ID(),GET_LOCK(",
                    0);
    begin_to_wait(&w, bob, "job", patience(20000));
    await_queue(1);
    waiting = first_in_queue();
    UNTIL(relay_hits(r) > 4);
    await_queue(1);
    EXPECT_IS(first_in_queue(), waiting);
    EXPECT_SAFE(!atomic_load(&w.is_done));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    finish_waiting(&w);
}
