/* SPDX-License-Identifier: MIT */
/*
 * What the tables say of names that several hold or wait for, also when
 * somebody else has written there.
 */
#include "tests/table_crowd/stranger.h"

#include <string.h>

static int64_t crowd_of(struct stranger *db, const char *name)
{
    return number(db, "SELECT crowd FROM holdfast_lock WHERE name_key=%s",
                  spelled(name));
}

TEST(the_record_says_where_more_is_to_be_found)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(crowd_of(db, "job"), HF__HAS_HOLDERS);
    EXPECT_IS(want(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(crowd_of(db, "job"), HF__HAS_HOLDERS | HF__HAS_WAITERS);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT((crowd_of(db, "job") & HF__HAS_WAITERS) != 0);
    EXPECT_IS(want(&bob, "job", ALONE), HF_OK);
    EXPECT_IS(crowd_of(db, "job"), 0);
    EXPECT_IS(number(db, "SELECT COUNT(*) FROM holdfast_ticket"), 0);
    EXPECT_IS(number(db, "SELECT COUNT(*) FROM holdfast_beside"), 0);
}

TEST(a_record_that_says_too_much_is_set_right)
{
    PARTY(alice);
    STRANGER(db);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    sql(db, "UPDATE holdfast_lock SET crowd=3");
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(crowd_of(db, "job"), 0);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    sql(db, "UPDATE holdfast_lock SET crowd=3");
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
}

/* A wrong hint costs time only. */
TEST(a_grant_is_found_wherever_it_is)
{
    PARTY(alice);
    struct request rq;

    for (int i = 0; i < 4; i++) {
        struct hf__lock_mode asked = i % 2 == 0 ? SHARED : ALONE;

        begin_anew(&alice, "job");
        EXPECT_IS(try_as(&alice, "job", asked), HF_OK);
        ask(&alice, &rq, HF__OP_RENEW, "job");
        rq.op.lock_mode = i / 2 == 0 ? SHARED : ALONE;
        EXPECT_IS(send_one_request(&alice, &rq), HF_OK);
        ask(&alice, &rq, HF__OP_RELEASE, "job");
        rq.op.lock_mode = i / 2 == 0 ? SHARED : ALONE;
        EXPECT_IS(send_one_request(&alice, &rq), HF_OK);
        expect_around(&alice, "job", 0, 0);
    }
}

/* As it was asked for. */
static int as_shared(struct party *p, enum hf__op_kind kind)
{
    struct request rq;

    ask(p, &rq, kind, "job");
    rq.op.lock_mode = SHARED;
    return send_one_request(p, &rq);
}

/* A lease that is over stays so, and so does what was broken. */
TEST(a_hint_revives_nothing)
{
    PARTIES(alice, bob);

    EXPECT_IS(try_for(&alice, "job", SHARED, 200), HF_OK);
    until_free(&bob, "job");
    EXPECT_SAFE_IS(as_shared(&alice, HF__OP_RENEW), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_EXPIRED);
    begin_anew(&alice, "job");
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_SAFE_IS(as_shared(&alice, HF__OP_RENEW), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(as_shared(&alice, HF__OP_RELEASE), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
}

TEST(every_change_of_other_rows_is_one_of_the_record)
{
    PARTIES(alice, bob);
    STRANGER(db);
    int64_t last = -1;
    int64_t now = 0;

#define EXPECT_CHANGE()                                                        \
    do {                                                                       \
        now = number(db, "SELECT revision FROM holdfast_lock");                \
        EXPECT_MORE(now, last);                                                \
        last = now;                                                            \
    } while (0)
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_CHANGE();
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_CHANGE();
    EXPECT_IS(as_shared(&alice, HF__OP_RENEW), HF_OK);
    EXPECT_CHANGE();
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_CHANGE();
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_CHANGE();
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_CHANGE();
    EXPECT_IS(raise_to(&alice, "job", alice.fence + 9), HF_OK);
    EXPECT_CHANGE();
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_CHANGE();
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_CHANGE();
}

TEST(a_place_that_was_left_for_long_is_deleted_when_met)
{
    PARTIES(alice, bob, carol);
    STRANGER(db);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    sql(db, "UPDATE holdfast_ticket SET asked=asked-%lld",
        HF__TICKET_KEEP_MS * 1000LL);
    EXPECT_IS(number(db, "SELECT COUNT(*) FROM holdfast_ticket"), 1);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(number(db, "SELECT COUNT(*) FROM holdfast_ticket"), 1);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT(is_next(&alice, "job", 0, &carol));
    EXPECT(is_next(&alice, "job", 1, &bob));
}

/* As after the clock was set back. */
TEST(a_fence_ahead_of_the_clock_rises_still)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(raise_to(&alice, "job", alice.fence + UINT64_C(3600000000)),
              HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_SAFE_MORE(bob.fence, alice.fence);
}

/* ---- damage */

static void expect_damaged(struct party *p, int r)
{
    EXPECT_IS(r, HF_EPROTO);
    EXPECT(strstr(p->error.text, "holdfast_beside") != NULL ||
           strstr(p->error.text, "holdfast_lock") != NULL);
}

TEST(a_grant_that_makes_no_sense_lets_nobody_in)
{
    static const char *const nonsense[] = {"mode=9",
                                           "fence=0",
                                           "fence=9007199254740992",
                                           "mode=2,slots=2,slot=2",
                                           "mode=2,slots=100000,slot=1",
                                           "token='short'",
                                           "token=''"};
    PARTIES(alice, bob);
    STRANGER(db);

    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        begin_anew(&alice, "job");
        EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
        sql(db, "UPDATE holdfast_beside SET %s", nonsense[i]);
        expect_damaged(&bob, try_as(&bob, "job", ALONE));
        expect_damaged(&bob, try_as(&bob, "job", SHARED));
        EXPECT_IS(inspect(&bob, "job"), HF_OK);
        sql(db, "DELETE FROM holdfast_beside");
        EXPECT_IS(try_as(&bob, "job", ALONE), HF_OK);
        EXPECT_IS(release(&bob, "job"), HF_OK);
    }
}

TEST(one_slot_of_two_holders_lets_nobody_in)
{
    PARTIES(alice, bob, carol);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SLOT_OF(3)), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(3)), HF_OK);
    sql(db, "UPDATE holdfast_beside SET slot=1");
    expect_damaged(&carol, try_as(&carol, "job", SLOT_OF(3)));
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", SLOT_OF(3)), HF_OK);
    EXPECT_IS(carol.slot, 0);
}

TEST(a_record_that_makes_no_sense_is_not_touched)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    sql(db, "UPDATE holdfast_lock SET fence=1152921504606846976");
    expect_damaged(&bob, try_as(&bob, "job", SHARED));
    expect_damaged(&bob, inspect(&bob, "job"));
    expect_damaged(&bob, break_it(&bob, "job", 0));
    sql(db, "DELETE FROM holdfast_lock");
    sql(db, "DELETE FROM holdfast_beside");
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_OK);
}

TEST(a_free_record_that_makes_no_sense_is_not_taken)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    sql(db, "UPDATE holdfast_lock SET fence=9007199254740992");
    expect_damaged(&bob, acquire(&bob, "job"));
}

/* Deleted by hand: whoever held it has lost it. */
TEST(rows_without_a_record_are_not_forgotten)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    sql(db, "DELETE FROM holdfast_lock");
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_SAFE_MORE(bob.fence, alice.fence);
    expect_around(&bob, "job", 2, 0);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

TEST(who_stood_beside_others_loses_to_one_alone_in_a_new_record)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    sql(db, "DELETE FROM holdfast_lock");
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_OK);
    EXPECT_IS(as_shared(&alice, HF__OP_RENEW), HF_LOST);
    EXPECT_IS(as_shared(&alice, HF__OP_RELEASE), HF_LOST);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
}

TEST(who_stood_beside_others_loses_without_a_record)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    sql(db, "DELETE FROM holdfast_lock");
    EXPECT_IS(as_shared(&alice, HF__OP_RENEW), HF_LOST);
    EXPECT_IS(as_shared(&alice, HF__OP_RELEASE), HF_LOST);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
}

TEST(a_record_held_by_no_fence_makes_no_sense)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    sql(db, "UPDATE holdfast_lock SET fence=0");
    EXPECT_IS(acquire(&bob, "job"), HF_EPROTO);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_EPROTO);
}
