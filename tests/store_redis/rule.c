/* SPDX-License-Identifier: MIT */
/*
 * The rule of the scripts is that of compatibility.c: claims, releases and
 * breaks by lot, many names side by side in each batch, and what the server
 * says of each against what hf__may_enter() says of a model. Tickets count for
 * a second, so a scene that takes longer is given up and a smaller one is made.
 */
#include "src/backend/compatibility.h"
#include "src/backend/conn.h"
#include "src/backend/registry.h"
#include "tests/store_redis/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64, STEPS = 20, TOKENS = 7, VERDICTS = 6000, LATE_MS = 900 };

/* A name as it should be: holders by age, the line by arrival. */
struct model {
    struct hf__contender holders[TOKENS];
    struct hf__contender waiters[TOKENS];
    int n_holders;
    int n_waiters;
    uint64_t fence;
};

struct asked {
    struct hf__op op;
    struct hf__owner owner;
    hf_error err;
    char key[40];
    int result; /* as it should be */
    int slot;
    bool is_queued;
};

static struct model models[NAMES_MAX];
static struct asked asked[NAMES_MAX];
static uint64_t state;

static int lot(int n)
{
    state =
        state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)n);
}

static struct hf__token token_of(int who)
{
    return (struct hf__token){{(unsigned char)(who + 1), 0xab}};
}

/* ---- the model */

static int place_in(const struct hf__contender *list, int n,
                    const struct hf__token *token)
{
    for (int i = 0; i < n; i++) {
        if (hf__token_equal(&list[i].token, token)) {
            return i;
        }
    }
    return -1;
}

static bool take_out(struct hf__contender *list, int *n,
                     const struct hf__token *token)
{
    int at = place_in(list, *n, token);

    if (at < 0) {
        return false;
    }
    memmove(&list[at], &list[at + 1], (size_t)(*n - at - 1) * sizeof list[0]);
    --*n;
    return true;
}

static struct hf__holders_waiters stands_of(const struct model *m)
{
    return (struct hf__holders_waiters){m->holders, m->n_holders, m->waiters,
                                        m->n_waiters};
}

static void expect_wait(struct model *m, struct asked *a)
{
    struct hf__holders_waiters s = stands_of(m);

    a->result = HF_BUSY;
    a->is_queued = place_in(m->waiters, m->n_waiters, &a->op.token) >= 0;
    if (!a->is_queued && hf__leaves_ticket(&s, &a->op)) {
        a->is_queued = true;
        m->waiters[m->n_waiters++] =
            (struct hf__contender){a->op.token, a->op.lock_mode, -1};
    }
}

static void expect_acquire(struct model *m, struct asked *a)
{
    struct hf__holders_waiters s = stands_of(m);
    int at = place_in(m->holders, m->n_holders, &a->op.token);
    enum hf__entry entry;

    a->result = HF_OK;
    if (at >= 0) {
        a->slot = m->holders[at].slot;
        return;
    }
    entry = hf__may_enter(&s, &a->op.token, a->op.lock_mode, &a->slot);
    if (entry == HF__ENTRY_OPEN) {
        (void)take_out(m->waiters, &m->n_waiters, &a->op.token);
        m->holders[m->n_holders++] =
            (struct hf__contender){a->op.token, a->op.lock_mode, a->slot};
        return;
    }
    a->slot = -1;
    if (entry == HF__ENTRY_MISFIT) {
        a->result = HF_EINVAL;
        return;
    }
    expect_wait(m, a);
}

static void expect(struct model *m, struct asked *a)
{
    bool is_held = m->n_holders > 0;

    a->slot = -1;
    a->is_queued = false;
    if (a->op.kind == HF__OP_ACQUIRE) {
        expect_acquire(m, a);
    } else if (a->op.kind == HF__OP_RELEASE) {
        a->result =
            take_out(m->holders, &m->n_holders, &a->op.token) ? HF_OK : HF_LOST;
        (void)take_out(m->waiters, &m->n_waiters, &a->op.token);
    } else {
        a->result = is_held ? HF_OK : HF_CONFLICT;
        m->n_holders = 0;
    }
}

/* ---- what is asked */

static void ask_something(struct asked *a, int scene, int name)
{
    static const struct hf__lock_mode manners[] = {
        {HF__MODE_EXCLUSIVE, 0}, {HF__MODE_SHARED, 0}, {HF__MODE_SHARED, 0},
        {HF__MODE_SLOTS, 1},     {HF__MODE_SLOTS, 3},  {HF__MODE_SLOTS, 3},
    };
    int who = lot(TOKENS);
    int what = lot(20);

    a->err = (hf_error)HF_ERROR_INIT;
    a->owner = (struct hf__owner){.pid = who};
    snprintf(a->owner.label, sizeof a->owner.label, "%d", who);
    snprintf(a->key, sizeof a->key, "rule:%d/%03d", scene, name);
    a->op = (struct hf__op){
        .kind = what < 14   ? HF__OP_ACQUIRE
                : what < 19 ? HF__OP_RELEASE
                            : HF__OP_BREAK,
        .key = {a->key, (uint16_t)strlen(a->key), 5},
        .token = token_of(who),
        .lease_us = 60 * INT64_C(1000000),
        .lock_mode = manners[lot(6)],
        .queueing = (enum hf__queueing)lot(3),
        .owner = &a->owner,
        .err = &a->err,
    };
}

static void execute(struct hf__conn *conn, int n)
{
    struct hf__op *ops[NAMES_MAX];
    hf_error err = HF_ERROR_INIT;

    for (int i = 0; i < n; i++) {
        ops[i] = &asked[i].op;
    }
    EXPECT_IS(
        hf__conn_execute(conn, ops, n, hf__after_ms(hf__now(), 30000), &err),
        HF_OK);
}

static void compare(struct model *m, const struct asked *a)
{
    EXPECT_IS(a->op.result, a->result);
    if (a->op.kind == HF__OP_ACQUIRE) {
        EXPECT_IS(a->op.slot, a->slot);
        EXPECT_IS(a->op.is_queued, a->is_queued);
    }
    if (a->op.kind == HF__OP_ACQUIRE && a->result == HF_OK &&
        a->op.fence > m->fence) {
        m->fence = a->op.fence;
    }
}

/* ---- all of it at the end */

static int by_slot(const void *x, const void *y)
{
    const struct hf__contender *a = x;
    const struct hf__contender *b = y;

    return (a->slot > b->slot) - (a->slot < b->slot);
}

static void expect_party(const struct hf__participant_list *crowd, int i,
                         const struct hf__contender *stand)
{
    const struct hf__record *found = &crowd->list[i].record;
    char label[8];

    snprintf(label, sizeof label, "%d", stand->token.bytes[0] - 1);
    EXPECT_TEXT(found->owner.label, label);
    EXPECT_IS(found->lock_mode.mode, stand->lock_mode.mode);
    EXPECT_IS(found->lock_mode.slots, stand->lock_mode.slots);
    EXPECT_IS(found->slot, stand->slot);
}

static void compare_crowd(struct hf__conn *conn, struct model *m,
                          struct asked *a)
{
    struct hf__participant_list crowd = {0};
    struct hf__op *op = &a->op;
    hf_error err = HF_ERROR_INIT;

    a->op = (struct hf__op){
        .kind = HF__OP_INSPECT, .key = a->op.key, .ret_participants = &crowd};
    EXPECT_IS(
        hf__conn_execute(conn, &op, 1, hf__after_ms(hf__now(), 30000), &err),
        HF_OK);
    EXPECT_IS(op->result, HF_OK);
    EXPECT_IS(crowd.n, m->n_holders + m->n_waiters);
    if (m->n_holders > 1 && m->holders[0].slot >= 0) {
        qsort(m->holders, (size_t)m->n_holders, sizeof m->holders[0], by_slot);
    }
    for (int i = 0; i < m->n_holders; i++) {
        expect_party(&crowd, i, &m->holders[i]);
    }
    for (int i = 0; i < m->n_waiters; i++) {
        expect_party(&crowd, m->n_holders + i, &m->waiters[i]);
    }
    hf__participant_list_free(&crowd);
}

/* How many verdicts were compared; 0: it took too long. */
static int play(struct hf__conn *conn, int scene, int names)
{
    int64_t start = hf__test_now_ms();

    memset(models, 0, sizeof models);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < names; i++) {
            ask_something(&asked[i], scene, i);
            expect(&models[i], &asked[i]);
        }
        execute(conn, names);
        if (hf__test_now_ms() - start > LATE_MS) {
            return 0;
        }
        for (int i = 0; i < names; i++) {
            compare(&models[i], &asked[i]);
        }
    }
    for (int i = 0; i < names && i < 8; i++) {
        compare_crowd(conn, &models[i], &asked[i]);
    }
    return hf__test_now_ms() - start > LATE_MS ? 1 : names * STEPS;
}

TEST_WITHIN(120, the_scripts_and_the_rule_agree)
{
    struct hf__conn conn = {0};
    int names = NAMES_MAX;
    int verdicts = 0;

    state = hf__test_seed();
    open_session(&conn, url_as("", ""));
    for (int scene = 0; verdicts < VERDICTS; scene++) {
        int n = play(&conn, scene, names);

        verdicts += n;
        names = n <= 1 && names > 4 ? names / 2 : names;
        EXPECT_LESS(scene, 2000);
    }
    hf__conn_close(&conn);
    printf("%d verdicts, %d names at once\n", verdicts, names);
}
