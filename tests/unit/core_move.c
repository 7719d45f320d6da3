/* SPDX-License-Identifier: MIT */
/*
 * The locks move to another server in the middle of what a session does, which
 * real servers can't be brought to do at that very moment: while it connects,
 * and while it is answered. The store of this file is told to do so.
 */
#include "src/base/error.h"
#include "src/core/session.h"
#include "tests/lib/test.h"

#include <string.h>

static struct hf__session session;

/* Where the store is opened, in turn, and what is told of it meanwhile. */
static struct {
    uint64_t server_ids[4]; /* by the number of the open */
    uint64_t told[4];       /* while that one runs; 0: nothing */
    int opens;
    uint64_t told_at_once; /* while operations run */
    int interrupts;
    int moves;
} fake;

static int fake_open(void *state, const struct hf__url *url, const char *allow,
                     hf__time deadline, hf_error *err)
{
    struct hf__head *head = state;
    int i = fake.opens++;

    (void)url;
    (void)allow;
    (void)deadline;
    head->server_info = (struct hf__server_info){
        .grade = 'C', .reach = HF_REACH_HOSTS, .server_id = fake.server_ids[i]};
    if (fake.told[i] != 0) {
        (void)hf__session_move(&session, fake.told[i]);
    }
    return hf__is_interrupted(head)
               ? hf__fail(err, HF_EUNAVAIL, "it was interrupted")
               : HF_OK;
}

static void fake_close(void *state)
{
    (void)state;
}

static int fake_execute(void *state, struct hf__op *ops[], int n,
                        hf__time deadline, hf_error *err)
{
    (void)state;
    (void)deadline;
    (void)err;
    for (int i = 0; i < n; i++) {
        ops[i]->result = HF_OK;
        ops[i]->fence = 7;
    }
    if (fake.told_at_once != 0) {
        (void)hf__session_move(&session, fake.told_at_once);
    }
    return HF_OK;
}

static void fake_interrupt(void *state)
{
    (void)state;
    fake.interrupts++;
}

static const struct hf__backend backend = {
    .scheme = "fake",
    .caps = HF_CAP_FENCE | HF_CAP_HANDOVER,
    .size = sizeof(struct hf__head),
    .open = fake_open,
    .close = fake_close,
    .execute = fake_execute,
    .interrupt = fake_interrupt,
};

static void moved(void *arg)
{
    (void)arg;
    fake.moves++;
}

/* A call, as of a cell, that has done something there. */
static int change(struct hf__conn *conn, struct hf__request *q,
                  hf__time deadline)
{
    (void)conn;
    (void)deadline;
    q->op.result = HF_OK;
    if (fake.told_at_once != 0) {
        (void)hf__session_move(&session, fake.told_at_once);
    }
    return HF_OK;
}

static bool has_run(void *request, hf__time *ret_until)
{
    (void)ret_until;
    return hf__session_advance(&session, request);
}

static int run_request(struct hf__request q)
{
    struct hf__parker parker = {0};

    hf__session_begin(&session, &q, &parker, HF__NEVER);
    hf__run_steps(&parker, has_run, &q);
    return q.op.result;
}

static int run(enum hf__op_kind kind)
{
    static struct hf__owner owner;
    struct hf__request q = {.op = {.kind = kind,
                                   .key = {.bytes = "k", .length = 1},
                                   .token = {{1}},
                                   .next_token = {{2}},
                                   .owner = &owner,
                                   .fence = 1,
                                   .lease_us = 1000000}};

    return run_request(q);
}

static void begin(void)
{
    static struct hf__counters counters;
    static struct hf__url url;
    static struct hf__settings settings;

    settings = (struct hf__settings){.counters = &counters,
                                     .backend = &backend,
                                     .caps = backend.caps,
                                     .url = &url,
                                     .allow = "",
                                     .io_timeout_ms = 5000,
                                     .moved = moved};
    memset(&fake, 0, sizeof fake);
    hf__session_init(&session, &settings, "main");
}

static void end(void)
{
    hf__session_close(&session);
    hf__session_fini(&session);
}

/* ---- while it connects */

TEST(who_is_told_while_it_connects_goes_there_at_once)
{
    begin();
    fake.server_ids[0] = 1; /* its server, still named */
    fake.told[0] = 2;
    fake.server_ids[1] = 2;
    EXPECT_SAFE_IS(run(HF__OP_ACQUIRE), HF_OK);
    EXPECT_IS(fake.opens, 2);
    EXPECT_IS(hf__session_server_info(&session).server_id, 2);
    end();
}

TEST(who_is_there_already_stays)
{
    begin();
    fake.server_ids[0] = 2;
    fake.told[0] = 2;
    EXPECT_IS(run(HF__OP_ACQUIRE), HF_OK);
    EXPECT_IS(run(HF__OP_RENEW), HF_OK);
    EXPECT_IS(fake.opens, 1);
    end();
}

/* It was at that place last, and is on the way to 1 when it is told of 2. */
static void lose_the_connection(uint64_t last)
{
    begin();
    fake.server_ids[0] = last;
    EXPECT_IS(run(HF__OP_ACQUIRE), HF_OK);
    session.conn.is_dead = true;
    fake.server_ids[1] = 1;
    fake.told[1] = 2;
    fake.server_ids[2] = 2;
}

/* A silent server, which has the locks no more, is not waited for. */
TEST(who_connects_anew_is_interrupted_by_a_move)
{
    lose_the_connection(1);
    EXPECT_IS(run(HF__OP_ACQUIRE), HF_OK);
    EXPECT_IS(fake.interrupts, 1);
    EXPECT_IS(fake.opens, 3);
    EXPECT_IS(fake.moves, 1);
    end();
}

/* Back where it was last, while it connects to the one between. */
TEST(who_was_there_last_goes_back)
{
    lose_the_connection(2);
    EXPECT_SAFE_IS(run(HF__OP_ACQUIRE), HF_OK);
    EXPECT_IS(fake.opens, 3);
    EXPECT_IS(hf__session_server_info(&session).server_id, 2);
    end();
}

/* ---- while it is answered */

static int answered_by_deposed(enum hf__op_kind kind)
{
    int r;

    begin();
    fake.server_ids[0] = 1;
    fake.server_ids[1] = 2;
    fake.told_at_once = 2;
    r = run(kind);
    EXPECT_IS(fake.opens, 1);
    fake.told_at_once = 0;
    EXPECT_IS(run(kind), HF_OK);
    EXPECT_IS(fake.opens, 2);
    end();
    return r;
}

TEST(what_a_deposed_server_grants_is_not_believed)
{
    EXPECT_SAFE_IS(answered_by_deposed(HF__OP_ACQUIRE), HF_EUNKNOWN);
    EXPECT_SAFE_IS(answered_by_deposed(HF__OP_RENEW), HF_EUNKNOWN);
    EXPECT_SAFE_IS(answered_by_deposed(HF__OP_HANDOVER), HF_EUNKNOWN);
    EXPECT_SAFE_IS(answered_by_deposed(HF__OP_RAISE), HF_EUNKNOWN);
    EXPECT_IS(answered_by_deposed(HF__OP_RELEASE), HF_OK);
}

static int called_at_deposed(bool changes)
{
    int r;

    begin();
    fake.server_ids[0] = 1;
    fake.told_at_once = 2;
    r = run_request((struct hf__request){.call = change, .changes = changes});
    end();
    return r;
}

TEST(what_was_changed_at_a_deposed_server_is_not_believed)
{
    EXPECT_SAFE_IS(called_at_deposed(true), HF_EUNKNOWN);
    EXPECT_IS(called_at_deposed(false), HF_OK);
}
