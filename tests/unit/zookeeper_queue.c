/* SPDX-License-Identifier: MIT */
/*
 * Who is at a name, by its listing; in which order; whom a claim watches.
 */
#include "src/backend/zookeeper/queue.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 16 };

/* A listing from words: "x5" is a claim alone with the sequence 5, "s6" shared,
 * "n2:7" one of two slots; "k0:7" that the claim 7 has the slot 0, and those of
 * one number are in the order of the words; others are as they are. */
struct scene {
    struct hf__zk_queue queue;
    char names[NAMES_MAX][HF__ZK_CHILD_MAX];
    char *list[NAMES_MAX];
    int n;
};

static void name_claim(const char *word, int at, char to[HF__ZK_CHILD_MAX])
{
    const char *colon = strchr(word, ':');
    int lock_mode = colon ? (int)(colon - word) : 1;
    int32_t sequence = (int32_t)strtol(colon ? colon + 1 : word + 1, NULL, 10);
    int32_t own = word[0] == 'k' ? 100 + at : sequence;

    snprintf(to, HF__ZK_CHILD_MAX, "%.*s-%032" PRIx32 "-%010" PRId32, lock_mode,
             word, (uint32_t)sequence | 1U << 31, own);
}

static struct scene seen(const char *words)
{
    struct scene s = {.n = 0};
    char all[256];
    char *rest = all;
    char *word;

    snprintf(all, sizeof all, "%s", words);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (strchr("xsnk", word[0]) && strlen(word) > 1) {
            name_claim(word, s.n, s.names[s.n]);
        } else {
            snprintf(s.names[s.n], sizeof s.names[s.n], "%s", word);
        }
        s.n++;
    }
    return s;
}

/* The list points into the scene itself. */
static void read_line(struct scene *s)
{
    for (int i = 0; i < s->n; i++) {
        s->list[i] = s->names[i];
    }
    EXPECT_IS(hf__zk_queue_read(&s->queue, s->list, s->n, 100), HF_OK);
}

#define AUTO_SCENE __attribute__((cleanup(scene_fini))) struct scene
static void scene_fini(struct scene *s)
{
    hf__zk_queue_fini(&s->queue);
}

static char sign_of(enum hf__entry entry)
{
    if (entry == HF__ENTRY_OPEN) {
        return '+';
    }
    return entry == HF__ENTRY_MISFIT ? '!' : '-';
}

/* "+": let in; "-": not; "!": of slots of another number. */
static void expect_entries(const char *words, const char *entries)
{
    AUTO_SCENE s = seen(words);
    char found[NAMES_MAX + 1] = "";

    read_line(&s);
    for (int i = 0; i < s.queue.n; i++) {
        found[i] = sign_of(s.queue.claims[i].entry);
    }
    EXPECT_TEXT(found, entries);
}

TEST(one_alone_is_let_in_and_no_other)
{
    expect_entries("x1", "+");
    expect_entries("x2 x1 x3", "+--");
    expect_entries("s1 x2", "+-");
    expect_entries("x1 s2", "+-");
    expect_entries("x1 n2:2", "+-");
}

TEST(shared_ones_are_let_in_up_to_the_first_other)
{
    expect_entries("s1 s2 s3", "+++");
    expect_entries("s1 s2 x3 s4", "++--");
    expect_entries("s1 n2:2 s3", "+--");
}

TEST(as_many_slots_as_there_are)
{
    expect_entries("n2:1 n2:2 n2:3 n2:4", "++--");
    expect_entries("n1:1 n1:2", "+-");
    expect_entries("n3:1 x2 n3:3", "+--");
    expect_entries("n3:1 n2:2 n3:3", "+!-");
}

TEST(strangers_are_in_nobodys_way)
{
    AUTO_SCENE s = seen("other x1 _c_guid-lock-0000000000 k lock");

    read_line(&s);
    EXPECT_IS(s.queue.n, 1);
    EXPECT_IS(s.queue.n_taken, 0);
    EXPECT_IS(s.queue.claims[0].entry, HF__ENTRY_OPEN);
    EXPECT(s.queue.has_lock);
}

TEST(a_slot_is_of_the_first_who_took_it)
{
    AUTO_SCENE s = seen("n3:1 n3:2 n3:3 n3:4 k2:3 k0:2 k0:1 k1:4 k0:9");

    read_line(&s);
    EXPECT_IS(s.queue.n_taken, 5);
    EXPECT_IS(s.queue.taken[0].child.slot, 0);
    EXPECT_IS(s.queue.taken[0].claim, 1);
    EXPECT_IS(s.queue.taken[1].claim, -1); /* another was first */
    EXPECT_IS(s.queue.taken[2].claim, -1); /* whose claim is gone */
    EXPECT_IS(s.queue.taken[3].claim, -1); /* whose claim was not let in */
    EXPECT_IS(s.queue.taken[4].claim, 2);
    EXPECT_IS(hf__zk_queue_find_slot_node(&s.queue, s.names[4]), 4);
    EXPECT_IS(hf__zk_queue_find_slot_node(&s.queue, "k2"), -1);
}

TEST(nobody_has_two_slots)
{
    AUTO_SCENE s = seen("n3:1 n3:2 k0:1 k1:1 k2:1");
    AUTO_SCENE twice = seen("n3:1 n3:2 k0:1 k1:1");

    read_line(&s);
    EXPECT_IS(s.queue.taken[0].claim, 0);
    EXPECT_IS(s.queue.taken[1].claim, -1);
    EXPECT_IS(s.queue.taken[2].claim, -1);
    EXPECT_IS(s.queue.claims[0].taken, 0);
    EXPECT_IS(s.queue.claims[1].taken, -1);
    memcpy(twice.names[1] + 3, twice.names[0] + 3, 32);
    read_line(&twice);
    EXPECT_IS(twice.queue.taken[0].claim, 0);
    EXPECT_IS(twice.queue.taken[1].claim, 1);
}

/* Of the i-th claim. */
static void expect_free_slot(const char *words, int i, int slot)
{
    AUTO_SCENE s = seen(words);

    read_line(&s);
    EXPECT_IS(hf__zk_queue_free_slot(&s.queue, i), slot);
}

TEST(each_who_enters_leaves_slots_to_those_before_it)
{
    expect_free_slot("n3:1", 0, 0);
    expect_free_slot("n3:1 n3:2 n3:3", 1, 1);
    expect_free_slot("n3:1 n3:2 n3:3", 2, 2);
    expect_free_slot("n3:1 n3:2 k0:1", 1, 1);
    expect_free_slot("n4:1 n4:2 n4:3 n4:4 k1:2", 0, 0);
    expect_free_slot("n4:1 n4:2 n4:3 n4:4 k1:2", 2, 2);
    expect_free_slot("n4:1 n4:2 n4:3 n4:4 k1:2", 3, 3);
    expect_free_slot("n3:1 n3:2 k1:2 k1:1", 0, 0);
}

TEST(a_slot_that_was_left_behind_is_not_free)
{
    expect_free_slot("n2:1 k0:8 k1:9", 0, -1);
    expect_free_slot("n2:1 n2:2 k0:8", 0, 1);
    expect_free_slot("n2:1 n2:2 k0:8", 1, -1);
}

/* As a 3.8 server numbers: 2147483647 alone, else the lowest of all. */
TEST(who_has_a_worn_number_is_never_let_in)
{
    expect_entries("x2147483647", "-");
    expect_entries("x-2147483648 x2147483647", "--");
    expect_entries("s5 s2147483647 s6", "++-");
    expect_entries("n3:5 n3:2147483647", "+-");
    expect_entries("x2147418111", "+");
    expect_entries("x2147418112", "-");
}

TEST(a_slot_with_a_worn_number_is_nobodys)
{
    AUTO_SCENE s = seen("n2:5 k0:5");

    snprintf(strrchr(s.names[1], '-') + 1, 12, "%d", INT32_MAX);
    read_line(&s);
    EXPECT_IS(s.queue.claims[0].taken, -1);
    EXPECT_IS(s.queue.taken[0].claim, -1);
}

/* Then a new claim's number says nothing: it waits until all have gone. */
TEST(nobody_would_enter_beside_others_where_numbers_are_worn)
{
    struct hf__lock_mode shared = {HF__MODE_SHARED, 0};
    AUTO_SCENE s = seen("s5");
    AUTO_SCENE none = seen("other");

    read_line(&s);
    EXPECT_IS(hf__zk_queue_would(&s.queue, shared), HF__ENTRY_OPEN);
    s.queue.next = INT32_MAX;
    EXPECT_IS(hf__zk_queue_would(&s.queue, shared), HF__ENTRY_HELD);
    read_line(&none);
    none.queue.next = INT32_MAX;
    EXPECT_IS(hf__zk_queue_would(&none.queue, shared), HF__ENTRY_OPEN);
}

/* Numbers begin anew once they have gone, too. */
TEST(nobody_would_enter_beside_what_is_worn_or_left_behind)
{
    struct hf__lock_mode alone = {HF__MODE_EXCLUSIVE, 0};
    AUTO_SCENE worn = seen("x2147483647");
    AUTO_SCENE left = seen("k0:1");

    read_line(&worn);
    worn.queue.next = INT32_MAX;
    EXPECT_IS(hf__zk_queue_would(&worn.queue, alone), HF__ENTRY_HELD);
    read_line(&left);
    left.queue.next = INT32_MAX;
    EXPECT_IS(hf__zk_queue_would(&left.queue, alone), HF__ENTRY_HELD);
}

/* A session that is about to end has left a claim with the same token. */
TEST(the_same_token_twice_is_two_claims)
{
    AUTO_SCENE s = seen("x1 x2");

    memcpy(s.names[1] + 2, s.names[0] + 2, 32);
    read_line(&s);
    EXPECT_IS(s.queue.claims[0].entry, HF__ENTRY_OPEN);
    EXPECT_IS(s.queue.claims[1].entry, HF__ENTRY_HELD);
    EXPECT_IS(
        hf__zk_queue_find_token(&s.queue, 1, &s.queue.claims[0].child.token),
        1);
}

static void expect_ahead(const char *words, int i, enum hf__zk_view view,
                         int who)
{
    AUTO_SCENE s = seen(words);
    struct hf__zk_predecessor ahead;

    read_line(&s);
    ahead = hf__zk_queue_predecessor(&s.queue, i);
    EXPECT_IS(ahead.view, view);
    EXPECT_IS(ahead.who, who);
}

TEST(who_waits_watches_one_only)
{
    expect_ahead("x1 x2", 1, HF__ZK_SEE_NODE, 0);
    expect_ahead("x1 x2 x3 x4", 3, HF__ZK_SEE_NODE, 2);
    expect_ahead("s1 s2 x3", 2, HF__ZK_SEE_NODE, 1);
    expect_ahead("x1 s2 s3 s4", 3, HF__ZK_SEE_NODE, 0);
    expect_ahead("s1 x2 s3 s4", 3, HF__ZK_SEE_NODE, 1);
    expect_ahead("x1 n2:2 n2:3", 2, HF__ZK_SEE_NODE, 0);
}

TEST(the_first_who_waits_for_a_slot_sees_all_of_them)
{
    expect_ahead("n2:1 n2:2 n2:3 n2:4 n2:5", 2, HF__ZK_SEE_ALL, -1);
    expect_ahead("n2:1 n2:2 n2:3 n2:4 n2:5", 3, HF__ZK_SEE_DATA, 2);
    expect_ahead("n2:1 n2:2 n2:3 n2:4 n2:5", 4, HF__ZK_SEE_DATA, 3);
    expect_ahead("n2:1 n2:2 k0:9", 1, HF__ZK_SEE_ALL, -1);
}

TEST(a_stream_before_a_claim_is_found)
{
    AUTO_SCENE s = seen("s1 s2 x3 s4 n2:5 x6");

    read_line(&s);
    EXPECT_IS(hf__zk_queue_stream(&s.queue, 1), -1);
    EXPECT_IS(hf__zk_queue_stream(&s.queue, 2), 0);
    EXPECT_IS(hf__zk_queue_stream(&s.queue, 3), -1);
    EXPECT_IS(hf__zk_queue_stream(&s.queue, 4), 0);
}

/* ---- the rule is that of compatibility.h for who comes one by one */

static struct hf__contender stand_of(const struct hf__zk_queue *queue, int i)
{
    struct hf__contender stand = {.lock_mode = queue->claims[i].child.lock_mode,
                                  .slot = -1};
    int number = i + 1;

    memcpy(stand.token.bytes, &number, sizeof number);
    return stand;
}

static void expect_as_one_by_one(const struct hf__zk_queue *queue)
{
    struct hf__contender in[NAMES_MAX];
    struct hf__contender out[NAMES_MAX];
    struct hf__holders_waiters before = {in, 0, out, 0};

    for (int i = 0; i < queue->n; i++) {
        struct hf__contender stand = stand_of(queue, i);
        int slot = -1;
        enum hf__entry entry =
            hf__may_enter(&before, &stand.token, stand.lock_mode, &slot);

        EXPECT_IS(queue->claims[i].entry, entry);
        if (entry == HF__ENTRY_MISFIT) {
            EXPECT_IS(hf__zk_queue_slots(queue), slot);
        }
        if (entry == HF__ENTRY_OPEN) {
            stand.slot =
                stand.lock_mode.mode == HF__MODE_SLOTS ? before.n_holders : -1;
            in[before.n_holders++] = stand;
        } else {
            out[before.n_waiters++] = stand;
        }
    }
    EXPECT_IS(queue->n_in, before.n_holders);
}

/* All lines of five claims of five manners. */
TEST(who_is_let_in_is_as_if_they_came_one_by_one)
{
    static const char *const manners[] = {"x", "s", "n1:", "n2:", "n3:"};

    for (int code = 0; code < 5 * 5 * 5 * 5 * 5; code++) {
        char words[64] = "";
        int rest = code;

        for (int i = 0; i < 5; i++) {
            size_t length = strlen(words);

            snprintf(words + length, sizeof words - length, "%s%s%d",
                     i > 0 ? " " : "", manners[rest % 5], i);
            rest /= 5;
        }
        AUTO_SCENE s = seen(words);
        read_line(&s);
        expect_as_one_by_one(&s.queue);
    }
}

TEST(who_would_come_now_comes_last)
{
    AUTO_SCENE s = seen("s1");
    AUTO_SCENE empty = seen("k0:1");

    read_line(&s);
    read_line(&empty);
    EXPECT_IS(hf__zk_queue_would(&s.queue,
                                 (struct hf__lock_mode){HF__MODE_SHARED, 0}),
              HF__ENTRY_OPEN);
    EXPECT_IS(hf__zk_queue_would(&s.queue,
                                 (struct hf__lock_mode){HF__MODE_EXCLUSIVE, 0}),
              HF__ENTRY_HELD);
    EXPECT_IS(hf__zk_queue_would(&empty.queue,
                                 (struct hf__lock_mode){HF__MODE_EXCLUSIVE, 0}),
              HF__ENTRY_OPEN);
    EXPECT_IS(empty.queue.n_in, 0);
    EXPECT_IS(s.queue.n_in, 1);
}

/* Whatever is taken out, whoever was let in stays so. */
TEST(who_was_let_in_stays_so_when_others_go)
{
    static const char *const scenes[] = {"s1 s2 x3 s4 s5", "n2:1 n2:2 n2:3 x4",
                                         "x1 x2 s3 s4", "n3:1 s2 s3 n3:4"};

    for (int i = 0; i < 4; i++) {
        AUTO_SCENE all = seen(scenes[i]);

        read_line(&all);
        for (int gone = 0; gone < all.n; gone++) {
            AUTO_SCENE rest = seen(scenes[i]);

            memcpy(rest.names[gone], "gone", 5);
            read_line(&rest);
            for (int k = 0; k < all.queue.n; k++) {
                int at =
                    hf__zk_queue_find(&rest.queue, all.queue.claims[k].name);

                EXPECT(at < 0 || all.queue.claims[k].entry != HF__ENTRY_OPEN ||
                       rest.queue.claims[at].entry == HF__ENTRY_OPEN);
            }
        }
    }
}
