/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to ask, where claims of one client meet on one name: the
 * claims are stepped by hand, so that each order of events can be had, and a
 * wake is seen by what it leaves on the parker of who is woken.
 */
#include "src/core/claim.h"
#include "src/core/grant.h"
#include "src/core/lock.h"
#include "tests/lib/test.h"

enum { READERS = 20 };

static struct hf__claim *enter(hf_client *client, int is_shared,
                               int64_t wait_ms)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf__claim *c = NULL;

    opts.shared = is_shared;
    opts.wait_ms = wait_ms;
    EXPECT_IS(hf__claim_new(client, "job", &opts, &c), HF_OK);
    EXPECT_IS(hf__name_queue_enter(c), HF_OK);
    return c;
}

/* Readers in the order in which they want to ask: the first one does. */
static void enter_readers(hf_client *client, struct hf__claim **readers, int n)
{
    for (int i = 0; i < n; i++) {
        readers[i] = enter(client, 1, 1000);
        EXPECT_IS(hf__name_queue_turn(readers[i]),
                  i == 0 ? HF__TURN_ASK : HF__TURN_WAIT);
    }
}

static void leave(struct hf__claim *c)
{
    hf__name_queue_leave(c);
    hf__claim_unref(c);
}

/* How often since then; a wake adds two to the word where nobody sleeps. */
static unsigned woken(const struct hf__claim *c, unsigned before)
{
    return (hf__parker_seen(c->parker) - before) / 2;
}

TEST(readers_are_woken_one_by_one)
{
    hf_client *client = NULL;
    struct hf__claim *readers[READERS] = {0};
    unsigned wakes = 0;

    EXPECT_IS(hf_open("memory:readers", NULL, &client, NULL), HF_OK);
    enter_readers(client, readers, READERS);
    for (int i = 0; i < READERS; i++) {
        unsigned before[READERS];

        for (int k = 0; k < READERS; k++) {
            before[k] = hf__parker_seen(readers[k]->parker);
        }
        hf__name_queue_attempted(readers[i], HF_BUSY);
        for (int k = 0; k < READERS; k++) {
            wakes += woken(readers[k], before[k]);
        }
        if (i + 1 < READERS) {
            EXPECT_IS(woken(readers[i + 1], before[i + 1]), 1);
            EXPECT_IS(hf__name_queue_turn(readers[i + 1]), HF__TURN_ASK);
        }
    }
    EXPECT_IS(wakes, READERS - 1);
    for (int i = 0; i < READERS; i++) {
        leave(readers[i]);
    }
    hf_close(client);
}

TEST(tries_in_a_loop_leave_the_first_in_line_its_turn)
{
    hf_client *client = NULL;
    struct hf__claim *first = NULL;
    struct hf__claim *try = NULL;
    struct hf__claim *next = NULL;

    EXPECT_IS(hf_open("memory:tries", NULL, &client, NULL), HF_OK);
    try = enter(client, 0, 0);
    first = enter(client, 0, 1000);
    EXPECT_IS(hf__name_queue_turn(try), HF__TURN_ASK);
    EXPECT_IS(hf__name_queue_turn(first), HF__TURN_WAIT);
    hf__name_queue_attempted(try, HF_BUSY);
    leave(try);
    /* The next try is there before the first in the queue has woken up. */
    next = enter(client, 0, 0);
    EXPECT_IS(hf__name_queue_turn(next), HF__TURN_SOON);
    EXPECT_IS(hf__name_queue_turn(first), HF__TURN_ASK);
    hf__name_queue_attempted(first, HF_BUSY);
    EXPECT_IS(hf__name_queue_turn(next), HF__TURN_ASK);
    hf__name_queue_attempted(next, HF_BUSY);
    leave(next);
    leave(first);
    hf_close(client);
}

TEST(who_leaves_passes_its_turn_on)
{
    hf_client *client = NULL;
    struct hf__claim *readers[4] = {0};
    unsigned before = 0;

    EXPECT_IS(hf_open("memory:pass", NULL, &client, NULL), HF_OK);
    enter_readers(client, readers, 4);
    struct hf__claim *asks = readers[0];
    struct hf__claim *leaves = readers[1];
    struct hf__claim *pauses = readers[2];
    struct hf__claim *last = readers[3];

    hf__name_queue_attempted(asks, HF_BUSY);
    leave(asks);
    before = hf__parker_seen(pauses->parker);
    leave(leaves);
    EXPECT_IS(woken(pauses, before), 1);
    before = hf__parker_seen(last->parker);
    hf__name_queue_pass(pauses);
    EXPECT_IS(woken(last, before), 1);
    EXPECT_IS(hf__name_queue_turn(last), HF__TURN_ASK);
    hf__name_queue_attempted(last, HF_BUSY);
    leave(pauses);
    leave(last);
    hf_close(client);
}

/* Its thread leads a batch for another name: it comes later, and meanwhile the
 * others need not wait for it. */
TEST(who_is_at_work_elsewhere_keeps_nobody_from_asking)
{
    hf_client *client = NULL;
    struct hf__claim *readers[4] = {0};
    unsigned before[3] = {0};

    EXPECT_IS(hf_open("memory:works", NULL, &client, NULL), HF_OK);
    enter_readers(client, readers, 4);
    struct hf__claim *asks = readers[0];
    struct hf__claim *works = readers[1];
    struct hf__claim *next = readers[2];
    struct hf__claim *last = readers[3];

    EXPECT(hf__parker_engage(works->parker));
    before[0] = hf__parker_seen(works->parker);
    before[1] = hf__parker_seen(next->parker);
    before[2] = hf__parker_seen(last->parker);
    hf__name_queue_attempted(asks, HF_BUSY);
    EXPECT_IS(woken(works, before[0]), 1);
    EXPECT_IS(woken(next, before[1]), 1);
    EXPECT_IS(woken(last, before[2]), 0);
    EXPECT_IS(hf__name_queue_turn(last), HF__TURN_SOON);
    EXPECT_IS(hf__name_queue_turn(next), HF__TURN_ASK);
    hf__parker_disengage(works->parker);
    hf__name_queue_attempted(next, HF_BUSY);
    EXPECT_IS(hf__name_queue_turn(last), HF__TURN_SOON);
    EXPECT_IS(hf__name_queue_turn(works), HF__TURN_ASK);
    hf__name_queue_attempted(works, HF_BUSY);
    leave(asks);
    leave(works);
    leave(next);
    leave(last);
    hf_close(client);
}

/* It is put to work elsewhere after it alone was woken: nobody wakes the next
 * then, who looks by itself. */
TEST(who_is_put_to_work_before_its_turn_keeps_nobody_for_long)
{
    hf_client *client = NULL;
    struct hf__claim *readers[2] = {0};
    struct hf__claim *next = NULL;
    struct hf__grant *grant = NULL;
    hf__time until = HF__NEVER;

    EXPECT_IS(hf_open("memory:late", NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf__client_prepare(client, NULL), HF_OK);
    enter_readers(client, readers, 2);
    struct hf__claim *asks = readers[0];
    struct hf__claim *works = readers[1];

    next = enter(client, 1, 60000);
    EXPECT(!hf__claim_step(next, &until));
    EXPECT(hf__before(hf__after_ms(hf__now(), 30000), until));
    hf__name_queue_attempted(asks, HF_BUSY);
    EXPECT(!hf__claim_step(next, &until));
    EXPECT(hf__before(until, hf__after_ms(hf__now(), 1000)));
    EXPECT(hf__parker_engage(works->parker));
    while (!hf__claim_step(next, &until)) {
        EXPECT_IS(next->stage, HF__STAGE_ATTEMPT);
    }
    EXPECT_IS(hf__claim_finish(next, &grant, NULL), HF_OK);
    hf__parker_disengage(works->parker);
    hf__claim_unref(next);
    leave(works);
    leave(asks);
    hf__name_queue_holder_gone(grant);
    hf__name_queue_owner_left(grant);
    hf__grant_unref(grant);
    hf_close(client);
}

/* The lock was adopted while the first in the queue had the turn: it can't use
 * it, and others may still ask. */
TEST(who_is_kept_by_a_holder_keeps_nobody_from_asking)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    struct hf__claim *try = NULL;
    struct hf__claim *first = NULL;
    struct hf__claim *next = NULL;
    unsigned before = 0;

    EXPECT_IS(hf_open("memory:kept", NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_acquire(client, "job", NULL, &lock, NULL), HF_OK);
    hf__name_queue_holder_gone(lock->grant);
    hf__name_queue_owner_left(lock->grant);
    try = enter(client, 0, 0);
    first = enter(client, 0, 1000);
    next = enter(client, 0, 0);
    EXPECT_IS(hf__name_queue_turn(try), HF__TURN_ASK);
    EXPECT_IS(hf__name_queue_turn(first), HF__TURN_WAIT);
    EXPECT_IS(hf__name_queue_turn(next), HF__TURN_WAIT);
    hf__name_queue_attempted(try, HF_BUSY);
    leave(try);
    before = hf__parker_seen(next->parker);
    hf__name_queue_adopted(lock->grant);
    EXPECT_IS(woken(next, before), 1);
    EXPECT_IS(hf__name_queue_turn(first), HF__TURN_WAIT);
    EXPECT_IS(hf__name_queue_turn(next), HF__TURN_ASK);
    hf__name_queue_attempted(next, HF_BUSY);
    leave(next);
    before = hf__parker_seen(first->parker);
    hf__name_queue_holder_gone(lock->grant);
    EXPECT(woken(first, before) > 0);
    EXPECT_IS(hf__name_queue_turn(first), HF__TURN_ASK);
    hf__name_queue_attempted(first, HF_BUSY);
    leave(first);
    hf__name_queue_owner_left(lock->grant);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    hf_free(lock);
    hf_close(client);
}

/* A holder that lets go just when a claim of its client is granted the lock:
 * it is asked for its next waiter where the claim learns of its grant. */
static struct hf__grant *leaver;
static struct hf__claim *next_waiter_of_leaver;

int __real_hf__grant_confirm(struct hf__grant *, const struct hf__token *,
                             hf__time sent, uint64_t fence, hf_error *);
int __wrap_hf__grant_confirm(struct hf__grant *, const struct hf__token *,
                             hf__time sent, uint64_t fence, hf_error *);
int __wrap_hf__grant_confirm(struct hf__grant *h, const struct hf__token *token,
                             hf__time sent, uint64_t fence, hf_error *err)
{
    if (leaver != NULL) {
        next_waiter_of_leaver = hf__name_queue_next_waiter(leaver, 30000);
    }
    return __real_hf__grant_confirm(h, token, sent, fence, err);
}

/* Its client was told of no break: the lock was adopted while the claim asked,
 * and broken by others, so that the claim got it. */
TEST(who_is_being_granted_the_lock_is_nobodys_heir)
{
    static const char url[] = "fault+memory:heir?fault=die:gc:9";
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_client *client = NULL;
    hf_client *other = NULL;
    hf_lock *lock = NULL;
    hf_lock *won = hf__lock_new();
    struct hf__claim *c = NULL;
    hf__time until = HF__NEVER;

    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_open(url, NULL, &other, NULL), HF_OK);
    EXPECT_IS(hf_acquire(client, "job", NULL, &lock, NULL), HF_OK);
    hf__name_queue_holder_gone(lock->grant);
    hf__name_queue_owner_left(lock->grant);
    opts.wait_ms = 1000;
    EXPECT_IS(hf__claim_new(client, "job", &opts, &c), HF_OK);
    EXPECT_IS(hf__claim_start(c, NULL), HF_OK);
    EXPECT(!hf__claim_step(c, &until));
    EXPECT_IS(c->use, HF__USE_ATTEMPT);
    hf__name_queue_adopted(lock->grant);
    EXPECT_IS(hf_break(other, "job", 0, NULL), HF_OK);
    leaver = lock->grant;
    EXPECT(hf__claim_step(c, &until));
    leaver = NULL;
    EXPECT_IS(c->result, HF_OK);
    EXPECT(next_waiter_of_leaver == NULL);
    EXPECT_IS(hf__claim_finish(c, &won->grant, NULL), HF_OK);
    hf__claim_unref(c);
    EXPECT_IS(hf_release(won, NULL), HF_OK);
    hf_free(won);
    EXPECT_IS(hf_release(lock, NULL), HF_LOST);
    hf_free(lock);
    hf_close(other);
    hf_close(client);
}

/* A hand-over to a claim that has left goes on, and needs the claim's queue
 * until it has ended, whoever comes last. */
TEST(a_forsaken_claim_stays_in_its_place_for_its_hand_over)
{
    for (int leaves_first = 0; leaves_first < 2; leaves_first++) {
        hf_client *client = NULL;
        hf_lock *lock = NULL;
        struct hf__claim *next_waiter = NULL;

        EXPECT_IS(hf_open("memory:forsaken", NULL, &client, NULL), HF_OK);
        EXPECT_IS(hf_acquire(client, "job", NULL, &lock, NULL), HF_OK);
        next_waiter = enter(client, 0, 1000);
        EXPECT_IS(hf__name_queue_turn(next_waiter), HF__TURN_WAIT);
        EXPECT(hf__name_queue_next_waiter(lock->grant, 30000) == next_waiter);
        EXPECT_IS(next_waiter->use, HF__USE_HANDOVER);
        EXPECT(hf__name_queue_next_waiter(lock->grant, 30000) == NULL);
        EXPECT(hf__name_queue_abandon(next_waiter));
        if (leaves_first != 0) {
            hf__name_queue_leave(next_waiter);
        }
        next_waiter->request.op.kind = HF__OP_HANDOVER;
        next_waiter->request.op.result = HF_EUNAVAIL;
        EXPECT(!hf__name_queue_handed_over(next_waiter));
        EXPECT(!hf__claim_may_be_there(next_waiter));
        hf__name_queue_forget(next_waiter);
        EXPECT_IS(next_waiter->use, HF__USE_NONE);
        if (leaves_first == 0) {
            hf__name_queue_leave(next_waiter);
        }
        hf__claim_unref(next_waiter);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
        hf_free(lock);
        EXPECT(hf__map_find(&client->name_queues, "holdfast:job", 12) == NULL);
        hf_close(client);
    }
}

/* The lock was handed over, broken, and granted to another of this client
 * before the thread of the first has woken up: its fence is below one that was
 * seen, and yet the store has lost nothing. */
TEST(a_hand_over_that_was_broken_is_no_old_copy)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_client *client = NULL;
    hf_client *other = NULL;
    hf_lock *lock = NULL;
    struct hf__claim *next_waiter = NULL;
    struct hf__grant *grant = NULL;
    hf__time until = HF__NEVER;

    opts.wait_ms = 0;
    EXPECT_IS(hf_open("memory:broken", NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_open("memory:broken", NULL, &other, NULL), HF_OK);
    EXPECT_IS(hf_acquire(client, "job", NULL, &lock, NULL), HF_OK);
    next_waiter = enter(client, 0, 60000);
    EXPECT(!hf__claim_step(next_waiter, &until));
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    hf_free(lock);
    EXPECT_IS(next_waiter->waiter_state, HF__WAITER_HANDED_OVER);
    EXPECT_IS(hf_break(other, "job", 0, NULL), HF_OK);
    opts.owner_id = 7;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_OK);
    EXPECT(!hf__claim_step(next_waiter, &until));
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    UNTIL(hf__claim_step(next_waiter, &until));
    EXPECT_IS(hf__claim_finish(next_waiter, &grant, NULL), HF_OK);
    EXPECT(grant->fsm.fence > hf_fence(lock));
    hf_free(lock);
    hf__claim_unref(next_waiter);
    hf__name_queue_holder_gone(grant);
    hf__name_queue_owner_left(grant);
    hf__grant_unref(grant);
    hf_close(client);
    hf_close(other);
}
