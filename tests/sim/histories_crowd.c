/* SPDX-License-Identifier: MIT */
/*
 * The bad histories of a crowd: of grants side by side, of a line, of several
 * names. This file decides what must be flagged; that it is, and as just
 * that, is tested in sim_oracles.c.
 */
#include "tests/sim/histories.h"

#include "src/backend/crowd.h"

#include <string.h>

#define LEASE (1000 * HF__MS)

/* What the store has, as the statements so far have made it. */
static struct hf__row row;

static void begin(void)
{
    hf__scene_begin(HF__MODEL_CROWD, 1);
    memset(&row, 0, sizeof row);
}

static struct hf__manner manner_of(enum hf__mode mode)
{
    return (struct hf__manner){.mode = mode,
                               .slots = mode == HF__MODE_SLOTS ? 2 : 0};
}

static void tell(const struct hf__row *before, struct hf__message *m)
{
    hf__oracle_applied(
        &hf__scene.oracle,
        &(struct hf__applied){.m = m, .before = before, .after = &row});
    hf__row_copy(&hf__scene.store.members[0].row, &row);
}

/* The claim of that token, by the client of that number, at that time. */
static void is_granted(uint64_t token, enum hf__mode mode, uint64_t fence,
                       int64_t at_ms)
{
    struct hf__row before = row;
    struct hf__message m = {.op = HF__OP_ACQUIRE,
                            .client = (int)token % 3,
                            .token = token,
                            .fence = fence,
                            .manner = manner_of(mode),
                            .begun = at_ms * HF__MS};

    row.fence = fence;
    if (mode == HF__MODE_EXCLUSIVE) {
        row.token = token;
        row.ends = m.begun + LEASE;
    } else {
        row.sharers[row.n_sharers++] =
            (struct hf__sharer){.token = token,
                                .ends = m.begun + LEASE,
                                .fence = fence,
                                .manner = m.manner,
                                .client = m.client};
    }
    tell(&before, &m);
}

/* It is busy for it, and it is in line. */
static void waits(uint64_t token, enum hf__mode mode, int64_t at_ms)
{
    struct hf__row before = row;
    struct hf__message m = {.op = HF__OP_ACQUIRE,
                            .result = HF_BUSY,
                            .client = (int)token % 3,
                            .token = token,
                            .manner = manner_of(mode),
                            .queueing = HF__QUEUE_ALWAYS,
                            .is_queued = true,
                            .sent_true = at_ms * HF__MS,
                            .begun = at_ms * HF__MS};

    row.line[row.n_line++] = (struct hf__ticket){
        .token = token, .manner = m.manner, .client = m.client};
    tell(&before, &m);
}

static void is_free(void)
{
    row.token = 0;
    row.n_sharers = 0;
}

/* ---- of the line -------------------------------------------------------- */

static void one_barges(void)
{
    begin();
    is_granted(1, HF__MODE_EXCLUSIVE, 1, 1);
    waits(2, HF__MODE_EXCLUSIVE, 2);
    is_free();
    is_granted(3, HF__MODE_EXCLUSIVE, 2, 3);
}

static void reader_passes_a_writer(void)
{
    begin();
    is_granted(1, HF__MODE_SHARED, 1, 1);
    waits(2, HF__MODE_EXCLUSIVE, 2);
    is_granted(3, HF__MODE_SHARED, 2, 3);
}

static void last_slot_was_promised(void)
{
    begin();
    is_granted(1, HF__MODE_SLOTS, 1, 1);
    waits(2, HF__MODE_SLOTS, 2);
    is_granted(3, HF__MODE_SLOTS, 2, 3);
}

static void handed_past_the_line(void)
{
    struct hf__message m = {.op = HF__OP_HANDOVER,
                            .client = 1,
                            .token = 1,
                            .next_token = 4,
                            .fence = 2,
                            .begun = 3 * HF__MS};
    struct hf__row before;

    begin();
    is_granted(1, HF__MODE_EXCLUSIVE, 1, 1);
    waits(2, HF__MODE_EXCLUSIVE, 2);
    before = row;
    row.token = 4;
    row.fence = 2;
    tell(&before, &m);
}

static void fair_has_no_ticket(void)
{
    begin();
    is_granted(1, HF__MODE_EXCLUSIVE, 1, 1);
    tell(&row, &(struct hf__message){.op = HF__OP_ACQUIRE,
                                     .result = HF_BUSY,
                                     .client = 2,
                                     .token = 2,
                                     .queueing = HF__QUEUE_ALWAYS,
                                     .begun = 2 * HF__MS});
}

static void ticket_is_gone(void)
{
    begin();
    is_granted(1, HF__MODE_EXCLUSIVE, 1, 1);
    waits(2, HF__MODE_EXCLUSIVE, 2);
    row.n_line = 0;
    is_granted(1, HF__MODE_EXCLUSIVE, 1, 3);
}

static void ticket_is_left(void)
{
    begin();
    waits(2, HF__MODE_EXCLUSIVE, 2);
    hf__oracle_end(&hf__scene.oracle, hf__scene.views, &hf__scene.store, 1);
}

/* ---- side by side ------------------------------------------------------- */

static void beside_changes(void)
{
    struct hf__row before;

    begin();
    is_granted(1, HF__MODE_SHARED, 1, 1);
    before = row;
    row.n_sharers = 0;
    tell(&before, &(struct hf__message){.op = HF__OP_RELEASE,
                                        .result = HF_LOST,
                                        .client = 2,
                                        .token = 2,
                                        .begun = 2 * HF__MS});
}

static void fence_of_the_last(void)
{
    begin();
    is_granted(1, HF__MODE_SHARED, 1, 1);
    is_granted(2, HF__MODE_SHARED, 1, 2);
}

static void misfit_of_nobody(void)
{
    begin();
    tell(&row, &(struct hf__message){.op = HF__OP_ACQUIRE,
                                     .result = HF_EINVAL,
                                     .manner = manner_of(HF__MODE_SLOTS)});
}

static void hold_beside(int client, enum hf__mode mode, int slot)
{
    uint64_t token = (uint64_t)client + 1;

    is_granted(token, mode, token, 1);
    hf__scene_hold(client, token);
    hf__scene.views[client].manner = manner_of(mode);
    hf__scene.views[client].slot = slot;
    hf__scene_look(2);
}

static void writer_beside_reader(void)
{
    begin();
    hold_beside(0, HF__MODE_SHARED, -1);
    hold_beside(1, HF__MODE_SLOTS, 0);
}

static void slot_is_held_twice(void)
{
    begin();
    hold_beside(0, HF__MODE_SLOTS, 1);
    hold_beside(1, HF__MODE_SLOTS, 1);
}

static void slot_past_the_last(void)
{
    begin();
    hold_beside(0, HF__MODE_SLOTS, 2);
}

/* ---- several names ------------------------------------------------------ */

static void part_is_no_lock(void)
{
    hf__oracle_many_granted(&hf__scene.oracle, 2, 3);
}

static void part_is_kept(void)
{
    begin();
    hold_beside(0, HF__MODE_SHARED, -1);
    hf__scene.views[0].is_idle = true;
    hf__scene_look(3);
}

/* Two processes of two names: each keeps one and waits for the other. */
static void they_wait_in_a_circle(void)
{
    hf__scene_begin(HF__MODEL_CROWD, 2);
    hf__scene.plan.names = 2;
    hf__scene.plan.clients = 4;
    hf__scene.plan.many = 1;
    for (int i = 0; i < 4; i++) {
        struct hf__view *view = &hf__scene.views[i];
        bool is_kept = i == 0 || i == 3;

        *view = (struct hf__view){.is_part = true,
                                  .is_awake = true,
                                  .is_kept = is_kept,
                                  .is_held = is_kept,
                                  .is_claiming = !is_kept,
                                  .claim = (uint64_t)i + 1,
                                  .token = (uint64_t)i + 1};
    }
    hf__scene_own(0, 1);
    hf__scene_own(1, 4);
    for (int i = 1; i < 10; i++) {
        hf__scene_look(i * 100);
    }
}

static void nobody_is_in_its_way(void)
{
    begin();
    hf__scene.views[0].is_claiming = true;
    hf__scene.views[0].is_awake = true;
    for (int i = 1; i < 10; i++) {
        hf__scene_look(i * 100);
    }
}

const struct hf__history hf__bad_crowds[] = {
#define BAD(rule, history)                                                     \
    {                                                                          \
        HF__RULE_##rule, #history, history                                     \
    }
    BAD(ORDER, one_barges),
    BAD(ORDER, reader_passes_a_writer),
    BAD(ORDER, last_slot_was_promised),
    BAD(ORDER, handed_past_the_line),
    BAD(ORDER, fair_has_no_ticket),
    BAD(ORDER, ticket_is_gone),
    BAD(LEAK, ticket_is_left),
    BAD(ROW, beside_changes),
    BAD(FENCE, fence_of_the_last),
    BAD(ROW, misfit_of_nobody),
    BAD(EXCLUSION, writer_beside_reader),
    BAD(EXCLUSION, slot_is_held_twice),
    BAD(EXCLUSION, slot_past_the_last),
    BAD(OWNERSHIP, part_is_no_lock),
    BAD(LEAK, part_is_kept),
    BAD(HEALED, they_wait_in_a_circle),
    BAD(IDLE, nobody_is_in_its_way),
    {0, NULL, NULL},
#undef BAD
};
