/* SPDX-License-Identifier: MIT */
/*
 * Bells of names that several hold or wait for: that of a grant is the holder's
 * session's as long as the grant is there; that of a ticket keeps its place.
 */
#include "tests/table_crowd/stranger.h"

static bool has_bell(struct stranger *db, struct party *p, const char *name)
{
    return rings(db, claim_of(p, name));
}

TEST(a_grant_beside_others_has_its_bell)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT(has_bell(db, &alice, "job") && has_bell(db, &bob, "job"));
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT(has_bell(db, &alice, "job"));
    struct claim was = *claim_of(&alice, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT(!rings(db, &was));
    EXPECT(has_bell(db, &bob, "job"));
}

TEST(who_is_refused_leaves_no_bell)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(inspect(&bob, "other"), HF_OK); /* what is left goes with this */
    EXPECT(!has_bell(db, &bob, "job"));
}

/* It is the same after the hot path tried first: taken once. */
TEST(who_goes_alone_after_a_crowd_has_its_bell)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_for(&alice, "job", SHARED, 200), HF_OK);
    until_free(&bob, "job");
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_OK);
    EXPECT_IS(inspect(&bob, "other"), HF_OK);
    EXPECT(has_bell(db, &bob, "job"));
    struct claim was = *claim_of(&bob, "job");
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT(!rings(db, &was));
}

TEST(a_detached_grant_has_none)
{
    PARTY(alice);
    STRANGER(db);
    struct request rq;

    ask(&alice, &rq, HF__OP_ACQUIRE, "job");
    rq.op.lock_mode = SHARED;
    rq.op.is_detached = true;
    EXPECT_IS(send_one_request(&alice, &rq), HF_OK);
    EXPECT(!has_bell(db, &alice, "job"));
}

TEST(a_ticket_lives_as_long_as_its_bell_is_held)
{
    PARTIES(alice, bob, carol);
    STRANGER(db);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    take_ticket_bell(db, claim_of(&bob, "job"));
    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 200);
    expect_around(&alice, "job", 1, 1);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT(carol.record.is_promised);
    drop_ticket_bell(db, claim_of(&bob, "job"));
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_OK);
}

/* Behind a proxy, on Galera. */
TEST(a_server_without_bells_does_all_the_same)
{
    PARTIES(alice, bob, carol);
    STRANGER(db);

    do_without_bells(&alice);
    do_without_bells(&bob);
    EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT(!has_bell(db, &alice, "job"));
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(2)), HF_BUSY);
    expect_around(&alice, "job", 2, 1);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(alice.slot, 0);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(carol.slot, 1);
}
