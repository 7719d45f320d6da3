/* SPDX-License-Identifier: MIT */
/*
 * User locks of names that several hold or wait for: that of a grant is the
 * holder's session's as long as the grant is there; that of a ticket keeps its
 * place.
 */
#include "tests/mysql_crowd/stranger.h"

#include "src/backend/mysql/mysql.h"

#define IS_USED "SELECT IS_USED_LOCK(%s) IS NOT NULL"

static bool rings(MYSQL *db, struct party *p, const char *name)
{
    return number(db, IS_USED, bell("hf", claim_of(p, name))) == 1;
}

TEST(a_grant_beside_others_has_its_bell)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT(rings(db, &alice, "job") && rings(db, &bob, "job"));
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT(rings(db, &alice, "job"));
    struct claim was = *claim_of(&alice, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(number(db, IS_USED, bell("hf", &was)), 0);
    EXPECT(rings(db, &bob, "job"));
}

TEST(who_is_refused_leaves_no_bell)
{
    PARTIES(alice, bob);
    STRANGER(db);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(inspect(&bob, "other"), HF_OK); /* what is left goes with this */
    EXPECT(!rings(db, &bob, "job"));
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
    EXPECT(rings(db, &bob, "job"));
    struct claim was = *claim_of(&bob, "job");
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(number(db, IS_USED, bell("hf", &was)), 0);
}

TEST(a_detached_grant_has_none)
{
    PARTY(alice);
    STRANGER(db);
    struct request rq;

    ask(&alice, &rq, HF__OP_ACQUIRE, "job");
    rq.op.manner = SHARED;
    rq.op.is_detached = true;
    EXPECT_IS(send_one_request(&alice, &rq), HF_OK);
    EXPECT(!rings(db, &alice, "job"));
}

TEST(a_ticket_lives_as_long_as_its_bell_is_held)
{
    PARTIES(alice, bob, carol);
    STRANGER(db);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    sql(db, "DO GET_LOCK(%s,0)", bell("hq", claim_of(&bob, "job")));
    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 200);
    expect_around(&alice, "job", 1, 1);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT(carol.record.is_promised);
    sql(db, "DO RELEASE_LOCK(%s)", bell("hq", claim_of(&bob, "job")));
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_OK);
}

/* Galera, a proxy. */
TEST(a_server_without_bells_does_all_the_same)
{
    PARTIES(alice, bob, carol);
    STRANGER(db);

    ((struct hf__mysql *)alice.conn.state)->server.has_bells = false;
    ((struct hf__mysql *)bob.conn.state)->server.has_bells = false;
    EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT(!rings(db, &alice, "job"));
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(2)), HF_BUSY);
    expect_around(&alice, "job", 2, 1);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(alice.slot, 0);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(carol.slot, 1);
}
