/* SPDX-License-Identifier: MIT */
/*
 * The rule by which claims enter, against a statement of it that is slow and
 * plain, for every scene of a few holders and a few in line.
 */
#include "src/backend/compatibility.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

enum { HOLDERS_MAX = 3, LINE_MAX = 3, N_MANNERS = 5 };

static const struct hf__lock_mode manners[N_MANNERS] = {
    {HF__MODE_EXCLUSIVE, 0}, {HF__MODE_SHARED, 0}, {HF__MODE_SLOTS, 1},
    {HF__MODE_SLOTS, 2},     {HF__MODE_SLOTS, 3},
};

static struct hf__token token_of(int who)
{
    return (struct hf__token){{(unsigned char)(who + 1)}};
}

/* ---- the rule, said plainly */

/* Could all of these be granted at the same time? */
static bool can_stand(const struct hf__lock_mode *all, int n)
{
    for (int i = 0; i < n; i++) {
        if (all[i].mode != all[0].mode || all[i].slots != all[0].slots) {
            return false;
        }
    }
    if (n < 2 || all[0].mode == HF__MODE_SHARED) {
        return true;
    }
    return all[0].mode == HF__MODE_SLOTS && n <= all[0].slots;
}

static bool is_me(const struct hf__contender *stand, const struct hf__token *me)
{
    return memcmp(stand->token.bytes, me->bytes, sizeof me->bytes) == 0;
}

static int lowest_free_slot(const struct hf__holders_waiters *s,
                            const struct hf__token *me, int from)
{
    for (int i = 0; i < s->n_holders; i++) {
        if (!is_me(&s->holders[i], me) && s->holders[i].slot == from) {
            return lowest_free_slot(s, me, from + 1);
        }
    }
    return from;
}

static enum hf__entry plainly(const struct hf__holders_waiters *s,
                              const struct hf__token *me,
                              struct hf__lock_mode lock_mode, int *ret_slot)
{
    struct hf__lock_mode all[HOLDERS_MAX + LINE_MAX + 1] = {lock_mode};
    int n = 1;

    for (int i = 0; i < s->n_holders; i++) {
        struct hf__lock_mode other = s->holders[i].lock_mode;

        if (is_me(&s->holders[i], me)) {
            continue;
        }
        if (lock_mode.mode == HF__MODE_SLOTS && other.mode == HF__MODE_SLOTS &&
            lock_mode.slots != other.slots) {
            *ret_slot = other.slots;
            return HF__ENTRY_MISFIT;
        }
        all[n++] = other;
    }
    if (!can_stand(all, n)) {
        return HF__ENTRY_HELD;
    }
    for (int i = 0; i < s->n_waiters && !is_me(&s->waiters[i], me); i++) {
        all[n++] = s->waiters[i].lock_mode;
        if (!can_stand(all, n)) {
            return HF__ENTRY_PROMISED;
        }
    }
    *ret_slot =
        lock_mode.mode == HF__MODE_SLOTS ? lowest_free_slot(s, me, 0) : -1;
    return HF__ENTRY_OPEN;
}

/* ---- every scene */

struct scene {
    struct hf__contender holders[HOLDERS_MAX];
    struct hf__contender waiters[LINE_MAX];
    struct hf__holders_waiters stands;
    int compared;
    int entries[4]; /* how often each was the answer */
};

/* The claim is a newcomer, or anybody who is there already. */
static void compare_for_all(struct scene *s)
{
    for (int who = -1; who < s->stands.n_holders + s->stands.n_waiters; who++) {
        struct hf__token me = token_of(who < 0 ? 99 : who);

        for (int m = 0; m < N_MANNERS; m++) {
            int slot = -7;
            int plain_slot = -7;
            enum hf__entry entry =
                hf__may_enter(&s->stands, &me, manners[m], &slot);
            enum hf__entry plain =
                plainly(&s->stands, &me, manners[m], &plain_slot);

            EXPECT_IS(entry, plain);
            if (entry == HF__ENTRY_OPEN || entry == HF__ENTRY_MISFIT) {
                EXPECT_IS(slot, plain_slot);
            }
            s->compared++;
            s->entries[entry]++;
        }
    }
}

static void for_each_line(struct scene *s, int n_waiters)
{
    s->stands.n_waiters = n_waiters;
    compare_for_all(s);
    if (n_waiters == LINE_MAX) {
        return;
    }
    for (int m = 0; m < N_MANNERS; m++) {
        s->waiters[n_waiters] = (struct hf__contender){
            token_of(s->stands.n_holders + n_waiters), manners[m], -1};
        for_each_line(s, n_waiters + 1);
    }
}

/* May the holder with that slot join those that are there? */
static bool is_possible(const struct scene *s, int n,
                        const struct hf__contender *one)
{
    struct hf__lock_mode all[HOLDERS_MAX + 1];

    for (int i = 0; i < n; i++) {
        all[i] = s->holders[i].lock_mode;
        if (one->slot >= 0 && s->holders[i].slot == one->slot) {
            return false;
        }
    }
    all[n] = one->lock_mode;
    return can_stand(all, n + 1);
}

static void for_each_scene(struct scene *s, int n_holders)
{
    s->stands.n_holders = n_holders;
    for_each_line(s, 0);
    if (n_holders == HOLDERS_MAX) {
        return;
    }
    for (int m = 0; m < N_MANNERS; m++) {
        bool has_slots = manners[m].mode == HF__MODE_SLOTS;

        for (int slot = has_slots ? 0 : -1; slot < manners[m].slots; slot++) {
            struct hf__contender one = {token_of(n_holders), manners[m], slot};

            if (slot < 0 && has_slots) {
                continue;
            }
            if (is_possible(s, n_holders, &one)) {
                s->holders[n_holders] = one;
                for_each_scene(s, n_holders + 1);
            }
            if (!has_slots) {
                break;
            }
        }
    }
}

TEST(the_rule_is_what_is_said_of_it_in_every_small_scene)
{
    static struct scene s;

    s.stands.holders = s.holders;
    s.stands.waiters = s.waiters;
    for_each_scene(&s, 0);
    printf("%d answers compared\n", s.compared);
    EXPECT_MORE(s.compared, 50000);
    for (int i = 0; i < 4; i++) {
        EXPECT_MORE(s.entries[i], 0);
    }
}

/* Here somebody is there twice, which no scene above has. */
TEST(nobody_is_in_the_way_of_itself)
{
    struct hf__token me = token_of(0);
    struct hf__contender own = {me, {HF__MODE_EXCLUSIVE, 0}, -1};
    struct hf__holders_waiters s = {&own, 1, &own, 1};
    int slot = 7;

    EXPECT_IS(hf__may_enter(&s, &me, own.lock_mode, &slot), HF__ENTRY_OPEN);
    EXPECT_IS(slot, -1);
}

/* ---- tickets */

static bool leaves(enum hf__queueing queueing, struct hf__lock_mode wanted,
                   struct hf__lock_mode there, bool is_in_line)
{
    struct hf__contender one = {token_of(0), there, 0};
    struct hf__holders_waiters s = {&one, is_in_line ? 0 : 1, &one,
                                    is_in_line ? 1 : 0};
    struct hf__op op = {.lock_mode = wanted, .queueing = queueing};

    return hf__leaves_ticket(&s, &op);
}

TEST(who_tries_leaves_no_ticket_and_who_queues_always_does)
{
    for (int a = 0; a < N_MANNERS; a++) {
        for (int b = 0; b < N_MANNERS; b++) {
            EXPECT(!leaves(HF__QUEUE_NEVER, manners[a], manners[b], false));
            EXPECT(leaves(HF__QUEUE_ALWAYS, manners[a], manners[b], false));
        }
    }
}

/* Those who can follow one another while it waits, each beside the last. */
TEST(who_waits_behind_others_that_could_go_on_for_ever_leaves_a_ticket)
{
    for (int a = 0; a < N_MANNERS; a++) {
        for (int b = 0; b < N_MANNERS; b++) {
            bool is_stream = manners[b].mode != HF__MODE_EXCLUSIVE &&
                             !(manners[a].mode == manners[b].mode &&
                               manners[a].slots == manners[b].slots);

            for (int at = 0; at < 2; at++) {
                EXPECT_IS(leaves(HF__QUEUE_BEHIND_SHARED, manners[a],
                                 manners[b], at == 1),
                          is_stream);
            }
        }
    }
}

/* ---- telling */

TEST(a_misfit_tells_both_numbers)
{
    hf_error err = HF_ERROR_INIT;
    struct hf__op op = {
        .key = {"p:job", 5, 2}, .lock_mode = {HF__MODE_SLOTS, 4}, .err = &err};

    EXPECT_IS(hf__tell_misfit(&op, 7), HF_EINVAL);
    EXPECT_HAS(err.text, "\"job\"");
    EXPECT_HAS(err.text, "7");
    EXPECT_HAS(err.text, "4");
}

TEST(a_crowd_grows_and_keeps_its_order)
{
    struct hf__participant_list crowd = {0};

    for (int i = 0; i < 100; i++) {
        struct hf__participant_info party = {.record = {.slot = i}};
        EXPECT_IS(hf__participant_list_add(&crowd, &party), HF_OK);
    }
    EXPECT_IS(crowd.n, 100);
    for (int i = 0; i < 100; i++) {
        EXPECT_IS(crowd.list[i].record.slot, i);
    }
    hf__participant_list_free(&crowd);
    EXPECT_IS(crowd.n, 0);
}
