/* SPDX-License-Identifier: MIT */
/*
 * A statement that waits for a row's lock runs late. Whatever has become of
 * the name by then, it gives nobody what is somebody else's, and nobody back
 * what had ended. And what it can't get in time is undone whole.
 */
#include "tests/table_crowd/stranger.h"

#define LOCK "SELECT * FROM holdfast_lock WHERE name_key=%s FOR UPDATE"

/* What can't be had in time is said to be undone. */
static bool is_undone(int result)
{
    return result == HF_EUNAVAIL || result == HF__AGAIN;
}

TEST(a_grant_that_was_held_up_takes_nothing_from_who_was_quicker)
{
    PARTIES(alice, bob);
    STRANGER(db);
    struct errand e;

    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    sql(db, "BEGIN");
    sql(db, LOCK, spelled("job"));
    start_errand(&e, &alice, HF__OP_ACQUIRE, "job", SHARED);
    hf__test_pause_ms(100);
    sql(db,
        "UPDATE holdfast_lock SET token='token of another',fence=fence+1,"
        "expires=changed_at+60000000,revision=revision+1 WHERE name_key=%s",
        spelled("job"));
    sql(db, "COMMIT");
    EXPECT_SAFE_IS(end_errand(&e), HF_BUSY);
    EXPECT_IS(e.rq.record.lock_mode.mode, HF__MODE_EXCLUSIVE);
    EXPECT(e.rq.record.is_held);
    expect_around(&bob, "job", 1, 0);
    sql(db, "DELETE FROM holdfast_lock");
}

/* The holder that seemed gone is told so, though it renewed in time. */
TEST(who_was_counted_as_ended_stays_ended)
{
    PARTIES(alice, bob);

    EXPECT_IS(try_for(&alice, "job", SHARED, 200), HF_OK);
    until_free(&bob, "job");
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_OK);
    EXPECT_SAFE_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_TAKEN);
    expect_around(&bob, "job", 1, 0);
}

/* The record was written when the other row could not be. */
TEST(what_can_be_done_by_half_is_undone)
{
    PARTIES(alice, bob);
    STRANGER(db);
    struct errand e;

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    sql(db, "BEGIN");
    sql(db, "SELECT * FROM holdfast_beside WHERE name_key=%s FOR UPDATE",
        spelled("job"));
    int64_t before = number(db, "SELECT revision FROM holdfast_lock");
    start_errand(&e, &alice, HF__OP_RENEW, "job", SHARED);
    EXPECT(is_undone(end_errand(&e)));
    EXPECT_LESS(e.took_ms, slowly(8000)); /* of ten that it had */
    EXPECT_IS(number(db, "SELECT revision FROM holdfast_lock"), before);
    EXPECT(can(db, LOCK " NOWAIT", spelled("job")));
    sql(db, "ROLLBACK");
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
}

TEST(a_row_that_stays_locked_is_told)
{
    PARTY(alice);
    STRANGER(db);
    struct errand e;

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    sql(db, "BEGIN");
    sql(db, LOCK, spelled("job"));
    start_errand(&e, &alice, HF__OP_BREAK, "job", SHARED);
    EXPECT(is_undone(end_errand(&e)));
    EXPECT_LESS(e.took_ms, slowly(8000)); /* of ten that it had */
    sql(db, "COMMIT");
    EXPECT_IS(break_it(&alice, "job", 0), HF_OK);
}

/* ---- ended from outside */

/* A claim is ended by another session while it is held up. It was not applied,
 * and can be made again; gives what was said of it. */
static int result_when_ended(bool whole)
{
    PARTIES(alice, bob);
    STRANGER(db);
    STRANGER(killer);
    struct errand e;

    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    sql(db, "BEGIN");
    sql(db, LOCK, spelled("job"));
    start_errand(&e, &alice, HF__OP_ACQUIRE, "job", SHARED);
    hf__test_pause_ms(100);
    end_statement_of(killer, &alice, whole);
    (void)end_errand(&e);
    sql(db, "COMMIT");
    rejoin(&alice);
    expect_around(&bob, "job", 1, 0);
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    return e.result;
}

/* Before the commit, so that nobody has to ask what became of it. */
CASE(a_statement_that_was_killed_was_not_applied,
     EXPECT(is_undone(result_when_ended(false))));

TEST(what_became_of_a_packet_is_not_known_when_its_session_was_killed)
{
    int r = result_when_ended(true);

    EXPECT(r == HF_EUNKNOWN || is_undone(r));
}

/* ---- many at once */

enum { MANY = 24 };

static atomic_int again;
static atomic_int granted;
static atomic_int held_up;

static void join_and_leave(void *arg)
{
    struct party *p = arg;
    struct request rq;
    int r;

    do {
        struct hf__op *op = &rq.op;

        ask(p, &rq, HF__OP_ACQUIRE, "job");
        rq.op.lock_mode = SHARED;
        rq.op.queueing = HF__QUEUE_ALWAYS;
        EXPECT_IS(hf__conn_execute(&p->conn, &op, 1,
                                   hf__after_ms(hf__now(), slowly(10000)),
                                   &p->error),
                  HF_OK);
        r = rq.op.result;
        atomic_fetch_add(&again, r == HF__AGAIN);
        atomic_fetch_add(&held_up, r == HF_EUNAVAIL);
    } while (r == HF__AGAIN || r == HF_BUSY || r == HF_EUNAVAIL);
    EXPECT_IS(r, HF_OK);
    atomic_fetch_add(&granted, 1);
}

TEST_WITHIN(60, many_who_change_one_name_all_get_through)
{
    static struct party party[MANY];
    struct hf__test_thread *threads[MANY];

    for (int i = 0; i < MANY; i++) {
        join(&party[i], "one of many");
    }
    for (int i = 0; i < MANY; i++) {
        threads[i] = hf__test_start(join_and_leave, &party[i]);
    }
    hf__test_join_all(threads, MANY);
    printf("%d of %d had to come again\n", atomic_load(&again), MANY);
    EXPECT_IS(atomic_load(&granted), MANY);
    EXPECT_LESS(atomic_load(&again), MANY);
    /* A row that is locked for a second is not waited for. */
    EXPECT_SOON(atomic_load(&held_up), 1);
    expect_around(&party[0], "job", MANY, 0);
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(release(&party[i], "job"), HF_OK);
        leave(&party[i]);
    }
}
